"""``harness run --dry-run``: the cells of a run, and how long each took before."""

from dataclasses import dataclass
from statistics import mean

from harness.cli import account, output
from harness.cli.progress import in_words
from harness.run.session import Here

_UNKNOWN = "–"


@dataclass(frozen=True)
class PlannedCell:
    """A cell of ``harness run --dry-run``, with the seconds that it took before."""

    id: str
    variant: str
    case: str
    capture: str
    round: int
    expected_s: float | None


def show(asked: Here) -> None:
    """Print a row a case, variant and capture: how many cells it has, and the seconds of one."""
    expected = asked.durations()
    alike: dict[tuple[str, str, str], list[float | None]] = {}
    for cell in cells(asked):
        alike.setdefault((cell.case, cell.variant, cell.capture), []).append(cell.expected_s)
    output.prose(account.opening(asked, expected))
    output.table(
        ("case", "variant", "capture", "cells", "each takes", "together"),
        [(*key, str(len(seconds)), *_took(seconds)) for key, seconds in alike.items()],
    )
    if not expected.by_cell:
        output.prose(
            "how long a cell takes is known once it was run here, or on a GPU of this model"
        )


def cells(asked: Here) -> list[PlannedCell]:
    """Return each cell with its duration in seconds, in the order of the run."""
    expected = asked.durations().by_cell
    return [
        PlannedCell(
            cell.id,
            cell.variant,
            cell.case,
            cell.capture,
            cell.round,
            duration.whole if (duration := expected.get(cell.name)) else None,
        )
        for cell in asked.to_run
    ]


def _took(seconds: list[float | None]) -> tuple[str, str]:
    """Return the mean and the sum of cells' durations in words, where they are known."""
    known = [each for each in seconds if each is not None]
    return (in_words(mean(known)), in_words(sum(known))) if known else (_UNKNOWN, _UNKNOWN)
