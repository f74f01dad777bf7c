"""Claims whose names lead nowhere, or that no cell of the plan can settle."""

from collections.abc import Iterator

from harness.problem.fields import DEVICES, Device
from harness.problem.located_yaml import Mistake, Place, shown
from harness.problem.model import Advice, BoundClaim, Problem, Recipe, Selection
from harness.problem.names import Names, twice
from harness.problem.scripts import Scripts


def claims(problem: Problem, names: Names, scripts: Scripts) -> Iterator[Mistake]:
    """Yield every mistake in the claims, and in the card's."""
    seen: set[str] = set()
    for index, claim in enumerate(problem.claims):
        if claim.id in seen:
            yield ("claims", index, "id"), f"duplicate name {claim.id!r} (rename one of them)"
        seen.add(claim.id)
        where: Place = ("claims", index)
        if claim.kind == "advice":
            yield from _advice(problem, names, scripts, where, claim)
        else:
            yield from _bound_claim(problem, names, scripts, where, claim)
    if problem.card:
        for what in names.unknown("claims", problem.card.claim):
            yield ("card", "claim"), what


def _metric(names: Names, scripts: Scripts, name: str) -> Iterator[str]:
    """Yield the mistakes in METRIC or METRIC@REGION."""
    base, at, region = name.partition("@")
    yield from names.unknown("metrics", base)
    if at and not region:
        yield f"{shown(name)} names no region (write METRIC@REGION, or drop the @)"
    elif at and not scripts.region(region):
        what = f"no script of the problem has a region {shown(region)}"
        yield f"{what} (correct the name, or measure it)"


def _advice(
    problem: Problem, names: Names, scripts: Scripts, where: Place, advice: Advice
) -> Iterator[Mistake]:
    sides = {"take": advice.take, "instead_of": advice.instead_of}
    unknown = [
        *((("metric",), what) for what in _metric(names, scripts, advice.metric)),
        *(
            ((key,), what)
            for key, variant in sides.items()
            for what in names.unknown("variants", variant)
        ),
        *(
            (("at", number), what)
            for number, case in enumerate(advice.at)
            for what in names.unknown("cases", case)
        ),
        *(
            (("pays", number), what)
            for number, metric in enumerate(advice.pays)
            for what in _metric(names, scripts, metric)
        ),
        *(
            (("except", variant), what)
            for variant in advice.but
            for what in names.unknown("variants", variant)
        ),
    ]
    yield from (((*where, *key), what) for key, what in unknown)
    if advice.take == advice.instead_of:
        what = (
            f"{advice.take!r} is what it advises to take (name the variant it is measured against)"
        )
        yield (*where, "instead_of"), what
    if advice.bound.above is None or advice.bound.above < 1:
        yield (*where, "bound"), "an advice promises a gain (give above: 1 or more)"
    for variant in sorted({*sides.values()} & {*advice.but}):
        what = f"{variant!r} is a side of the comparison (drop it here)"
        yield (*where, "except", variant), what
    for key in ("at", "pays"):
        yield from twice((*where, key), getattr(advice, key))
    if not unknown:
        yield from _advice_is_measured(problem, where, advice)


def _advice_is_measured(problem: Problem, where: Place, advice: Advice) -> Iterator[Mistake]:
    sides = (advice.take, advice.instead_of)
    for number, case in enumerate(advice.at):
        for variant in sides:
            if not _devices(problem, advice.needs, variant, case, advice.metric):
                yield (*where, "at", number), _not_made(advice.needs, variant, case, advice.metric)
                break
    for number, metric in enumerate(advice.pays):
        if not any(
            all(_devices(problem, advice.needs, variant, case, metric) for variant in sides)
            for case in advice.at
        ):
            what = f"no capture makes {metric!r} of both sides in any case of 'at'"
            yield (*where, "pays", number), f"{what} (add cells to the capture, or drop it)"


def _bound_claim(
    problem: Problem, names: Names, scripts: Scripts, where: Place, claim: BoundClaim
) -> Iterator[Mistake]:
    sides = {"of": claim.of} | ({"over": claim.over} if claim.over is not None else {})
    unknown = {
        place: what
        for side, selection in sides.items()
        for place, what in _unknown(names, scripts, where, claim, side, selection)
    }
    yield from unknown.items()
    if unknown:
        return
    devices = set(DEVICES)
    for side, selection in sides.items():
        metric, variant, case = claim.place(selection)
        whole = (variant, case, metric)
        makers = _devices(problem, claim.needs, *whole)
        if not makers:
            yield (*where, side), _not_made(claim.needs, *whole)
        elif not devices & makers:
            what = "one side is made on a GPU alone, the other on a CPU alone"
            yield (*where, side), f"{what} (compare what one device makes)"
        devices &= makers
    if claim.over is not None:
        yield from _ratio(where, claim, claim.over)


def _unknown(
    names: Names,
    scripts: Scripts,
    where: Place,
    claim: BoundClaim,
    side: str,
    selection: Selection,
) -> Iterator[Mistake]:
    """Yield each name of a side that leads nowhere, at the key that says it."""
    metric, variant, case = claim.place(selection)
    for key, name in (("variant", variant), ("case", case), ("metric", metric)):
        place: Place = (*where, side, key)
        if key == "metric" and selection.metric is None:
            place = (*where, key)
        elif getattr(selection, key) is None:
            place = (*where, "of", key)
        if name is None:
            yield place, "is missing (say what the metric is taken of)"
        elif key == "metric":
            yield from ((place, what) for what in _metric(names, scripts, name))
        else:
            yield from ((place, what) for what in names.unknown(f"{key}s", name))


def _ratio(where: Place, claim: BoundClaim, over: Selection) -> Iterator[Mistake]:
    """Yield why a ratio of two positive values cannot fail, or cannot hold."""
    if claim.place(over) == claim.place(claim.of):
        what = "compares a value with itself"
        yield (*where, "over"), f"{what} (name another variant, case or metric than 'of')"
    bound = claim.bound
    ends = {"above": bound.above, "below": bound.below, "between": (bound.between or (None,))[-1]}
    for key, end in ends.items():
        if end is not None and (end < 0 or (end == 0 and key != "above")):
            what = f"is {end:g}, and a ratio of measured values is more"
            yield (*where, "bound", key), f"{what} (give a bound that it can meet and miss)"


def _devices(
    problem: Problem, needs: Device | None, variant: str, case: str, metric: str
) -> set[Device]:
    """Return the devices for which the plan makes a metric; all if mistakes hide it."""
    base = metric.partition("@")[0]
    kind = problem.metrics[base].capture if base in problem.metrics else ""
    capture = problem.captures.get(kind)
    if (
        variant not in problem.variants
        or case not in problem.cases
        or capture is None
        or not _all_known(problem, capture)
    ):
        return set(DEVICES)
    return {
        device
        for device in DEVICES
        if needs in (None, device) and problem.covers(kind, variant, case, device)
    }


def _all_known(problem: Problem, capture: Recipe) -> bool:
    """Return whether the cells of a capture are of cases and variants that there are."""
    listed = [name for names in capture.cells.values() if names != "all" for name in names]
    return capture.cells.keys() <= problem.cases.keys() and {*listed} <= problem.variants.keys()


def _not_made(needs: Device | None, variant: str, case: str, metric: str) -> str:
    where = f" on {needs}" if needs else ""
    what = f"no capture makes {metric!r} of {variant!r} in {case!r}{where}"
    return f"{what} (add the variant to the capture's cells of that case)"
