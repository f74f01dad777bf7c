"""What a load on a serving engine came to: latencies from when requests were due, rates, queue, KV.

Only requests after warm-up count. Quantiles lie between order statistics, linearly (type 7 of
Hyndman and Fan 1996). A request without the event that is asked for counts as longer than any: so
a quantile that it decides is None, and the others are not flattered by what never came.
"""

from collections.abc import Callable

import polars as pl

from harness.evidence.tables import Tables

_TAIL = 0.99
UNTOLD = "no token yet"
"""The state of a request of which the engine does not say whether it waits or is computed."""
STALLED = "no token for long"
"""The state of a request between two tokens that lie ``STALL`` medians or more apart."""
STALL = 5


def lives(tables: Tables) -> pl.DataFrame:
    """Return the requests after warm-up with ttft_ns, e2e_ns and itl_p99_ns, null where not known.

    itl_p99_ns: the p99 of a request's times between tokens, null of one with fewer than two.
    """
    gaps = times_between(tables["load_tokens"])
    of_request = gaps.group_by("request").agg(itl_p99_ns=pl.col("itl_ns").quantile(_TAIL, "linear"))
    counted = tables["load_requests"].filter(pl.col("mark").eq_missing("warm-up").not_())
    return counted.join(of_request, on="request", how="left", maintain_order="left").with_columns(
        ttft_ns=pl.col("first_ns") - pl.col("due_ns"), e2e_ns=pl.col("ended_ns") - pl.col("due_ns")
    )


def times_between(tokens: pl.DataFrame) -> pl.DataFrame:
    """Return request, time_ns and itl_ns of each token but the first of its request."""
    gap = pl.col("time_ns").diff().over("request")
    return tokens.select("request", "time_ns", itl_ns=gap).drop_nulls("itl_ns")


def _latency(column: str, share: float) -> Callable[[Tables], float | None]:
    def latency(tables: Tables) -> float | None:
        """Milliseconds: a quantile of a latency of requests."""
        return _quantile(lives(tables)[column], share)

    return latency


def _between(share: float) -> Callable[[Tables], float | None]:
    def between(tables: Tables) -> float | None:
        """Milliseconds: a quantile of the times between two tokens of a request."""
        counted = lives(tables).select("request")
        gaps = times_between(tables["load_tokens"]).join(counted, on="request", how="semi")
        return _quantile(gaps["itl_ns"], share)

    return between


def _quantile(ns: pl.Series, share: float) -> float | None:
    """Return a quantile in ms, null values above all others; None where it is not known."""
    if ns.is_empty():
        return None
    value = ns.cast(pl.Float64).fill_null(float("inf")).quantile(share, "linear")
    return None if value is None or not abs(value) < float("inf") else value / 1e6


def _seconds(tables: Tables) -> float:
    """Return the seconds from when the first request after warm-up was due to the end."""
    due, ended = lives(tables)["due_ns"], _most(tables["load_runs"]["end_ns"])
    return 0.0 if due.is_empty() or ended is None else (ended - int(due[0])) / 1e9


def _most(column: pl.Series) -> int | None:
    """Return the largest of integers, None without any."""
    most: int | None = column.max()  # type: ignore[assignment]  # integers
    return most


def output_tokens_per_s(tables: Tables) -> float | None:
    """Tokens a second: output of requests after warm-up, from the first due to the end of all."""
    seconds = _seconds(tables)
    return float(lives(tables)["output_tokens"].sum()) / seconds if seconds > 0 else None


def total_tokens_per_s(tables: Tables) -> float | None:
    """Tokens a second: of output, and of the prompts of which a token came."""
    seconds, began = _seconds(tables), lives(tables).drop_nulls("first_ns")
    tokens = began.select(pl.col("prompt_tokens", "output_tokens").sum()).sum_horizontal().sum()
    return float(tokens) / seconds if seconds > 0 else None


def _met(tables: Tables) -> pl.Series | None:
    """Return of each request whether it ended and met both bounds; None where none were set."""
    bounds = tables["load_runs"].select("ttft_slo_ns", "itl_slo_ns").drop_nulls()
    requests = lives(tables)
    if bounds.is_empty() or requests.is_empty():
        return None
    ttft, itl = bounds.row(0)
    first = (pl.col("ttft_ns") <= ttft).fill_null(value=False)
    between = (pl.col("itl_p99_ns") <= itl).fill_null(value=True)
    return requests.select(first & between & pl.col("ended_ns").is_not_null()).to_series()


def slo_attainment(tables: Tables) -> float | None:
    """Percent of requests that ended, with time to first token and p99 between tokens in bounds."""
    met = _met(tables)
    return None if met is None else 100 * float(met.sum()) / len(met)


def goodput(tables: Tables) -> float | None:
    """Rate of requests that met the bounds, a second, from the first due to the end of all."""
    met, seconds = _met(tables), _seconds(tables)
    return None if met is None or seconds <= 0 else float(met.sum()) / seconds


def queue(tables: Tables) -> pl.DataFrame:
    """Return time_ns and waiting: the requests that are due and not begun, after each change.

    All requests count, as all wait in one queue. Begun: admitted or, where the engine does not say,
    with a first token.
    """
    rows, end = tables["load_requests"], tables["load_runs"]["end_ns"].max()
    begun = pl.coalesce("admitted_ns", "first_ns")
    changes = pl.concat(
        [
            rows.select(time_ns="due_ns", change=pl.lit(1)),
            rows.select(time_ns=begun, change=pl.lit(-1)).drop_nulls("time_ns"),
        ]
    )
    if end is not None:
        changes = changes.filter(pl.col("time_ns") <= end)
    summed = changes.group_by("time_ns").agg(pl.col("change").sum()).sort("time_ns")
    return summed.select("time_ns", waiting=pl.col("change").cum_sum())


