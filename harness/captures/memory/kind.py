"""The kind ``memory``: a snapshot of torch's allocator with its history, recorded by the probe."""

import re
from pathlib import Path

from harness.evidence.capture import Tables
from harness.evidence.kind import Format, Kept, Kind

_SNAPSHOT = "memory.json.gz"
_OPENED = (
    'python -c "import gzip, json, pickle, sys;'
    " pickle.dump(json.load(gzip.open('{file}')), sys.stdout.buffer)\""
    " | python -m torch.cuda._memory_viz trace_plot - -o memory.html"
)
"""The snapshot is kept as JSON, which anybody may read; torch's own page is made of a pickle."""


class Memory(Kind):
    """The allocations of the whole process."""

    name = "memory"
    title = "a torch memory snapshot (.pickle or .json)"
    cost = 4
    formats = (
        # torch's own file is a pickle of protocol 2 to 5, the probe's JSON of the same structure.
        Format(re.compile(rb"\x80[\x02-\x05]"), unpacks_itself=True),
        Format(
            re.compile(rb'\s*\{\s*"(?:segments|device_traces|totals|phases)"'),
            unpacks_itself=True,
        ),
    )
    hook = "memory"
    leaves = (_SNAPSHOT,)
    artifact = _SNAPSHOT
    fills = (
        "memory_pools",
        "memory_parts",
        "memory_by_pool",
        "memory_live",
        "memory_pool_peaks",
        "memory_devices",
        "memory_blocks",
        "memory_segments",
        "memory_failed",
        "memory_free",
        "memory_timeline",
        "memory_sites",
        "memory_marks",
        "memory_mark_parts",
    )
    measures = ("transient_bytes",)
    compared_by = "memory_pools"
    kept = (Kept(_SNAPSHOT, rank=0, opens=(("memory_viz of torch", _OPENED),)),)

    def read(self, path: Path) -> Tables:
        """Return the tables of a snapshot."""
        from harness.captures.memory import read

        return read.read(path)


KIND = Memory()
