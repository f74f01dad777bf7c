"""What one field of a manifest cannot say alone: that the names it uses are made somewhere."""

import re
from collections.abc import Iterator

from harness.captures.registry import KINDS
from harness.problem.model import Advice, BoundClaim, Problem, Selection

Mistake = tuple[tuple[str | int, ...], str]
"""Where (the path of keys) and what."""

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")
_SPELLING = "a name is lower-case letters, digits, '.', '_' and '-'"


def mistakes_in(problem: Problem) -> list[Mistake]:
    """Return every reference that leads nowhere, in the order of the manifest's sections."""
    return [*_names(problem), *_references(problem), *_metrics(problem), *_claims(problem)]


def _names(problem: Problem) -> Iterator[Mistake]:
    for section in ("environments", "variants", "cases", "metrics"):
        for name in getattr(problem, section):
            if not _NAME.fullmatch(name):
                yield (section, name), _SPELLING
    if not re.fullmatch(r"\d+-[a-z0-9-]+", problem.folder.name):
        yield (), f"the folder {problem.folder.name!r} is not named <number>-<name>"


def _references(problem: Problem) -> Iterator[Mistake]:
    for name, environment in problem.environments.items():
        if environment.lock and not (problem.folder / environment.lock).is_file():
            yield (
                ("environments", name, "lock"),
                f"no file {environment.lock!r} beside the manifest",
            )
    for index, name in enumerate(problem.workloads):
        if not (problem.shared / name).is_file():
            yield ("workloads", index), f"no file {name!r} in {problem.shared.name}/"
    for name, variant in problem.variants.items():
        if variant.environment not in problem.environments:
            yield ("variants", name, "environment"), _unknown("environment", variant.environment)
    if problem.baseline not in problem.variants:
        yield ("baseline",), _unknown("variant", problem.baseline)
    yield from _cells(problem)


def _cells(problem: Problem) -> Iterator[Mistake]:
    for kind, capture in problem.captures.items():
        for case, variants in capture.cells.items():
            if case not in problem.cases:
                yield ("captures", kind, "cells", case), _unknown("case", case)
            for index, name in enumerate([] if variants == "all" else variants):
                if name not in problem.variants:
                    yield ("captures", kind, "cells", case, index), _unknown("variant", name)


def _metrics(problem: Problem) -> Iterator[Mistake]:
    for name, metric in problem.metrics.items():
        if metric.capture not in problem.captures:
            yield ("metrics", name, "capture"), _unknown("capture", metric.capture)
        known = KINDS[metric.capture].measures
        if metric.measure and metric.measure not in known:
            measures = ", ".join(known) or "none"
            what = f"{metric.capture} has no measure {metric.measure!r}; there are: {measures}"
            yield ("metrics", name, "measure"), what


def _claims(problem: Problem) -> Iterator[Mistake]:
    seen: set[str] = set()
    for index, claim in enumerate(problem.claims):
        if not _NAME.fullmatch(claim.id):
            yield ("claims", index, "id"), _SPELLING
        if claim.id in seen:
            yield ("claims", index, "id"), f"duplicate name {claim.id!r}"
        seen.add(claim.id)
        if isinstance(claim, Advice):
            yield from _advice(problem, index, claim)
        else:
            yield from _bound_claim(problem, index, claim)
    if problem.card and problem.card.claim not in seen:
        yield ("card", "claim"), _unknown("claim", problem.card.claim)


def _advice(problem: Problem, index: int, advice: Advice) -> Iterator[Mistake]:
    sides = {"take": advice.take, "instead_of": advice.instead_of}
    names = [
        *((("metric",), "metric", advice.metric),),
        *(((key,), "variant", variant) for key, variant in sides.items()),
        *((("at", number), "case", case) for number, case in enumerate(advice.at)),
        *((("pays", number), "metric", metric) for number, metric in enumerate(advice.pays)),
        *((("except", variant), "variant", variant) for variant in advice.but),
    ]
    unknown = [
        (where, _unknown(kind, name))
        for where, kind, name in names
        if name.partition("@")[0] not in getattr(problem, f"{kind}s")
    ]
    yield from ((("claims", index, *where), what) for where, what in unknown)
    if advice.take == advice.instead_of:
        yield ("claims", index, "instead_of"), f"{advice.take!r} is what it advises to take"
    for variant in sorted({*sides.values()} & {*advice.but}):
        yield ("claims", index, "except", variant), f"{variant!r} is a side of the comparison"
    if not unknown:
        yield from _advice_is_measured(problem, index, advice)


def _advice_is_measured(problem: Problem, index: int, advice: Advice) -> Iterator[Mistake]:
    for number, case in enumerate(advice.at):
        for variant in (advice.take, advice.instead_of):
            if not _made(problem, variant, case, advice.metric):
                what = f"no capture makes {advice.metric!r} of {variant!r} in {case!r}"
                yield ("claims", index, "at", number), what
    for number, metric in enumerate(advice.pays):
        if not any(
            _made(problem, advice.take, case, metric)
            and _made(problem, advice.instead_of, case, metric)
            for case in advice.at
        ):
            what = f"no capture makes {metric!r} of both sides in any case of 'at'"
            yield ("claims", index, "pays", number), what


def _bound_claim(problem: Problem, index: int, claim: BoundClaim) -> Iterator[Mistake]:
    for side, selection in (("of", claim.of), ("over", claim.over)):
        if selection is None:
            continue
        whole = complete(claim, selection)
        unknown = [
            (key, value)
            for key, value in (("variant", whole[0]), ("case", whole[1]), ("metric", whole[2]))
            if (value or "").partition("@")[0] not in getattr(problem, f"{key}s")
        ]
        for key, value in unknown:
            place = ("claims", index, "metric") if key == "metric" else ("claims", index, side, key)
            yield place, "is missing" if value is None else _unknown(key, value)
        if not unknown and not _made(problem, *whole):
            what = f"no capture makes {whole[2]!r} of {whole[0]!r} in {whole[1]!r}"
            yield ("claims", index, side), what


def complete(claim: BoundClaim, selection: Selection) -> tuple[str, str, str]:
    """Return variant, case and metric of one side of a claim; ``over`` inherits from ``of``."""
    variant = selection.variant or claim.of.variant
    case = selection.case or claim.of.case
    return variant, case, selection.metric or claim.metric  # type: ignore[return-value]  # checked at load


def _made(problem: Problem, variant: str, case: str, metric: str) -> bool:
    kind = problem.metric(metric).capture
    return any(problem.covers(kind, variant, case, device) for device in ("cuda", "cpu"))


def _unknown(kind: str, name: str) -> str:
    return f"no {kind} {name!r}"
