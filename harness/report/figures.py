"""Rows for tables and figures, shaped from evidence by the analysis."""

from collections.abc import Iterable
from typing import Any

from harness.analysis.metrics import Measured, Metrics
from harness.analysis.statistics import Rounds
from harness.captures.registry import filling, unprofiled
from harness.problem.model import Problem
from harness.report import plots
from harness.report.numbers import measured, number

Looked = tuple[str, str, str]
"""A metric, a variant and a case."""

_MOST_POINTS = 1500
_MOST_POOL_POINTS = 500
_MOST_POOLS = 5
_MOST_OPERATORS = 8
_MOST_TICKS = 40
_CROWDED = 0.03  # of the axis: as wide as a name is high


def bars(problem: Problem, metrics: Metrics, metric: str, case: str) -> str | None:
    """Return the figure of a metric over variants, None where none has it."""
    of = [
        (variant.label, (metric, name, case), name == problem.baseline)
        for name, variant in problem.variants.items()
    ]
    return bars_of(problem, metrics, metric, of)


def bars_of(
    problem: Problem, metrics: Metrics, metric: str, of: Iterable[tuple[str, Looked, bool]]
) -> str | None:
    """Return the figure of ``metric``: a bar for each label, what it is of, and if the baseline."""
    rows = []
    for label, looked, baseline in of:
        found = metrics.get(*looked)
        if found.value is not None:
            rows.append(
                {
                    "label": label,
                    "value": found.value,
                    "low": found.low,
                    "high": found.high,
                    "samples": ticks(metrics.samples(*looked)),
                    "shown": measured(found, interval=False),
                    "baseline": baseline,
                }
            )
    definition = problem.metric(metric)
    return plots.bars(rows, f"{definition.label}, {definition.unit}") if rows else None


def ticks(rounds: Rounds) -> list[dict[str, Any]]:
    """Return samples by value: all, or 40 of them from the smallest to the largest."""
    ordered = sorted(value for values in rounds.values() for value in values)
    last = len(ordered) - 1
    if last >= _MOST_TICKS:
        ordered = [ordered[round(i * last / (_MOST_TICKS - 1))] for i in range(_MOST_TICKS)]
    return [{"value": value} for value in ordered]


def families(metrics: Metrics, case: str, variants: list[str]) -> str | None:
    """Return the figure of GPU time a step by kernel family."""
    import polars as pl

    from harness.analysis.kernels import family

    rows: list[dict[str, Any]] = []
    for name in variants:
        found = _kernels(metrics, name, case)
        if found is None:
            continue
        kernels, steps = found
        grouped = kernels.with_columns(
            pl.col("name").map_elements(family, return_dtype=pl.String).alias("family")
        )
        times = grouped.group_by("family").agg(pl.col("total_ns").sum()).sort("family")
        rows += [
            {"label": name, "family": kind, "value": total / steps / 1e3}
            for kind, total in times.iter_rows()
        ]
    return plots.families(rows, "GPU time per step, µs (under nsys)") if rows else None


def kernel_rows(metrics: Metrics, variant: str, case: str) -> list[list[str]]:
    """Return kernel, family, launches a step, median time and share, by time."""
    from harness.analysis.kernels import family, short_names

    found = _kernels(metrics, variant, case)
    if found is None:
        return []
    kernels, steps = found
    shown = short_names(kernels["name"].to_list())
    return [
        [
            shown[row["name"]],
            family(row["name"]),
            number(row["count"] / steps),
            number(row["median_ns"] / 1e3),
            f"{100 * row['share']:.1f} %",
        ]
        for row in kernels.iter_rows(named=True)
    ]


def operator_rows(metrics: Metrics, variant: str, case: str) -> list[list[str]]:
    """Return operator, calls, inclusive host time and own GPU time a step, most GPU time first."""
    import polars as pl

    from harness.analysis import derived, timeline

    tables = metrics.capture_with("operators", variant, case)
    name = None if tables is None else derived.region(tables)
    if tables is None or name is None:
        return []
    steps = timeline.steps(tables["ranges"], name).height
    by = ["device_ns", "total_ns"]
    top = tables["operators"].sort(by, descending=True, nulls_last=True).head(_MOST_OPERATORS)
    if top["device_ns"].null_count() < top.height:
        top = top.filter(pl.col("device_ns") > 0)
    return [
        [
            row["name"],
            number(row["count"] / steps),
            number(row["total_ns"] / steps / 1e3),
            "–" if row["device_ns"] is None else number(row["device_ns"] / steps / 1e3),
        ]
        for row in top.iter_rows(named=True)
    ]


