"""Whether an export of Nsight Systems holds what the workload declared."""

from pathlib import Path

from harness.captures.checks import declared_ranges
from harness.evidence.kind import Counts
from harness.evidence.tables import Tables
from harness.ground.errors import CaptureError


def check(counts: Counts, tables: Tables, path: Path) -> None:
    """Compare ranges with the declared steps; CaptureError where they differ or no GPU work is."""
    declared_ranges(counts, tables, path)
    if tables["gpu_ops"].is_empty():
        raise CaptureError("holds no GPU work although steps ran", where=path)
