"""The pools and phases of one memory capture, and the limits of what the capture shows."""

import polars as pl

from harness.analysis.units import size
from harness.evidence.tables import FREED_POOL, Tables

WARMUP = "warmup"
"""The phase before the measured steps."""

_DRIVER = {
    "reserved": ("segment_alloc", "segment_map"),
    "returned": ("segment_free", "segment_unmap"),
}
_OUTSIDE = (
    "on a GPU the CUDA context, loaded modules, what libraries allocate for themselves, and"
    " executable graphs"
)


def pools(tables: Tables) -> pl.DataFrame:
    """Return memory_pools, most reserved first, with a column of bytes for each part.

    Columns after memory_pools' own are named as the parts; null where a part was not recorded.
    """
    rows = tables["memory_pools"]
    parts = tables["memory_parts"]
    for part in parts["part"].unique(maintain_order=True):
        sizes = parts.filter(pl.col("part") == part).select("pool", pl.col("bytes").alias(part))
        rows = rows.join(sizes, on="pool", how="left", maintain_order="left")
    return rows.sort("reserved_bytes", descending=True, nulls_last=True)


def peaks(timeline: pl.DataFrame) -> pl.DataFrame:
    """Return phase, events and the most bytes allocated and reserved in it, in order of time.

    What happened before the first phase has no row; without phases there is none.
    """
    return (
        timeline.sort("index")
        .with_columns(pl.col("phase").cast(pl.String))
        .drop_nulls("phase")
        .group_by("phase", maintain_order=True)
        .agg(pl.len().alias("events"), pl.col("allocated_bytes", "reserved_bytes").max())
    )


def measured(timeline: pl.DataFrame) -> pl.DataFrame:
    """Return the levels of the phases that follow a warm-up; all levels where there is none."""
    rows = timeline.with_columns(pl.col("phase").cast(pl.String)).sort("index")
    runs = rows.with_columns(run=pl.col("phase").rle_id())
    warm = runs.filter(pl.col("phase") == WARMUP)["run"].unique() + 1
    after = runs.filter(pl.col("run").is_in(warm.implode())).drop("run")
    return after if after.height else rows


def totals(tables: Tables) -> dict[str, int | None]:
    """Return the peaks of the history, and the measured steps' requests to the driver.

    Keys: peak_allocated_bytes, peak_reserved_bytes and out_of_memory of the whole history, with
    what stood before its first event; of the measured steps reserved and returned segments, as
    counts and bytes. None where not recorded.
    """
    timeline = tables["memory_timeline"]
    actions = pl.col("action").cast(pl.String)
    has_history = timeline["action"].null_count() == 0 and timeline.height > 0
    change = pl.col("reserved_bytes").diff().fill_null(0).abs()
    rows = timeline.sort("index").with_columns(actions, change=change)
    steps = rows.join(measured(timeline).select("index"), on="index", how="semi")
    counts: dict[str, int | None] = {
        f"peak_{column}": peak(tables, column) for column in ("allocated_bytes", "reserved_bytes")
    }
    counts["out_of_memory"] = rows.filter(pl.col("action") == "oom").height if has_history else None
    for name, kinds in _DRIVER.items():
        calls = steps.filter(pl.col("action").is_in(kinds))
        counts[f"{name}_segments"] = calls.height if has_history else None
        counts[f"{name}_bytes"] = int(calls["change"].sum()) if has_history else None
    return counts


def peak(tables: Tables, column: str) -> int | None:
    """Return the most bytes of the history or of what stood before it; None without a history."""
    most = tables["memory_timeline"][column].max()
    return None if most is None else max(int(most), start(tables)[column])  # type: ignore[arg-type]  # integers


def start(tables: Tables) -> dict[str, int]:
    """Return the allocated and the reserved bytes before the first event; 0 where not known."""
    rows = tables["memory_by_pool"].filter(pl.col("index") < 0)
    return {column: int(rows[column].sum()) for column in ("allocated_bytes", "reserved_bytes")}


def mark_pools(tables: Tables) -> pl.DataFrame:
    """Return index, pool and reserved bytes at each mark, pools that reserve most at one first.

    Further columns are named as the parts that the reserved bytes are; null where not recorded.
    """
    parts = tables["memory_mark_parts"]
    keys = ["index", "pool"]
    rows = parts.group_by(keys).agg(pl.col("bytes").sum().alias("reserved_bytes"))
    for part in parts["part"].unique(maintain_order=True):
        sizes = parts.filter(pl.col("part") == part).select(*keys, pl.col("bytes").alias(part))
        rows = rows.join(sizes, on=keys, how="left")
    most = pl.col("reserved_bytes").max().over("pool")
    return rows.sort("index", most, "pool", descending=[False, True, False])


def pool_peaks(tables: Tables) -> pl.DataFrame:
    """Return each pool at the first event where it holds most, those that reserve most first.

    Columns: pool, phase, allocated, reserved and, of it, unused bytes. A pool that never held
    anything has no row; what was freed is last; the phase of a peak before the history is null.
    """
    phases = tables["memory_timeline"].select("index", pl.col("phase").cast(pl.String))
    unused = (pl.col("reserved_bytes") - pl.col("allocated_bytes")).alias("unused_bytes")
    return (
        tables["memory_by_pool"]
        .with_columns(pl.col("pool").cast(pl.String))
        .filter(pl.col("allocated_bytes") > 0)
        .sort("allocated_bytes", "index", descending=[True, False])
        .unique("pool", keep="first", maintain_order=True)
        .join(phases, on="index", how="left")
        .sort(
            pl.col("pool") == FREED_POOL, "reserved_bytes", "pool", descending=[False, True, False]
        )
        .select("pool", "phase", "allocated_bytes", "reserved_bytes", unused)
    )


