"""One capture analysed on its own: the document that ``harness inspect`` shows."""

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal

from harness.evidence.capture import Capture
from harness.evidence.kinds import KINDS
from harness.evidence.tables import LARGE, Tables
from harness.ground.errors import CaptureError

if TYPE_CHECKING:
    import polars as pl

Document = dict[str, Any]
Sort = Literal["timeline", "counters", "allocations", "serving", "samples"]

_SORTS: Mapping[str, Sort] = {
    "gpu_ops": "timeline",
    "counters": "counters",
    "memory_pools": "allocations",
    "load_requests": "serving",
}
"""The evidence table that makes a capture one of a sort; those without any hold samples alone."""


def document(capture: Capture, captured_by: Capture | None = None) -> Document:
    """Return the summary of a capture, as plain data with full names.

    ``captured_by``: the trace in which its CUDA graphs were captured.

    Every kind has kind, conditions (what the capture was made on, by name), findings (those of
    ``harness diagnose`` for this capture alone, each with its title), recording (what the capture
    is, and its flaws: harness.analysis.recording.Recording) and step (of what time the findings'
    fractions are: harness.analysis.busy.Busy, None without a sound timeline). ``kind`` says what
    else:

    - ``nsys`` and ``torch``: gpu, idle, calls, copies, series, kernels, ranges and (for torch)
      operators, as harness.analysis.timeline_summary says; batches, layers and unplaced: a serving
      engine's steps by mode, the layers of a step, and what is not known of them
    - ``ncu``: by_kernel, kernels (each launch), units
    - ``memory``: totals (peaks, failed allocations, segments reserved and returned in the measured
      steps), devices, pools with their parts, live blocks, filled: pools at their peaks with the
      blocks that filled them, phases with their peaks, marks at their ends with pools and parts,
      sites, limits: sentences on what the file lacks, and growth: what each repeat leaves, None
      where nothing leaks (harness.analysis.memory_peak.MemoryGrowth)
    - ``load``: requests, slo, metrics by name and steps by kind, as harness.analysis.serving says;
      of several rounds the first

    Times are nanoseconds, sizes bytes, shares fractions of one; what was not measured is None, as
    are findings, recording, step, idle, calls, series, batches and layers of a timeline of more
    than LARGE operations. Raises CaptureError that names the capture if a timeline holds no GPU
    work, ranges or calls.
    """
    return {
        "kind": capture.kind,
        "conditions": capture.conditions,
        **_diagnosis(capture),
        **by_kind(capture, captured_by),
    }


def by_kind(capture: Capture, captured_by: Capture | None = None) -> Document:
    """Return the part of ``document`` that the kind decides, without a diagnosis.

    Raises CaptureError as ``document`` does.
    """
    tables = capture.tables
    match sort(capture.kind):
        case "timeline":
            told = timeline_steps(tables, (captured_by or capture).tables)
            return _timeline(tables, capture.label, KINDS[capture.kind].fills) | told
        case "counters":
            return counters(tables)
        case "allocations":
            return memory_snapshot(tables)
        case "serving":
            return served(tables)
        case "samples":
            return samples(tables)


def sort(kind: str) -> Sort:
    """Return what a kind of capture records, by the tables that it fills."""
    filled = KINDS[kind].fills
    return next((name for table, name in _SORTS.items() if table in filled), "samples")


def _diagnosis(capture: Capture) -> Document:
    """Return step and findings; [] where no family of findings has evidence from the capture."""
    if _table(capture.tables, "gpu_ops").height > LARGE:
        return {"recording": None, "step": None, "findings": None}
    from harness.analysis.diagnose import conclude

    diagnosis = conclude.diagnose([capture])
    is_evident = any(each.evidence for each in diagnosis.findings)
    growth = [peak.growth and asdict(peak.growth) for peak in diagnosis.memory]
    return {
        "recording": diagnosis.recording and asdict(diagnosis.recording),
        "step": diagnosis.step and asdict(diagnosis.step),
        "findings": [asdict(each) for each in diagnosis.findings] if is_evident else [],
        **({"growth": growth[0]} if growth else {}),
    }


def samples(tables: Tables) -> Document:
    """Return the median of each metric over its settled samples of all rounds."""
    import polars as pl

    rows = _table(tables, "samples").filter(pl.col("mark").fill_null("") != "warm-up")
    rounds = pl.col("cell").n_unique() if "cell" in rows.columns else pl.lit(1)
    by_metric = rows.group_by("region", "metric", "unit", maintain_order=True).agg(
        rounds=rounds, count=pl.len(), median=pl.col("value").median()
    )
    return {"samples": by_metric.to_dicts()}


def served(tables: Tables) -> Document:
    """Return the results of one cell's load, the first cell that has requests."""
    import polars as pl

    from harness.analysis import serving
    from harness.evidence.load_tables import LOAD_TABLES

    load = {name: _table(tables, name) for name in LOAD_TABLES}
    rows = load["load_requests"]
    if "cell" in rows.columns and rows.height:
        first = pl.col("cell") == rows["cell"].min()
        load = {name: table.filter(first) for name, table in load.items()}
    return serving.document(load)


