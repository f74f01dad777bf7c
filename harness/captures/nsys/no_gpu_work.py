"""What the host's calls say where an export holds no GPU work."""

from typing import TYPE_CHECKING

from harness.evidence.tables import Tables

if TYPE_CHECKING:
    import polars as pl

# Calls that make the GPU work, in the runtime's and the driver's spelling.
_WORK = {
    "launches": r"^cu(da)?(Launch(Cooperative)?Kernel|GraphLaunch)",
    "copies": r"^cu(da)?Memcpy",
    "memsets": r"^cu(da)?Memset",
}
_SHOWN = 3
# CUPTI hands its records over when a buffer is full, at synchronisation and at the process's end
# (https://developer.nvidia.com/blog/pro-tip-clean-up-after-yourself-ensure-correct-profiling/).
_LOST = (
    "let the process synchronise and end by itself or call cudaProfilerStop, run no second profiler"
    " beside nsys, and take an nsys no older than the driver"
)
_NOTHING = "record while the workload runs on the GPU"


def no_gpu_work(tables: Tables) -> str:
    """Return why there is no GPU work although there are host calls, and the remedy; empty if not.

    Launches without an operation on the GPU are records that the profiler lost.
    """
    import polars as pl

    if not tables["gpu_ops"].is_empty() or tables["api_calls"].is_empty():
        return ""
    counts = tables["api_calls"]["name"].cast(pl.String).value_counts(name="calls")
    counts = counts.sort("calls", "name", descending=[True, False])
    work = {what: counts.filter(pl.col("name").str.contains(name)) for what, name in _WORK.items()}
    made = [f"{_sum(rows)} {what} ({_listed(rows)})" for what, rows in work.items() if len(rows)]
    if made:
        return f"none recorded, although the host made {' and '.join(made)}: {_LOST}"
    return f"none: of {_sum(counts)} calls ({_listed(counts)}) none started GPU work: {_NOTHING}"


def _sum(counts: "pl.DataFrame") -> str:
    return f"{counts['calls'].sum():,}"


def _listed(counts: "pl.DataFrame") -> str:
    """Return the commonest calls with their numbers."""
    shown = [f"{name} {calls:,}" for name, calls in counts.head(_SHOWN).rows()]
    return ", ".join([*shown, *(["…"] if counts.height > _SHOWN else [])])