def queue_mean(tables: Tables) -> float | None:
    """Length of the queue, in requests: its mean over time, from the first due to the end."""
    rows, end = queue(tables), _most(tables["load_runs"]["end_ns"])
    if rows.is_empty() or end is None or end <= (start := int(rows["time_ns"][0])):
        return None
    until = rows["time_ns"].shift(-1, fill_value=end)
    waited = (until - rows["time_ns"]) * rows["waiting"]
    return float(waited.sum()) / (end - start)


def queue_max(tables: Tables) -> float | None:
    """Length of the queue, in requests, at most."""
    most = _most(queue(tables)["waiting"])
    return None if most is None else float(most)


def kv_use_max(tables: Tables) -> float | None:
    """Percent of the cache's blocks in use after a step, at most."""
    columns = (tables[name]["kv_blocks"] for name in ("load_steps", "load_runs"))
    used, blocks = map(_most, columns)
    return None if used is None or not blocks else 100 * used / blocks


def states(tables: Tables, most: int) -> pl.DataFrame:
    """Return request, state, start_ns and end_ns: what the first ``most`` after warm-up were in.

    Queued until admitted, prefill until the first token, decode until the end, preempted over that.
    Where the engine does not say when it admits, the first two are "no token yet". What did not end
    lasts to the end of the recording.
    """
    chosen = lives(tables).head(most)
    end = pl.lit(tables["load_runs"]["end_ns"].max(), dtype=pl.Int64)
    first, said = pl.coalesce("first_ns", "ended_ns", end), pl.col("admitted_ns").is_not_null()
    early = pl.when(said).then(pl.lit("queued")).otherwise(pl.lit(UNTOLD))
    parts = [
        (early, pl.col("due_ns"), pl.coalesce("admitted_ns", first)),
        (pl.lit("prefill"), pl.col("admitted_ns"), first),
        (pl.lit("decode"), pl.col("first_ns"), pl.coalesce("ended_ns", end)),
    ]
    spans = [
        chosen.select("request", state=state, start_ns=start, end_ns=stop)
        for state, start, stop in parts
    ]
    paused = tables["load_pauses"].join(chosen, on="request", how="semi")
    stop = pl.coalesce("end_ns", end)
    spans.append(paused.select("request", "start_ns", state=pl.lit("preempted"), end_ns=stop))
    columns = ("request", "state", "start_ns", "end_ns")
    joined = pl.concat([span.select(columns) for span in spans])
    return joined.filter(pl.col("end_ns") > pl.col("start_ns"))


def stalls(tables: Tables, most: int) -> pl.DataFrame:
    """Return request, state, start_ns and end_ns of long waits of the first ``most`` after warm-up.

    Long: at least ``STALL`` times the median of all times between two tokens.
    """
    gaps = times_between(tables["load_tokens"])
    long = gaps.filter(pl.col("itl_ns") >= STALL * pl.col("itl_ns").median())
    return long.join(lives(tables).head(most), on="request", how="semi").select(
        "request",
        state=pl.lit(STALLED),
        start_ns=pl.col("time_ns") - pl.col("itl_ns"),
        end_ns="time_ns",
    )


MEASURES: dict[str, Callable[[Tables], float | None]] = {
    "ttft_p50_ms": _latency("ttft_ns", 0.5),
    "ttft_p99_ms": _latency("ttft_ns", 0.99),
    "itl_p50_ms": _between(0.5),
    "itl_p95_ms": _between(0.95),
    "itl_p99_ms": _between(0.99),
    "itl_max_ms": _between(1.0),
    "e2e_p50_ms": _latency("e2e_ns", 0.5),
    "e2e_p99_ms": _latency("e2e_ns", 0.99),
    **{
        measure.__name__: measure
        for measure in (
            output_tokens_per_s,
            total_tokens_per_s,
            slo_attainment,
            goodput,
            queue_mean,
            queue_max,
            kv_use_max,
        )
    },
}
"""Name to measure of one recording's tables; each says its unit."""


def document(tables: Tables) -> dict[str, object]:
    """Return what ``harness inspect`` shows: requests by what became of them, metrics, steps."""
    rows = tables["load_requests"]
    steps = (
        tables["load_steps"]
        .group_by("kind")
        .agg(
            count=pl.len(),
            median_ns=pl.col("duration_ns").median(),
            requests=pl.col("requests").mean(),
            tokens=pl.col("tokens").mean(),
            host_ns=pl.col("host_ns").median(),
        )
    )
    return {
        "requests": {
            "sent": rows.height,
            "warm_up": int(rows["mark"].eq_missing("warm-up").sum()),
            "ended": rows["ended_ns"].count(),
            "without_token": rows["first_ns"].null_count(),
            "preempted": tables["load_pauses"]["request"].n_unique(),
        },
        "slo": tables["load_runs"].select("ttft_slo_ns", "itl_slo_ns").row(0, named=True)
        if tables["load_runs"].height
        else {"ttft_slo_ns": None, "itl_slo_ns": None},
        "metrics": {name: measure(tables) for name, measure in MEASURES.items()},
        "steps": steps.sort("count", descending=True).to_dicts(),
    }
