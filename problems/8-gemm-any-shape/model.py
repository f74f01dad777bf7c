"""Predict a plan's time from what it asks of the GPU, and choose without measuring.

The constants are fitted to the tuning set (``fit.py``). What they cannot explain is learned from
the same times by trees (``trees.py``), which see the plans that are fastest by constants alone.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path

from demand import LINE, Demand, demand
from device import H200
from features import features
from ladder import SMS
from plans import Plan, Problem, plans
from trees import Forest, forest

FITTED = Path(__file__).parent / "constants.json"
SHARPNESS = 6.0
"""Of the smooth maximum: limits within a tenth of each other cost a tenth together."""
TRIED = 40
"""Plans, the fastest by counts, among which the trees choose. A best one that is not among them is
faster by less than 0.1 % in the mean over the tuning set."""
CAPPED = 1e11
"""Operations from which on the power cap lowers the clock even in milliseconds from rest."""
SLACK = 0.85
"""Of the multiprocessors, those that reach the whole GPU's L2 bandwidth."""


@dataclass(frozen=True)
class Constants:
    """What the model cannot count. Cycles, unless said otherwise.

    ``mhz``: the clock, a scale of all cycles. ``start``: of a launch. ``tensor``: how much longer a
    step takes than the tensor cores alone. ``l2``: bytes per cycle that a multiprocessor gets while
    all load; ``sm``: at most. ``latency``: of a load, which ``stages`` steps hide. ``crossing``:
    what a row in two lines costs, in rows of one. ``realign``: a row that threads load and shift.
    ``apart``: a step of units at different K, in ordinary steps. ``tile``, ``store``: of a tile's
    end, and of an accumulator in it; ``odd``: of storing an element alone. ``turn``: of what is
    left of a tile's end while another consumer works. ``handover``: of a shared tile, beside its
    bytes. ``sliced``: a step of sliced, in steps of stream_k. ``slices``, ``group``: of adding up
    in a cluster, by each doubling of its blocks; among clusters. ``dram``, ``copy``: shares of the
    peak bandwidth of memory. ``copy_start``: of a launch of the copy, or of the sum of parts.
    ``drawn``: operations that draw as much power as a loaded byte, for each factor of e above
    ``CAPPED``. It is measured beside the fit, whose times are all of one clock.
    """

    mhz: float = 1650.0
    start: float = 2500.0
    tensor: float = 1.1
    l2: float = 40.0
    sm: float = 60.0
    latency: float = 1200.0
    crossing: float = 1.4
    realign: float = 4.5
    apart: float = 1.1
    tile: float = 800.0
    store: float = 8.0
    odd: float = 12.0
    turn: float = 0.5
    handover: float = 3000.0
    sliced: float = 1.2
    slices: float = 1000.0
    group: float = 3000.0
    dram: float = 0.8
    copy: float = 0.8
    copy_start: float = 2500.0
    drawn: float = 0.0


@cache
def constants() -> Constants:
    """Return the fitted constants, or the first guesses."""
    if not FITTED.exists():
        return Constants()
    known = {field.name for field in fields(Constants)}
    values = json.loads(FITTED.read_text(encoding="utf-8"))
    return Constants(**{name: value for name, value in values.items() if name in known})


def save(fitted: Constants) -> None:
    """Write the constants that ``constants`` then returns."""
    FITTED.write_text(json.dumps(asdict(fitted), indent=1) + "\n", encoding="utf-8")


def choose(problem: Problem, dram: float = H200) -> Plan:
    """Return the plan that is predicted to be fastest; ``dram``: see ``demand``."""
    return ranked(problem, dram)[0]


def ranked(problem: Problem, dram: float = H200) -> list[Plan]:
    """Return all plans, the fastest by prediction first."""
    found = plans(problem)
    demands = [demand(plan, problem, dram) for plan in found]
    order = ordered(problem, found, demands, constants(), forest())
    return [found[place] for place in order]


def ordered(
    problem: Problem,
    found: Sequence[Plan],
    demands: Sequence[Demand],
    by: Constants,
    grown: Forest,
) -> list[int]:
    """Return the places of plans, the fastest by prediction first: those tried, then the rest.

    Kernels that were not timed come last: they take no place of one that the trees know.
    """
    counted = [us(of, by) for of in demands]
    weight = by.drawn * capped(problem)

    def corrected(place: int) -> float:
        plan, of, us = found[place], demands[place], counted[place]
        shared = us * grown.factor(plan.kernel, features(plan, problem, of, us))
        return shared * math.exp(weight * of.loaded)

    order = sorted(by_counts(counted), key=lambda place: not grown.knows(found[place].kernel))
    return sorted(order[:TRIED], key=corrected) + order[TRIED:]


def capped(problem: Problem) -> float:
    """Return what a loaded byte adds to the time under a power cap, in parts, if ``drawn`` is 1.

    Plans timed in turn share a clock; one that loads more, and so draws more power, has a lower
    clock when it runs alone.
    """
    operations = 2 * math.prod(problem.shape)
    return math.log(max(1.0, operations / CAPPED)) / operations


def by_counts(counted: Sequence[float]) -> list[int]:
    """Return the places of times that counts predict, the shortest first."""
    return sorted(range(len(counted)), key=lambda place: counted[place])


def us(of: Demand, by: Constants) -> float:
    """Predict a time in µs from counts alone."""
    compute = _cycles(of, by) / by.mhz
    beside = sum(
        count / (by.copy * of.dram) + by.copy_start / by.mhz
        for count in (of.copied, of.added)
        if count
    )
    return by.start / by.mhz + _largest(compute, of.memory / (by.dram * of.dram)) + beside


def _cycles(of: Demand, by: Constants) -> float:
    """Return the cycles of the unit with most work."""
    loaded = LINE * (of.lines + of.crossing * (by.crossing - 1))
    rate = by.l2 * SMS / max(of.active, SLACK * SMS) / SLACK
    step = _largest(
        of.tensor * by.tensor * of.together,
        of.operands * of.together,
        loaded * of.together / rate,
        LINE * of.arriving * of.together / by.sm,
        by.latency / of.stages,
        of.realigned * by.realign * of.together,
    )
    if of.sliced and not of.realigned:
        step *= by.sliced
    end = by.tile + of.stored * (by.store + by.odd * of.odd)
    between = (of.ends - 1) * end * (by.turn if of.overlapped else 1.0)
    adding = of.sums / by.sm
    if of.shared_steps:
        adding += by.handover
    if of.slices > 1:
        adding += by.slices * math.log2(of.slices)
    if of.groups > 1:
        adding += by.group
    computed = (of.steps + of.shared_steps * (by.apart - 1)) * step
    return of.waves * (computed + between + end + adding) + by.latency


def _largest(*limits: float) -> float:
    """Return a smooth maximum: limits that are close overlap in part."""
    top = max(limits)
    return top * sum((limit / top) ** SHARPNESS for limit in limits) ** (1 / SHARPNESS)
