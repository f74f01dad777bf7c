"""The kind ``torch``: a trace of torch.profiler, recorded by the probe."""

import re
from pathlib import Path

from harness.evidence import dropped
from harness.evidence.capture import Tables
from harness.evidence.kind import Counts, Format, Kept, Kind

_TRACE = "trace.json.gz"


class Torch(Kind):
    """A trace of the measured steps."""

    name = "torch"
    title = "a torch.profiler trace (.json)"
    cost = 2
    # Any JSON object or array: a trace's keys may come in any order.
    formats = (
        Format(
            re.compile(rb'(?:\xef\xbb\xbf)?\s*(?:\{\s*["}]|\[\s*[{\]])'),
            vague=True,
            unpacks_itself=True,
        ),
    )
    hook = "torch"
    leaves = (_TRACE,)
    artifact = _TRACE
    fills = (
        "gpu_ops",
        "devices",
        "api_calls",
        "ranges",
        "frames",
        "operators",
        "cpu_operators",
        "origins",
        "captured_launches",
        "autograd_threads",
        "conditions",
        "dropped",
    )
    measures = ("kernels_per_step", "gpu_busy_per_step", "named_host_code")
    compared_by = "gpu_ops"
    kept = (
        Kept(
            _TRACE,
            rank=1,
            opens=(("Perfetto", "xdg-open https://ui.perfetto.dev  # drop {file} on the page"),),
        ),
    )

    def read(self, path: Path) -> Tables:
        """Return the tables of a trace."""
        from harness.captures.torch import read

        return read.read(path)

    def check(self, counts: Counts, tables: Tables, path: Path) -> None:
        """Compare ranges with the declared steps."""
        from harness.captures import checks

        checks.declared_ranges(counts, tables, path)

    def conditions(self, path: Path, tables: Tables) -> dict[str, str]:  # noqa: ARG002
        """Return the conditions that ``tables`` hold: they may stand anywhere in the file.

        Keys: GPU (those that ran something), CUDA (the driver's), CUDA runtime, ROCm, profiler,
        rank, tracing, not read (categories of events, with counts), dropped, and what the
        profiler said.
        """
        stated = dict(tables["conditions"].select("name", "value").rows())
        return stated | dropped.condition(tables["dropped"])


KIND = Torch()
