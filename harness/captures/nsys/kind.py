"""The kind ``nsys``: a report of Nsight Systems and its SQLite export."""

import re
from pathlib import Path

from harness.evidence.capture import Part, Tables
from harness.evidence.kind import Argv, Counts, Format, Kept, Kind

REPORT, EXPORT = "trace.nsys-rep", "trace.sqlite"
_DEFAULTS = (
    *("--trace=cuda,nvtx,cublas", "--sample=none", "--cpuctxsw=none", "--cuda-graph-trace=node"),
    *("--capture-range=cudaProfilerApi", "--capture-range-end=stop"),
)


def _export(path: Path, plain: Path, folder: Path) -> Path:
    from harness.captures.nsys import export

    return export.export(path, plain, folder)


def _redact(source: Path, target: Path) -> None:
    from harness.captures.nsys import redact

    redact.without_environment(source, target)


class Nsys(Kind):
    """A timeline of the measured steps."""

    name = "nsys"
    title = "an Nsight Systems export (.sqlite) or report (.nsys-rep)"
    cost = 1
    formats = (
        Format(re.compile(rb"SQLite format 3\0"), plain_name=EXPORT),
        Format(re.compile(rb"NVIDIA Tegra Profiler Report"), plain_name=REPORT, export=_export),
    )
    tool = "nsys"
    leaves = (REPORT, EXPORT)
    artifact = EXPORT
    fills = (
        "gpu_ops",
        "devices",
        "api_calls",
        "waits",
        "ranges",
        "autograd_threads",
        "graph_nodes",
        "dropped",
    )
    measures = (
        "kernels_per_step",
        "gpu_busy_per_step",
        "gpu_idle_share",
        "exposed_communication",
        "collective_wait",
    )
    compared_by = "gpu_ops"
    kept = (
        Kept(
            EXPORT,
            rank=3,
            compressed=True,
            redact=_redact,
            opens=(("Nsight Systems", "zstd -d {file} && nsys stats {plain}"),),
        ),
    )

    def export_check(self, program: str) -> tuple[str, str]:
        """Return whether the nsys at this path can export, and the remedy."""
        from harness.captures.nsys import export

        return export.check(program)

    def wrap(self, argv: Argv, out: Path, flags: tuple[str, ...]) -> Argv:
        """Record only the workload's own profiler range; sampling off, as it needs privileges.

        A flag of the manifest replaces the default of the same option.
        """
        asked = {flag.partition("=")[0] for flag in flags}
        defaults = [flag for flag in _DEFAULTS if flag.partition("=")[0] not in asked]
        output = ("--force-overwrite=true", f"--output={out / REPORT}")
        return ["nsys", "profile", *defaults, *flags, *output, *argv]

    def after(self, out: Path) -> list[Argv]:
        """Return the command that exports the report to SQLite."""
        flags = ("--type=sqlite", "--force-overwrite=true", f"--output={out / EXPORT}")
        return [["nsys", "export", *flags, str(out / REPORT)]]

    def read(self, path: Path) -> Tables:
        """Return the tables of an export."""
        from harness.captures.nsys import read

        return read.read(path)

    def read_brief(self, path: Path) -> Tables:
        """Return the tables; of a long timeline without links from calls to operations."""
        from harness.captures.nsys import read

        return read.read_brief(path)

    def section(self, path: Path) -> Part | None:
        """Return the middle of a long timeline, None of one that is read whole."""
        from harness.captures.nsys import read

        return read.section(path)

    def read_section(self, path: Path, part: Part) -> Tables:
        """Return the tables of a part of the timeline."""
        from harness.captures.nsys import read

        return read.read(path, part=part)

    def check(self, counts: Counts, tables: Tables, path: Path) -> None:
        """Compare ranges with the declared steps; CaptureError also where no GPU work is."""
        from harness.captures import checks

        checks.declared_ranges(counts, tables, path)
        checks.gpu_work(tables, path)

    def conditions(self, path: Path, tables: Tables) -> dict[str, str]:
        """Return how the export was recorded, as far as it says so."""
        from harness.captures.nsys import conditions

        return conditions.conditions(path, tables)


KIND = Nsys()
