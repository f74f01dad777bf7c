"""What findings on serving load read: an engine's steps, and the times between tokens.

Steps count from when the first request after warm-up is due. A step's *period* lasts from the end
of the one before it, as long as requests were there; what the engine idles without any is left out.
An engine that plans ahead launches a step before it reads the tokens of the one before: then a
period is the time of what was planned a step earlier, and so the two are put beside each other.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from harness.analysis import serving
from harness.analysis.diagnose import serving_thresholds, thresholds
from harness.analysis.diagnose.finding import Evidence
from harness.evidence.capture import Capture
from harness.evidence.tables import Tables

_PLANNED = ("kind", "requests", "tokens", "kv_blocks", "waiting")
"""What is known of a step as it is planned."""


@dataclass(frozen=True)
class Law:
    """A step takes ``fixed_ns`` and ``token_ns`` for each token of a prompt in it.

    ``fixed_ns`` is the median step that only decodes, ``token_ns`` what steps with prefill take
    longer, over their tokens of prompts. ``error``: of the median step with prefill, relative.
    """

    fixed_ns: float
    token_ns: float
    error: float

    def step_ns(self, tokens: float) -> float:
        """Return the time of a step with as many tokens of prompts."""
        return self.fixed_ns + tokens * self.token_ns


@dataclass(frozen=True)
class ServingView:
    """A load: ``steps`` with period_ns, gap_ns, prefill, emitted, waiting; ``gaps`` between tokens.

    ``gaps``: request, time_ns, itl_ns, and whether prefill was computed or the request was
    preempted in it. ``ahead``: whether a step is launched before the tokens of the last are read,
    None where that is not known. ``blocks``: of the cache.
    """

    source: str
    tables: Tables
    steps: pl.DataFrame
    gaps: pl.DataFrame
    ahead: bool | None
    blocks: int | None
    itl_bound_ns: int | None

    @property
    def known(self) -> bool:
        """Whether there are enough tokens, and steps that say what they computed."""
        enough = self.gaps.height >= serving_thresholds.LEAST_GAPS
        told = self.steps["prefill"].drop_nulls()
        return enough and self.total_ns > 0 and len(told) >= thresholds.REPEATED

    @cached_property
    def total_ns(self) -> int:
        """Return the time of all steps."""
        return int(self.steps["period_ns"].sum())

    @cached_property
    def between_ns(self) -> float:
        """Return the sum of all times between tokens."""
        return float(self.gaps["itl_ns"].sum())

    @cached_property
    def plain(self) -> pl.DataFrame:
        """Return the steps that only decode."""
        return self.steps.filter(pl.col("prefill") == 0, pl.col("requests") > 0)

    @cached_property
    def carrying(self) -> pl.DataFrame:
        """Return the steps that compute prompts."""
        return self.steps.filter(pl.col("prefill") > 0)

    @cached_property
    def law(self) -> Law | None:
        """Return what a step takes; None where no step only decodes, or none computes prompts."""
        fixed, prompts = self.plain["period_ns"].median(), int(self.carrying["prefill"].sum())
        if not isinstance(fixed, float) or fixed <= 0 or not prompts:
            return None
        longer = float((self.carrying["period_ns"] - fixed).sum())
        token = max(longer, 0.0) / prompts
        told = fixed + token * self.carrying["prefill"]
        return Law(fixed, token, median((told - self.carrying["period_ns"]).abs() / told))

    @cached_property
    def undisturbed_ns(self) -> float:
        """Return the median time between tokens without prefill or preemption in it; 0: none."""
        return median(self.gaps.filter(~pl.col("prefill"), ~pl.col("paused"))["itl_ns"])

    @property
    def late_ns(self) -> float:
        """Return the p99 time between tokens; 0: none."""
        return self.gaps["itl_ns"].quantile(1 - serving_thresholds.TAIL, "linear") or 0.0

    def part(self, ns: float) -> float:
        """Return a time as a fraction of that of all steps."""
        return ns / self.total_ns if self.total_ns else 0.0

    def percent(self, metric: str, part: float, threshold: float | None = None) -> Evidence:
        """Return evidence in percent, from fractions."""
        limit = None if threshold is None else 100 * threshold
        return Evidence(metric, 100 * part, limit, self.source, "%")

    def ms(self, metric: str, ns: float, threshold_ns: float | None = None) -> Evidence:
        """Return evidence in ms."""
        limit = None if threshold_ns is None else threshold_ns / 1e6
        return Evidence(metric, ns / 1e6, limit, self.source, "ms")

    def number(self, metric: str, value: float, unit: str = "") -> Evidence:
        """Return evidence that only explains."""
        return Evidence(metric, value, None, self.source, unit)


def median(values: pl.Series) -> float:
    """Return the median of numbers, 0 of none."""
    middle = values.median()
    return middle if isinstance(middle, float) else 0.0


def views(captures: Sequence[Capture]) -> Sequence[ServingView]:
    """Return one view a load."""
    return [_view(each) for each in captures if each.tables["load_requests"].height]


def _view(capture: Capture) -> ServingView:
    tables = capture.tables
    due = serving.lives(tables)["due_ns"].min()
    timed = pl.col("start_ns").is_not_null() & pl.col("duration_ns").is_not_null()
    raw = tables["load_steps"].filter(timed).sort("start_ns", maintain_order=True)
    ahead = _ahead(tables, raw)
    steps = _periods(tables, _planned(tables, raw, shifted=bool(ahead)))
    counted = steps.filter(pl.col("start_ns") >= (0 if due is None else due))
    bounds = tables["load_runs"].select("kv_blocks", "itl_slo_ns")
    blocks, bound = bounds.row(0) if bounds.height else (None, None)
    gaps = _gaps(tables, steps)
    return ServingView(capture.label, tables, counted, gaps, ahead, blocks or None, bound)


def _ahead(tables: Tables, steps: pl.DataFrame) -> bool | None:
    """Return whether no request has its first token by the end of the step that admits it.

    Of requests that the step could compute whole; None without any.
    """
    began = tables["load_requests"].drop_nulls(["admitted_ns", "first_ns"])
    if began.is_empty() or steps.is_empty():
        return None
    starts = steps["start_ns"]
    admitted = starts.search_sorted(began["admitted_ns"], "right").cast(pl.Int64) - 1
    first = starts.search_sorted(began["first_ns"], "left").cast(pl.Int64) - 1
    room = steps["tokens"].gather(admitted.clip(0).cast(pl.UInt32))
    whole = (admitted >= 0) & (room >= began["prompt_tokens"]).fill_null(value=False)
    return None if not whole.any() else not (whole & (admitted == first)).any()


def _planned(tables: Tables, steps: pl.DataFrame, *, shifted: bool) -> pl.DataFrame:
    """Return steps with prefill, their tokens of prompts, and waiting: requests in the queue.

    Those that are due and not admitted, and those put off by then. Null where the engine does not
    say when it admits.
    """
    rows, pauses, starts = tables["load_requests"], tables["load_pauses"], steps["start_ns"]

    def by_then(times: pl.Series) -> pl.Series:
        return times.drop_nulls().sort().search_sorted(starts, "right").cast(pl.Int64)

    new = by_then(rows["due_ns"]) - by_then(rows["admitted_ns"])
    put_off = by_then(pauses["start_ns"]) - by_then(pauses["end_ns"])
    said = pl.lit(rows["admitted_ns"].count() > 0)
    named = steps.with_columns(
        pl.col("kind").cast(pl.String), waiting=pl.when(said).then(new + put_off)
    )
    if shifted:
        named = named.with_columns(pl.col(_PLANNED).shift(1))
    tokens, requests = pl.col("tokens"), pl.col("requests")
    kind = pl.col("kind").fill_null(
        pl.when(tokens > requests).then(pl.lit("mixed")).otherwise(pl.lit("decode"))
    )
    prefill = (
        pl.when(kind == "prefill")
        .then(tokens)
        .when(kind == "mixed")
        .then((tokens - requests + 1).clip(0))
        .otherwise(0)
    )
    return named.with_columns(prefill=pl.when(requests.is_not_null()).then(prefill))


def _periods(tables: Tables, steps: pl.DataFrame) -> pl.DataFrame:
    """Return steps with gap_ns, period_ns and emitted, the tokens that came by the step's end."""
    rows, ends = tables["load_requests"], pl.col("start_ns") + pl.col("duration_ns")
    before = steps.select(ends.shift(1)).to_series()
    there = rows["due_ns"].drop_nulls().sort().search_sorted(before.fill_null(0), "right")
    left = rows["ended_ns"].drop_nulls().sort().search_sorted(before.fill_null(0), "right")
    busy = (there > left) & before.is_not_null()
    gap = pl.when(busy).then((pl.col("start_ns") - before).clip(0)).otherwise(0)
    spaced = steps.with_columns(gap_ns=gap, end_ns=ends)
    at = spaced["start_ns"].search_sorted(tables["load_tokens"]["time_ns"], "left").cast(pl.Int64)
    counts = (at - 1).rename("step").value_counts(name="emitted")
    numbered = spaced.with_row_index("step").with_columns(pl.col("step").cast(pl.Int64))
    return numbered.join(counts, on="step", how="left", maintain_order="left").with_columns(
        pl.col("emitted").fill_null(0).cast(pl.Int64),
        period_ns=pl.col("duration_ns") + pl.col("gap_ns"),
    )