def counter_rows(metrics: Metrics, variant: str, case: str) -> list[list[str]]:
    """Return one row a kernel name of a profiled step, medians over its launches."""
    import polars as pl

    from harness.analysis.counters import per_kernel
    from harness.analysis.kernels import short_names

    tables = metrics.capture_with("counters", variant, case)
    if tables is None:
        return []
    columns = ("time_ns", "dram_bytes", "dram_pct", "sm_pct", "occupancy_pct", "waves")
    kernels = (
        per_kernel(tables["counters"])
        .group_by("name", maintain_order=True)
        .agg(pl.len().alias("launches"), *(pl.col(column).median() for column in columns))
    )
    shown = short_names(kernels["name"].to_list())
    scales = {"time_ns": 1e-3, "dram_bytes": 1e-6}
    return [
        [shown[row["name"]], str(row["launches"])]
        + [_cell(row[column], scales.get(column, 1), column) for column in columns]
        for row in kernels.iter_rows(named=True)
    ]


def _cell(value: float | None, scale: float, column: str) -> str:
    if value is None:
        return "–"
    return f"{value * scale:.1f} %" if column.endswith("_pct") else number(value * scale)


def memory(metrics: Metrics, variant: str, case: str) -> str | None:
    """Return the figure of allocated and reserved memory over the allocator's events.

    Reserved memory is drawn by pool where the evidence has it so.
    """
    import polars as pl

    from harness.analysis import memory as analysis

    tables = metrics.capture_with("memory_timeline", variant, case)
    if tables is None or tables["memory_timeline"].is_empty():
        return None
    timeline = tables["memory_timeline"].sort("index")
    phases = timeline.drop_nulls("phase").group_by("phase", maintain_order=True)
    begun = phases.agg(pl.col("index").first()).with_columns(pl.col("phase").cast(pl.String))
    marks = _named(list(begun.iter_rows()), timeline["index"][-1])
    levels = tables["memory_by_pool"]
    if not levels.is_empty():
        areas = analysis.stacked(timeline, levels, _MOST_POOL_POINTS, _MOST_POOLS)
        allocated = analysis.highest(timeline, ["allocated_bytes"], _MOST_POOL_POINTS)
        return plots.memory_by_pool(
            [
                {"index": index, "pool": pool, "mb": size / 1e6}
                for index, pool, size in areas.iter_rows()
            ],
            [{"index": index, "mb": size / 1e6} for index, size in allocated.iter_rows()],
            marks,
        )
    points = analysis.highest(timeline, ["allocated_bytes", "reserved_bytes"], _MOST_POINTS)
    rows = [
        {"index": index, "mb": value / 1e6, "series": series}
        for series in ("allocated", "reserved")
        for index, value in points.select("index", f"{series}_bytes").iter_rows()
        if value is not None
    ]
    return plots.memory(rows, marks)


def _named(begun: list[tuple[str, int]], last: int) -> list[dict[str, Any]]:
    """Return a mark for each phase and its first event; phases that lie close share one name."""
    marks: list[dict[str, Any]] = []
    for phase, index in begun:
        named = next((one for one in reversed(marks) if one["shown"]), None)
        if named and index - named["index"] < _CROWDED * last:
            named["shown"] += f", {phase}"
            marks.append({"index": index, "shown": ""})
        else:
            marks.append({"index": index, "shown": phase})
    return marks


def model(
    problem: Problem, metrics: Metrics, metric: str, points: list[tuple[str, str, float]]
) -> str | None:
    """Return the figure of measured values beside a model's."""
    rows = []
    for variant, case, value in points:
        found: Measured = metrics.get(metric, variant, case)
        if found.value is not None:
            label = f"{problem.variants[variant].label} ({case})"
            shown = number(found.value)
            rows.append({"label": label, "measured": found.value, "model": value, "shown": shown})
    definition = problem.metric(metric)
    title = f"{definition.label} (bar: measured, tick: model)"
    return plots.against_model(rows, title) if rows else None


