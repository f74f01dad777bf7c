"""Whether a report of Nsight Compute holds as many kernels as ncu said it profiled."""

from pathlib import Path

from harness.captures.checks import same
from harness.evidence.kind import Counts
from harness.evidence.tables import Tables


def check(counts: Counts, tables: Tables, path: Path) -> None:
    """Raise CaptureError if launches are missing: a report may be cut between two blocks."""
    launches = tables["counters"]["launch"].n_unique()
    same(path, "profiled kernels", counts.counted["kernels"], launches)
