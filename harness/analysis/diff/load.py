"""Two loads: in which phase requests take longer, and what the loads came to."""

from dataclasses import dataclass

import polars as pl

from harness.analysis import serving
from harness.evidence.tables import Tables

_PHASES = ("queued", "prefill", serving.UNTOLD, "decode")
_MEASURES = (
    *("ttft_p50_ms", "ttft_p99_ms", "itl_p50_ms", "itl_p99_ms", "output_tokens_per_s"),
    *("slo_attainment", "goodput"),
)

Both = tuple[float | None, float | None]


@dataclass(frozen=True)
class LoadDiff:
    """A and B: requests that ended after warm-up, ms of a mean one by phase, and measures.

    The phases sum to the mean time end to end; ``preempted`` is a part of them.
    """

    requests: tuple[int, int]
    phases: dict[str, Both]
    preempted: Both
    measures: dict[str, Both]

    @property
    def whole(self) -> Both:
        """Return the mean time end to end in ms, None without a request that ended."""
        a, b = (
            sum(both[side] or 0.0 for both in self.phases.values()) if self.requests[side] else None
            for side in (0, 1)
        )
        return a, b


def compare(a: Tables, b: Tables) -> LoadDiff:
    """Return how two loads differ."""
    sides = [_phases(tables) for tables in (a, b)]
    (first, of_a), (second, of_b) = sides
    names = [name for name in _PHASES if name in of_a or name in of_b]
    return LoadDiff(
        (first, second),
        {name: (of_a.get(name), of_b.get(name)) for name in names},
        (of_a.get("preempted"), of_b.get("preempted")),
        {name: (serving.MEASURES[name](a), serving.MEASURES[name](b)) for name in _MEASURES},
    )


def _phases(tables: Tables) -> tuple[int, dict[str, float]]:
    """Return how many requests ended, and the mean ms of one in each state that there was."""
    ended = serving.lives(tables).drop_nulls("ended_ns").select("request")
    spans = serving.states(tables, tables["load_requests"].height)
    length = (pl.col("end_ns") - pl.col("start_ns")).sum()
    sums = spans.join(ended, on="request", how="semi").group_by("state").agg(length.alias("ns"))
    return ended.height, {state: ns / 1e6 / ended.height for state, ns in sums.iter_rows()}
