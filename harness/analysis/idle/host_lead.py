"""Idle time that a wait of the host caused later, because the wait cost the host its lead.

A host that is blocked for a while would otherwise have launched ahead for as long. So what the
device then idles while the host launches, until the host is ahead again, is the wait's doing, for
up to its length. The wait that ends a measured step is the recording's: in the program itself the
host goes on to the next step.
"""

import polars as pl

from harness.analysis import intervals, step
from harness.analysis.diagnose import thresholds
from harness.analysis.idle import causes as idle_causes
from harness.analysis.idle import host_calls
from harness.evidence.tables import Tables

_BLOCKS = {
    host_calls.SYNCHRONISE: idle_causes.SYNCHRONISE,
    host_calls.ALLOCATE: idle_causes.ALLOCATE,
}
_BY_HOST = (idle_causes.LAUNCH, idle_causes.HOST)
_LENGTH = pl.col("end_ns") - pl.col("start_ns")
_WAIT = {"begin": pl.Int64, "call_ns": pl.Int64, "wait_ns": pl.Int64}


def recorded_waits(tables: Tables, stretches: pl.DataFrame) -> pl.DataFrame:
    """Return begin (of a stretch), call_ns and wait_ns of the waits that end measured steps.

    The probe waits as the last thing in a step's range. The part of that call in which the device
    still ran is the lead that the host had. No rows where no steps are marked.
    """
    names = pl.col("name").cast(pl.String)
    steps = tables["ranges"].filter(names.str.starts_with(step.PREFIX))
    if steps.is_empty() or stretches.is_empty():
        return pl.DataFrame(schema=_WAIT)
    api_calls = tables["api_calls"]
    with_kinds = api_calls.with_columns(host_calls.kinds(api_calls["name"]))
    calls = _blocking(with_kinds).filter(pl.col("kind") == host_calls.SYNCHRONISE)
    until = (pl.col("start_ns") + pl.col("duration_ns")).alias("until")
    steps = steps.select("start_ns", until, range="start_ns").sort("start_ns")
    last = (
        calls.sort("start_ns")
        .join_asof(steps, on="start_ns")
        .filter(pl.col("start_ns") < pl.col("until"))
        .group_by("range")
        .agg(pl.col("start_ns").last().alias("call_ns"), pl.col("end_ns").last().alias("call_end"))
    )
    placed = stretches.sort("start_ns").join_asof(steps.select("start_ns", "range"), on="start_ns")
    wait = pl.min_horizontal("call_end", "end_ns") - pl.col("call_ns")
    return placed.join(last, on="range", maintain_order="left").select(
        pl.col("start_ns").alias("begin"), "call_ns", wait.clip(0).alias("wait_ns")
    )


def without_ramp(
    idle: pl.DataFrame, spans: pl.DataFrame, calls: pl.DataFrame, waits: pl.DataFrame
) -> pl.DataFrame:
    """Return idle pieces of measured steps (``spans``) without those that the recording caused.

    A step starts on an idle device: neither the gaps of its first RAMP_NS count, nor those for
    which the host would have had the lead that it had at the step's end. The program blocks the
    host as soon as one of ``calls`` (with ``kind``) does, which would cost the lead anyway.
    """
    begins = spans.select("start_ns", begin="start_ns").sort("start_ns")
    pieces = idle.with_row_index("piece").sort("start_ns").join_asof(begins, on="start_ns")
    own = calls.filter(
        pl.col("kind").is_in([*_BLOCKS, host_calls.COPY, host_calls.LOAD]),
        pl.col("duration_ns") > idle_causes.LONG_NS,
        ~pl.col("start_ns").is_in(waits["call_ns"].implode()),
    )
    placed = own.sort("start_ns").join_asof(begins, on="start_ns")
    blocked = placed.group_by("begin").agg(pl.col("start_ns").min().alias("blocked_ns"))
    pieces = (
        pieces.join(waits.select("begin", "wait_ns"), on="begin", how="left")
        .join(blocked, on="begin", how="left")
        .sort("start_ns")
    )
    by_host = pl.col("cause").is_in(_BY_HOST)
    early = by_host & (pl.col("end_ns") - pl.col("begin") <= thresholds.RAMP_NS)
    ahead = by_host & (pl.col("start_ns") < pl.col("blocked_ns")).fill_null(value=True)
    spent = pl.when(ahead).then(_LENGTH).otherwise(0).cum_sum().over("begin")
    led = (ahead & (spent <= pl.col("wait_ns"))).fill_null(value=False)
    return pieces.filter(~(early | led)).sort("piece").select(idle.columns)


def with_lost_lead(idle: pl.DataFrame, calls: pl.DataFrame, waits: pl.DataFrame) -> pl.DataFrame:
    """Return idle pieces, with the cause of a blocking call where it cost the host its lead.

    A call that took at most LONG_NS found the device done, so that there was no lead to lose. A
    longer one counts for no longer than REPEATED of its kind took, so that a single long wait does
    not explain all that follows.
    """
    blocks = _blocking(calls).filter(
        ~pl.col("start_ns").is_in(waits["call_ns"].implode()),
        pl.col("duration_ns") > idle_causes.LONG_NS,
        pl.len().over("kind") >= thresholds.REPEATED,
    )
    if blocks.is_empty() or idle.is_empty():
        return idle
    usual = pl.col("duration_ns").top_k(thresholds.REPEATED).min().over("kind")
    events = blocks.select(
        "thread",
        lead_ns=pl.min_horizontal("duration_ns", usual),
        blamed=pl.col("kind").replace_strict(_BLOCKS, return_dtype=idle_causes.CAUSES),
        at_ns="end_ns",
    ).sort("at_ns")
    pieces = idle.select("thread", "start_ns", "end_ns", "cause").with_row_index("piece")
    caused = pieces.filter(pl.col("cause").is_in([*_BY_HOST, *_BLOCKS.values()]))
    after_block = (
        intervals.ordered(caused, "start_ns")
        .join_asof(
            events.with_row_index("event"),
            left_on="start_ns",
            right_on="at_ns",
            by="thread",
            check_sortedness=False,
        )
        .drop_nulls("event")
    )
    spent = _LENGTH.cum_sum().over("event")
    lost = intervals.ordered(after_block, "event").filter(
        pl.col("cause").is_in(_BY_HOST) & (spent <= pl.col("lead_ns"))
    )
    return idle.with_columns(idle["cause"].scatter(lost["piece"], lost["blamed"]))


def _blocking(calls: pl.DataFrame) -> pl.DataFrame:
    """Return the calls, with ``kind``, that block the host, and their end_ns."""
    blocking = calls.filter(pl.col("kind").is_in(list(_BLOCKS)))
    return blocking.drop_nulls(["start_ns", "duration_ns", "thread"]).select(
        "thread",
        "start_ns",
        "duration_ns",
        (pl.col("start_ns") + pl.col("duration_ns")).alias("end_ns"),
        "kind",
    )
