"""What an export of toyprof holds."""

from pathlib import Path

from harness.captures.checks import same
from harness.evidence.kind import Counts
from harness.evidence.tables import Tables, frame


def read(path: Path) -> Tables:
    """Return the launches' durations as counters."""
    launches = [line.split() for line in path.read_text().splitlines()[1:]]
    columns: dict[str, list[object]] = {
        "launch": list(range(len(launches))),
        "name": [name for name, _ in launches],
        "metric": ["gpu__time_duration.sum"] * len(launches),
        "unit": ["ns"] * len(launches),
        "value": [float(duration) for _, duration in launches],
    }
    return {"counters": frame("counters", columns)}


def check(counts: Counts, tables: Tables, path: Path) -> None:
    """Compare the launches with those that toyprof counted."""
    same(path, "launches", counts.counted["kernels"], tables["counters"].height)


def conditions(path: Path, _tables: Tables) -> dict[str, str]:
    """Return the version of the export's format."""
    return {"toyprof format": path.read_text()[3:4]}


def kernels(tables: Tables) -> float | None:
    """Return the number of launches."""
    return float(tables["counters"].height)