def conditions(origin: dict[str, Any]) -> list[list[str]]:
    """Return rows of what is known of target and software, and what the clocks did."""
    run, target = origin["run"], origin["run"]["target"]
    made = [run, *run.get("resumed", [])]
    gpu = target["gpu"]
    rows = [["target", _target(target, gpu)], ["host", f"{target['cpu']}, {target['system']}"]]
    for name, tool in target["tools"].items():
        if tool:
            rows.append([name, tool["version"]])
    packages = sorted(
        {f"{name} {v}" for cell in origin["cells"] for name, v in cell["packages"].items()}
    )
    rows.append(["packages as imported", ", ".join(packages)])
    rows += _clocks(origin["cells"])
    engine = run["engine"]
    rows.append(["where", f"{engine['where']}, {engine['engine']} engine, {engine['python']}"])
    if "image" in engine:
        rows.append(["image", f"{engine['image']}, {engine['image_digest']}"])
        rights = ", ".join(engine["capabilities"]) or "none"
        rows.append(["rights of a container", f"{engine['version']}; capabilities: {rights}"])
    for name, digest in engine["locks"].items():
        rows.append([f"lock of {name}", f"sha256 {digest[:16]}…"])
    jobs = run["arguments"]["jobs"]
    if jobs > 1:
        rows.append(["cells side by side", f"{jobs} set up at once; each measured alone"])
    gpus = {cell["gpu"] for cell in origin["cells"]}
    if len(gpus) > 1:
        rows.append(["GPUs", f"{len(gpus)} of this model; provenance.json tells which ran what"])
    failed = [cell for cell in origin["cells"] if cell["status"] != "ok"]
    rows.append(["cells", f"{len(origin['cells'])}, of which {len(failed)} failed"])
    rows.append(["harness", "; ".join(dict.fromkeys(_made_by(one) for one in made))])
    rows.append(["manifest", f"sha256 {run['manifest_sha256'][:16]}…"])
    rows.append(["sources", f"sha256 {run['sources_sha256'][:16]}…"])
    return rows


def _made_by(run: dict[str, Any]) -> str:
    commit = run["git"]["commit"] or "not in a git checkout"
    changed = " with uncommitted changes" if run["git"]["changed"] else ""
    return f"{run['harness']}, commit {commit}{changed}"


def _target(target: dict[str, Any], gpu: dict[str, Any] | None) -> str:
    if gpu is None:
        return f"{target['cpu']}, {target['cores']} cores"
    memory_gib = gpu["memory_bytes"] / 2**30
    return f"{gpu['name']}, {memory_gib:.0f} GiB, driver {gpu['driver']}, CUDA {gpu['cuda']}"


def _clocks(cells: list[dict[str, Any]]) -> list[list[str]]:
    """Return what was seen of clocks, power and temperature while timing cells ran."""
    seen = [
        cell["seen"]
        for cell in cells
        if f".{unprofiled()}." in cell["cell"] and cell["seen"]["samples"]
    ]
    rows = []
    for key, label, unit in (
        ("sm_mhz", "SM clock seen", "MHz"),
        ("memory_mhz", "memory clock seen", "MHz"),
        ("power_w", "power seen", "W"),
        ("temperature_c", "temperature seen", "°C"),
    ):
        figures = [summary[key] for summary in seen if key in summary]
        if figures:
            low, high = min(f["min"] for f in figures), max(f["max"] for f in figures)
            rows.append([label, f"{number(low)} to {number(high)} {unit} in timing cells"])
    if seen:
        held = sorted({reason for summary in seen for reason in summary["throttle_reasons"]})
        rows.append(["clocks held back by", ", ".join(held) or "nothing seen"])
    return rows


def _kernels(metrics: Metrics, variant: str, case: str) -> tuple[Any, int] | None:
    """Return the kernel table of the measured region and its number of steps."""
    from harness.analysis import derived, timeline

    for kind in filling("gpu_ops"):
        tables = metrics.capture_of(kind, variant, case)
        if tables is None or tables["gpu_ops"].is_empty():
            continue
        name = derived.region(tables)
        if name is None:
            continue
        ops, calls, ranges = (tables[key] for key in ("gpu_ops", "api_calls", "ranges"))
        inside = timeline.gpu_ops_in_ranges(ops, calls, ranges, name)
        if not inside.is_empty():
            return timeline.kernel_table(inside), timeline.steps(ranges, name).height
    return None
