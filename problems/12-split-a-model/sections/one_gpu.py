"""Each way's step predicted from one GPU's unsplit step, in place of own work on every GPU."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from harness.analysis.measured import Measured
from harness.analysis.metrics import of_rounds
from harness.report.arguments import CaseName, VariantName
from harness.report.columns import NOT_MEASURED
from harness.report.escape import Markdown, code, table
from harness.report.numbers import between, in_cell
from harness.report.page import Page, not_measured

from .inputs import Inputs, most

_CLAIM = "predicted-prefill"
"""The claim whose bound is every prediction's."""


class Way(NamedTuple):
    """A split way: own work over one GPU's step, by the number of GPUs, and errors in %.

    ``own``: of the step predicted from own work; ``alone``: of that from one GPU's step.
    """

    name: str
    share: Measured
    own: Measured
    alone: Measured

    def misses(self, goal: float) -> bool:
        """Return whether one GPU's step misses by more than ``goal``."""
        return (self.alone.value or 0.0) > goal


def from_one_gpu(page: Page, variant: VariantName, cases: Sequence[CaseName]) -> Markdown:
    """Return a row per split way, and what the ways cost that one GPU's step misses by most."""
    ways = _ways(page, variant, cases)
    if not ways:
        return not_measured("predictions from one GPU's step")
    head = ["way", "own work over that share", "error, from own work", "error, from that share"]
    rows = [[code(way.name), *map(in_cell, way[1:])] for way in ways]
    goal = most(page.problem, _CLAIM)
    missed, met = ([way for way in ways if way.misses(goal) is far] for far in (True, False))
    named = ", ".join(code(way.name) for way in missed) or "none"
    return Markdown(
        f"{table(head, rows, whole=True)}\n\nPredicted from that share, these ways are off by more "
        f"than {goal:g} %: {named}. With own work in its place their errors are smaller by "
        f"{_costs(missed)} points, those of the others by {_costs(met)}."
    )


def missed_from_one_gpu(page: Page, variant: VariantName, cases: Sequence[CaseName]) -> str:
    """Return how many ways one GPU's step misses by more than the goal."""
    ways = _ways(page, variant, cases)
    goal = most(page.problem, _CLAIM)
    missed = sum(way.misses(goal) for way in ways)
    return f"{missed} of {len(ways)} ways by more than {goal:g} %" if ways else NOT_MEASURED


def _costs(ways: Sequence[Way]) -> str:
    costs = [(way.alone.value or 0.0) - (way.own.value or 0.0) for way in ways]
    return between(min(costs), max(costs), "") if costs else "none"


def _ways(page: Page, variant: str, cases: Sequence[str]) -> list[Way]:
    return [way for case in cases for way in _of_case(Inputs(page, variant, case))]


def _of_case(inputs: Inputs) -> Iterator[Way]:
    """Yield the split ways of a case that were predicted.

    The law adds to own work, drawn out by the bubble, what no work hides. That does not depend on
    own work where a way hides all that it can, or nothing, as all of this study do.
    """
    place = (inputs.variant, inputs.case)
    for way in inputs.predictions():
        whole = inputs.rounds(f"step_ms@{way.work}-by-whole")
        shares = {
            at: whole[at] / inputs.params["ranks"] for at in whole.keys() & way.predicted.keys()
        }
        alone = {
            at: way.predicted[at] + way.drawn_out(at, ms - way.part[at])
            for at, ms in shares.items()
        }
        steps = inputs.page.metrics.samples(f"step_ms@{way.name}", *place)
        errors = {at: [100 * abs(ms / step - 1) for step in steps[at]] for at, ms in alone.items()}
        if errors:
            own = inputs.page.metrics.get(f"prediction_error@{way.name}", *place)
            over = {at: [way.part[at] / ms] for at, ms in shares.items()}
            yield Way(way.name, of_rounds("×", over), own, of_rounds("%", errors))
