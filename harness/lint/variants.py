"""Remarks on variants: a difference has one cause only where two variants differ in one thing."""

from collections.abc import Iterator
from typing import Any

from harness.lint.study import Remark, Study
from harness.problem.model import Variant


def several_differences(study: Study) -> Iterator[Remark]:
    """Yield a remark on each variant that differs from every other in more than one thing.

    A thing is the environment, or one option.
    """
    variants = study.problem.variants
    for name, variant in variants.items():
        others = {
            other: _differences(variant, variants[other]) for other in variants if other != name
        }
        if not others:
            continue
        nearest = min(others, key=lambda other: len(others[other]))
        if len(others[nearest]) > 1:
            listed = ", ".join(others[nearest])
            what = f"{name!r} is no single change away from a variant: from {nearest!r} by {listed}"
            remedy = "add the variant between them, so that each difference has one cause"
            yield study.remark("several-differences", ("variants", name), what, remedy)


def _differences(a: Variant, b: Variant) -> list[str]:
    """Return the names of what two variants differ in."""
    missing: Any = object()
    options = [
        key
        for key in dict.fromkeys([*a.options, *b.options])
        if a.options.get(key, missing) != b.options.get(key, missing)
    ]
    return [*(["environment"] if a.environment != b.environment else []), *options]