def _gaps(tables: Tables, steps: pl.DataFrame) -> pl.DataFrame:
    """Return the times between tokens of requests after warm-up, with what happened in each."""
    counted = serving.lives(tables).select("request")
    tokens = tables["load_tokens"].join(counted, on="request", how="semi", maintain_order="left")
    at = steps["start_ns"].search_sorted(tokens["time_ns"], "left").cast(pl.Int64) - 1
    carried = (steps["prefill"] > 0).fill_null(value=False).cum_sum().cast(pl.Int64)
    numbers = pl.concat([pl.Series([0], dtype=pl.Int64), carried])
    seen = numbers.gather((at + 1).clip(0).cast(pl.UInt32))
    own = pl.col("request")
    gaps = (
        tokens.with_columns(seen=seen)
        .with_columns(
            itl_ns=pl.col("time_ns").diff().over(own), prefill=pl.col("seen").diff().over(own) > 0
        )
        .drop_nulls("itl_ns")
        .sort("time_ns", maintain_order=True)
    )
    resumed = tables["load_pauses"].drop_nulls("end_ns").select("request", at="end_ns").sort("at")
    stalled = resumed.join_asof(
        gaps.select("request", "time_ns"),
        left_on="at",
        right_on="time_ns",
        by="request",
        strategy="forward",
        allow_exact_matches=False,
        check_sortedness=False,
        coalesce=False,
    ).select("request", "time_ns", paused=pl.lit(value=True))
    joined = gaps.join(stalled.unique(), on=["request", "time_ns"], how="left")
    return joined.with_columns(pl.col("paused").fill_null(value=False)).select(
        "request", "time_ns", "itl_ns", "prefill", "paused"
    )
