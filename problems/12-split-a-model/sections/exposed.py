"""What a step takes beyond own work alone: as measured, and as the law has it."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import NamedTuple

from harness.report.arguments import CaseName, VariantName
from harness.report.columns import DASH, NOT_MEASURED
from harness.report.escape import Markdown, code, table
from harness.report.numbers import between, number
from harness.report.page import Page, not_measured

from .inputs import Inputs


class Exposed(NamedTuple):
    """A split way: ms beyond own work and bubble, measured and predicted, by the process."""

    name: str
    measured: dict[int, float]
    predicted: dict[int, float]

    @property
    def over(self) -> float | None:
        """Return measured over predicted, by medians; None where either is not above zero."""
        ms, law = median(self.measured.values()), median(self.predicted.values())
        return ms / law if ms > 0 and law > 0 else None


def exposed(page: Page, variant: VariantName, cases: Sequence[CaseName]) -> Markdown:
    """Return a row per split way: exposed ms, measured and predicted, and their quotient."""
    rows = list(map(_row, _ways(page, variant, cases)))
    head = ["way", "exposed, measured", "predicted", "measured over predicted"]
    return table(head, rows, whole=True) if rows else not_measured("what is exposed")


def exposed_over(page: Page, variant: VariantName, cases: Sequence[CaseName]) -> str:
    """Return the least and the largest quotient over the ways, in words."""
    known = [way.over for way in _ways(page, variant, cases) if way.over is not None]
    return f"{number(min(known), 2)} to {number(max(known), 2)}" if known else NOT_MEASURED


def most_exposed(page: Page, variant: VariantName, case: CaseName, work: str) -> Markdown:
    """Return the largest share of a step, over the ways of a work, that is exposed, in %."""
    params = page.problem.cases[case].params["works"][work]
    names = [f"exposed_share@{work}-by-{way}" for way in params["ways"]]
    values = [page.metrics.get(name, variant, case).value for name in names]
    known = [abs(value) for value in values if value is not None]
    return Markdown(f"{number(max(known))}%" if known else NOT_MEASURED)


def _row(way: Exposed) -> list[str]:
    over = DASH if way.over is None else f"{number(way.over, 2)}×"
    return [code(way.name), _ms(way.measured), _ms(way.predicted), over]


def _ms(by_round: Mapping[int, float]) -> str:
    """Return the median over the processes, and the least and most, which may be below zero."""
    values = by_round.values()
    return f"{number(median(values), 2)} ms ({between(min(values), max(values), '')})"


def _ways(page: Page, variant: str, cases: Sequence[str]) -> Iterator[Exposed]:
    """Yield the split ways of cases that were predicted.

    Own work, drawn out by the bubble's law, is taken from the step and from its prediction.
    """
    for case in cases:
        for way in Inputs(page, variant, case).predictions():
            own = {at: way.drawn_out(at, way.part[at]) for at in way.predicted}
            yield Exposed(
                way.name,
                {at: way.step[at] - ms for at, ms in own.items()},
                {at: way.predicted[at] - ms for at, ms in own.items()},
            )
