"""Counts that a capture has to hold, compared with what was read from it."""

from pathlib import Path

from harness.evidence.kind import Counts
from harness.evidence.tables import Tables
from harness.ground.errors import CaptureError


def declared_ranges(counts: Counts, tables: Tables, path: Path) -> None:
    """Compare the ranges of each name with how often the workload declared it."""
    import polars as pl

    for name, declared in counts.declared.items():
        read = tables["ranges"].filter(pl.col("name").cast(pl.String) == name).height
        same(path, f"ranges named {name!r}", declared, read)


def gpu_work(tables: Tables, path: Path) -> None:
    """Raise CaptureError if nothing ran on a GPU."""
    if tables["gpu_ops"].is_empty():
        raise CaptureError("holds no GPU work although steps ran", where=path)


def same(path: Path, what: str, recorded: int, read: int) -> None:
    """Raise CaptureError if the number read differs from the number recorded."""
    if recorded != read:
        raise CaptureError(f"{read} {what}, but {recorded} were recorded", where=path)
