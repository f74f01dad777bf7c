r"""The kind ``ncu``: a report of Nsight Compute; its first bytes are ``NVR\0``."""

import re
from pathlib import Path

from harness.evidence.capture import Tables
from harness.evidence.kind import Argv, Counts, Format, Kept, Kind

REPORT = "counters.ncu-rep"


class Ncu(Kind):
    """Counters of the kernels of a measured step."""

    name = "ncu"
    title = "an Nsight Compute report (.ncu-rep)"
    cost = 3
    formats = (Format(re.compile(rb"NVR\0"), plain_name=REPORT),)
    tool = "ncu"
    reads_counters = True
    leaves = (REPORT,)
    artifact = REPORT
    fills = ("counters", "instructions", "rules", "dropped")
    measures = ("dram_bytes", "kernel_time", "thread_instructions")
    compared_by = "counters"
    kept = (
        Kept(
            REPORT,
            rank=4,
            compressed=True,
            opens=(("Nsight Compute", "zstd -d {file} && ncu-ui {plain}"),),
        ),
    )

    def wrap(self, argv: Argv, out: Path, flags: tuple[str, ...]) -> Argv:
        """Read counters inside the workload's own range; ncu does not lock the GPU's clocks."""
        return [
            *("ncu", "--clock-control=none", "--profile-from-start=off", "--config-file=off"),
            *(*flags, "--force-overwrite", f"--export={out / REPORT}", *argv),
        ]

    def counted(self, log: str) -> dict[str, int]:
        """Return the number of kernels that ncu reports as profiled."""
        return {"kernels": len(re.findall(r"^==PROF== Profiling ", log, re.MULTILINE))}

    def read(self, path: Path) -> Tables:
        """Return the tables of a report."""
        from harness.captures.ncu import read

        return read.read(path)

    def keep(self, tables: Tables) -> Tables:
        """Return the counters and instructions that pages and findings read."""
        from harness.captures.ncu import keep

        return keep.keep(tables)

    def check(self, counts: Counts, tables: Tables, path: Path) -> None:
        """Raise CaptureError if launches are missing: a report may be cut between two blocks."""
        from harness.captures import checks

        launches = tables["counters"]["launch"].n_unique()
        checks.same(path, "profiled kernels", counts.counted["kernels"], launches)

    def conditions(self, path: Path, tables: Tables) -> dict[str, str]:
        """Return the session's conditions, compute capability and number of SMs."""
        from harness.captures.ncu import session

        return session.conditions(path, tables)


KIND = Ncu()
