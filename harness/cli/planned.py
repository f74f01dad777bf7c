"""``harness run --dry-run``: the cells of a run, and how long each took before."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from harness.cli import account, output
from harness.cli.progress import in_words
from harness.run.durations import Key, key_of
from harness.run.session import Session

_UNKNOWN = "–"


def show(asked: Session) -> None:
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


def as_json(asked: Session) -> list[dict[str, Any]]:
    """Return each cell with its duration in seconds, as JSON-ready data in the order of the run."""
    return list(_cells(asked, asked.durations()))


def _cells(asked: Session, expected: dict[Key, float]) -> Iterator[dict[str, Any]]:
    for cell in asked.to_run:
        yield {
            "id": cell.id,
            "variant": cell.variant,
            "case": cell.case,
            "capture": cell.capture,
            "round": cell.round,
            "expected_s": expected.get(key_of(cell)),
        }


def _took(seconds: float | None, times: int) -> str:
    return _UNKNOWN if seconds is None else in_words(times * seconds)
