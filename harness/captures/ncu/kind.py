r"""The kind ``ncu``: a report of Nsight Compute; its first bytes are ``NVR\0``."""

import re

from harness.evidence.kind import Format, Kept, Kind, Lazy

REPORT = "counters.ncu-rep"

KIND = Kind(
    name="ncu",
    title="an Nsight Compute report (.ncu-rep)",
    cost=3,
    formats=(Format(re.compile(rb"NVR\0"), plain_name=REPORT),),
    tool="ncu",
    reads_counters=True,
    leaves=(REPORT,),
    wrap=Lazy("harness.captures.ncu.record:wrap"),
    counted=Lazy("harness.captures.ncu.record:counted"),
    artifact=REPORT,
    read=Lazy("harness.captures.ncu.read:read"),
    keep=Lazy("harness.captures.ncu.keep:keep"),
    fills=("counters", "instructions", "rules"),
    check=Lazy("harness.captures.ncu.check:check"),
    conditions=Lazy("harness.captures.ncu.conditions:conditions"),
    measures={
        "dram_bytes": Lazy("harness.analysis.derived:dram_bytes"),
        "kernel_time": Lazy("harness.analysis.derived:kernel_time"),
        "thread_instructions": Lazy("harness.analysis.derived:thread_instructions"),
    },
    compared_by="counters",
    summarise=Lazy("harness.analysis.summary:counters"),
    show=Lazy("harness.cli.shown.counters:show"),
    beside_names=78,
    kept=(
        Kept(
            REPORT,
            rank=4,
            compressed=True,
            opens=(("Nsight Compute", "zstd -d {file} && ncu-ui {plain}"),),
        ),
    ),
)