def highest(timeline: pl.DataFrame, columns: list[str], points: int) -> pl.DataFrame:
    """Return index and ``columns`` of about ``points`` stretches of events, in order.

    Of each stretch the peak is kept, so that a spike of one event stays visible.
    """
    stretches = _stretches(timeline, points).group_by("stretch", maintain_order=True)
    rows = stretches.agg(pl.col("index").first(), pl.col(*columns).max())
    return rows.select("index", *columns)


def stacked(timeline: pl.DataFrame, levels: pl.DataFrame, points: int, pools: int) -> pl.DataFrame:
    """Return index, pool and reserved bytes, for areas that stack to the reserved total.

    ``levels`` is memory_by_pool. Each of about ``points`` stretches is taken where most is
    reserved. The ``pools`` largest have a name, the others are one; what was freed is the last.
    """
    chosen = (
        _stretches(timeline, points)
        .sort("stretch", "reserved_bytes", "index", descending=[False, True, False])
        .group_by("stretch", maintain_order=True)
        .agg(pl.col("index").first().alias("event"), pl.col("index").min())
    )
    levels = levels.with_columns(pl.col("pool").cast(pl.String)).sort("index")
    freed = pl.col("pool") == FREED_POOL
    ranked = (
        levels.group_by("pool")
        .agg(pl.col("reserved_bytes").max())
        .sort(freed, "reserved_bytes", "pool", descending=[False, True, False])
        .with_row_index("rank")
        .with_columns(
            pl.when((pl.col("rank") < pools) | freed)
            .then("pool")
            .otherwise(pl.lit("other pools"))
            .alias("name")
        )
    )
    areas = [
        chosen.join_asof(
            levels.filter(pl.col("pool") == pool).select("index", "reserved_bytes"),
            left_on="event",
            right_on="index",
            coalesce=False,
            suffix="_of_level",
        ).select("index", pl.lit(name).alias("pool"), pl.col("reserved_bytes").fill_null(0))
        for pool, name in ranked.select("pool", "name").iter_rows()
    ]
    return (
        pl.concat(areas)
        .group_by("index", "pool", maintain_order=True)
        .agg(pl.col("reserved_bytes").sum())
    )


def _stretches(timeline: pl.DataFrame, points: int) -> pl.DataFrame:
    stride = max(1, timeline.height // points)
    events = timeline.sort("index")
    return events.with_columns((pl.int_range(pl.len()) // stride).alias("stretch"))


def limits(tables: Tables) -> list[str]:
    """Return sentences on what this capture does not show; each only where it applies."""
    checks = (_outside, _freed, _before, _live, _filled, _parts)
    sentences = [check(tables) for check in checks]
    timeline = tables["memory_timeline"]
    if timeline.is_empty():
        sentences.append(
            "No history: it was not recorded, so peaks and allocation sites are missing."
        )
    elif timeline["phase"].null_count() == timeline.height:
        sentences.append(
            "No phases: torch does not mark them, a capture made by `harness run` has them."
        )
    if not timeline.is_empty() and tables["memory_by_pool"].is_empty():
        sentences.append(
            "No pools over time: addresses of events or segments are missing or contradict each"
            " other."
        )
    return [sentence for sentence in sentences if sentence]


def _outside(tables: Tables) -> str:
    if tables["memory_marks"].is_empty():
        return f"Memory outside torch's allocator is not in it: {_OUTSIDE}."
    return (
        "Memory outside torch's allocator is known only as each phase ended, for all processes on"
        f" the GPU together and as one sum: {_OUTSIDE}."
    )


def _freed(tables: Tables) -> str:
    rows = tables["memory_by_pool"].filter(pl.col("pool").cast(pl.String) == FREED_POOL)
    most = max(rows["reserved_bytes"], default=0)
    if most == 0:
        return ""
    which = (
        FREED_POOL
        if tables["memory_mark_parts"].is_empty()
        else "that were freed in the phase that reserved them"
    )
    return (
        f"The pool of segments {which} is not recorded: up to {size(most)} were reserved in such"
        " segments at once."
    )


def _before(tables: Tables) -> str:
    """Say what stood before the first event; a whole history begins with nothing reserved."""
    allocated, reserved = start(tables).values()
    if tables["memory_timeline"].is_empty() or not reserved:
        return ""
    return (
        f"The history begins late: {size(reserved)} were reserved and {size(allocated)} allocated"
        " before its first event, and no allocation site counts them."
    )


def _live(tables: Tables) -> str:
    missing = sum(tables["memory_pools"]["allocated_bytes"]) - sum(tables["memory_live"]["bytes"])
    if missing <= 0:
        return ""
    return f"Who holds {size(missing)} of what is allocated is not recorded: blocks are missing."


def _filled(tables: Tables) -> str:
    if tables["memory_pool_peaks"].height or not any(tables["memory_by_pool"]["allocated_bytes"]):
        return ""
    return "What filled the pools at their peaks is not told: blocks and totals contradict."


def _parts(tables: Tables) -> str:
    parts = tables["memory_parts"]
    missing = parts.filter(pl.col("bytes").is_null())["part"].unique(maintain_order=True).to_list()
    if not missing:
        return ""
    return f"Not recorded for every pool: {', '.join(missing)}; other parts hold those bytes."
