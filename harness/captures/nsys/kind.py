"""The kind ``nsys``: a report of Nsight Systems and its SQLite export."""

import re

from harness.evidence.kind import Format, Kept, Kind, Lazy

REPORT, EXPORT = "trace.nsys-rep", "trace.sqlite"

KIND = Kind(
    name="nsys",
    title="an Nsight Systems export (.sqlite) or report (.nsys-rep)",
    cost=1,
    formats=(
        Format(re.compile(rb"SQLite format 3\0"), plain_name=EXPORT),
        Format(
            re.compile(rb"NVIDIA Tegra Profiler Report"),
            plain_name=REPORT,
            export=Lazy("harness.captures.nsys.export:export"),
        ),
    ),
    tool="nsys",
    export_check=Lazy("harness.captures.nsys.export:check"),
    leaves=(REPORT, EXPORT),
    wrap=Lazy("harness.captures.nsys.record:wrap"),
    after=Lazy("harness.captures.nsys.record:after"),
    artifact=EXPORT,
    read=Lazy("harness.captures.nsys.read:read"),
    read_brief=Lazy("harness.captures.nsys.read:read_brief"),
    section=Lazy("harness.captures.nsys.read:section"),
    read_section=Lazy("harness.captures.nsys.read:read_section"),
    fills=("gpu_ops", "devices", "api_calls", "waits", "ranges", "autograd_threads"),
    check=Lazy("harness.captures.nsys.check:check"),
    conditions=Lazy("harness.captures.nsys.conditions:conditions"),
    measures={
        "kernels_per_step": Lazy("harness.analysis.derived:kernels_per_step"),
        "gpu_busy_per_step": Lazy("harness.analysis.derived:gpu_busy_per_step"),
        "gpu_idle_share": Lazy("harness.analysis.derived:gpu_idle_share"),
        "exposed_communication": Lazy("harness.analysis.derived:exposed_communication"),
        "collective_wait": Lazy("harness.analysis.derived:collective_wait"),
    },
    compared_by="gpu_ops",
    summarise=Lazy("harness.analysis.summary:nsys_export"),
    show=Lazy("harness.cli.shown.timeline:show"),
    kept=(
        Kept(
            EXPORT,
            rank=3,
            compressed=True,
            redact=Lazy("harness.captures.nsys.redact:without_environment"),
            opens=(("Nsight Systems", "zstd -d {file} && nsys stats {plain}"),),
        ),
    ),
)
