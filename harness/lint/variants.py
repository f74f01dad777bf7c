"""Remarks on what variants are: how many things they differ in, and what their locks pin.

A difference has one cause only where two variants differ in one thing, and a package without
version and hash is another one next month.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from harness.lint.study import Remark, Study
from harness.problem.model import Variant

_PINNED = re.compile(r"[A-Za-z0-9._-]+(\[[^\]]*\])?==[^\s*;]+")
_HASHED = re.compile(r"--hash=sha\d+:[0-9a-f]{32,}")


def several_differences(study: Study) -> Iterator[Remark]:
    """Yield a remark on each variant that differs from every other in more than one thing.

    A thing is the environment, one option, or one environment variable.
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
    changed = ["environment"] if a.environment != b.environment else []
    return [*changed, *_unequal(a.options, b.options), *_unequal(a.variables, b.variables)]


def _unequal(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[str]:
    """Return the keys that one of two mappings lacks, or whose values differ."""
    missing: Any = object()
    return [key for key in dict.fromkeys([*a, *b]) if a.get(key, missing) != b.get(key, missing)]


def unpinned(study: Study) -> Iterator[Remark]:
    """Yield a remark on each package of a lock without a version, or without a hash of it."""
    for environment in study.problem.environments.values():
        if environment.lock is not None:
            yield from _in_lock(study.problem.folder / environment.lock)


def _in_lock(path: Path) -> Iterator[Remark]:
    remedy = "write the lock with `uv pip compile --generate-hashes --no-header`"
    for line, requirement in _requirements(path.read_text(encoding="utf-8")):
        name = re.split(r"[\s=<>!~;@\[]", requirement)[0]
        if not _PINNED.match(requirement):
            yield Remark("unpinned", path, line, f"{name} has no exact version", remedy)
        elif not _HASHED.search(requirement):
            yield Remark("unpinned", path, line, f"{name} has no hash", remedy)


def _requirements(text: str) -> Iterator[tuple[int, str]]:
    """Yield line and text of each requirement; lines that end in a backslash go on."""
    joined, start = "", 0
    for number, line in enumerate(text.splitlines(), start=1):
        words = re.sub(r"(^|\s)#.*", "", line).strip()
        start = start or number
        joined += words.removesuffix("\\")
        if words.endswith("\\"):
            continue
        if joined.strip() and not joined.startswith("-"):
            yield start, joined
        joined, start = "", 0