def timeline_steps(tables: Tables, captured_by: Tables) -> Document:
    """Return batches, layers and unplaced: see harness.analysis.audit.placed_ops.StepsTold."""
    from harness.analysis.audit import placed_ops

    if _table(tables, "gpu_ops").height > LARGE:
        return {"batches": None, "layers": None, "unplaced": []}
    return asdict(placed_ops.told(tables, _table(captured_by, "captured_launches")))


def _timeline(tables: Tables, label: str, filled: tuple[str, ...]) -> Document:
    """Return a timeline, with its operators where the kind records them.

    CaptureError where it records none, and there is no GPU work, no range and no call.
    """
    from harness.analysis.timeline_summary import timeline

    summary = timeline(tables)
    if "operators" in filled:
        operators = _table(tables, "operators").sort("total_ns", descending=True, nulls_last=True)
        return summary | {"operators": operators.to_dicts()}
    if summary["gpu"]["span_ns"] is None and not summary["ranges"] and not summary["calls"]:
        raise CaptureError(
            "no GPU work, no ranges and no CUDA calls in it",
            where=label,
            remedy="record with `--trace=cuda,nvtx` while the workload runs on the GPU",
        )
    return summary


def _table(tables: Tables, name: str) -> "pl.DataFrame":
    """Return a table that the reader may have left out."""
    from harness.evidence.tables import empty

    return tables[name] if name in tables else empty(name)


def counters(tables: Tables) -> Document:
    """Return every launch with all its metrics, launches by kernel, and each metric's unit."""
    import polars as pl

    from harness.analysis.counters import by_kernel, per_kernel

    rows = _table(tables, "counters")
    metrics: dict[int, dict[str, float | None]] = {}
    for launch, metric, value in rows.select("launch", "metric", "value").iter_rows():
        metrics.setdefault(launch, {})[metric] = _finite(value)
    units = rows.group_by("metric").agg(pl.col("unit").first()).sort("metric")
    launches = per_kernel(rows)
    kernels = launches.rename({"time_ns": "duration_ns"})
    return {
        "by_kernel": [
            {key: _finite(value) for key, value in row.items()}
            for row in by_kernel(launches).iter_rows(named=True)
        ],
        "kernels": [
            {key: _finite(value) for key, value in row.items()}
            | {"metrics": metrics[row["launch"]]}
            for row in kernels.iter_rows(named=True)
        ],
        "units": dict(units.iter_rows()),
    }


def memory_snapshot(tables: Tables) -> Document:
    """Return pools, live blocks, peaks, phases, marks, sites and what the snapshot lacks."""
    from harness.analysis import memory
    from harness.evidence.tables import SCHEMAS

    snapshot = {name: _table(tables, name) for name in SCHEMAS if name.startswith("memory_")}
    by_peak = ["peak_bytes", "bytes"]
    sites = snapshot["memory_sites"].sort(by_peak, descending=True, nulls_last=True)
    return {
        "totals": memory.totals(snapshot),
        "devices": snapshot["memory_devices"].drop("cell", strict=False).to_dicts(),
        "pools": memory.pools(snapshot).to_dicts(),
        "live": snapshot["memory_live"]
        .sort("bytes", descending=True, maintain_order=True)
        .to_dicts(),
        "filled": _filled(snapshot),
        "phases": memory.peaks(snapshot["memory_timeline"]).to_dicts(),
        "marks": _marks(snapshot),
        "sites": sites.to_dicts(),
        "limits": memory.limits(snapshot),
    }


def _filled(tables: Tables) -> list[dict[str, Any]]:
    """Return each pool at its peak, with the blocks that were live in it then."""
    from harness.analysis import memory

    blocks: dict[str, list[dict[str, Any]]] = {}
    for row in tables["memory_pool_peaks"].iter_rows(named=True):
        blocks.setdefault(row.pop("pool"), []).append(row)
    peaks = memory.pool_peaks(tables).to_dicts()
    return [row | {"blocks": blocks.get(row["pool"], [])} for row in peaks]


def _marks(tables: Tables) -> list[dict[str, Any]]:
    """Return the marks in order, with the reserved bytes of each pool then, and their parts."""
    from harness.analysis import memory

    marks = tables["memory_marks"].sort("index").to_dicts()
    for mark in marks:
        mark["pools"], mark["parts"] = {}, {}
    by_index = {mark["index"]: mark for mark in marks}
    for row in memory.mark_pools(tables).iter_rows(named=True):
        mark, pool = by_index[row.pop("index")], row.pop("pool")
        mark["pools"][pool] = row.pop("reserved_bytes")
        mark["parts"][pool] = row
    return marks


def _finite(value: Any) -> Any:
    """Return None for the NaN and infinities that counters can hold and JSON cannot."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
