"""``harness run --dry-run``: the cells of a run, and how long each took before."""

from collections import Counter
from dataclasses import dataclass

from harness.cli import account, output
from harness.cli.progress import in_words
from harness.run.durations import key_of
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
    counts = Counter(key_of(cell) for cell in asked.to_run)
    output.prose(account.opening(asked, expected))
    output.table(
        ("case", "variant", "capture", "cells", "each takes", "together"),
        [
            (*key, str(count), *(_took(expected.get(key), times) for times in (1, count)))
            for key, count in counts.items()
        ],
    )
    if not expected:
        output.prose(
            "how long a cell takes is known once it was run here, or on a GPU of this model"
        )


def cells(asked: Here) -> list[PlannedCell]:
    """Return each cell with its duration in seconds, in the order of the run."""
    expected = asked.durations()
    return [
        PlannedCell(
            cell.id,
            cell.variant,
            cell.case,
            cell.capture,
            cell.round,
            expected.get(key_of(cell)),
        )
        for cell in asked.to_run
    ]


def _took(seconds: float | None, times: int) -> str:
    return _UNKNOWN if seconds is None else in_words(times * seconds)
