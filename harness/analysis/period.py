"""A period of a timeline: operations that follow each other in the same order again and again."""

from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from harness.analysis.repeats import LEAST

_TRIED = 40
"""Distances between operations of one name that are tried, those of most names first."""


@dataclass(frozen=True)
class Period:
    """``count`` repetitions of ``kernels`` kernels; ``ops``: theirs on all devices, with step."""

    count: int
    kernels: int
    ops: pl.DataFrame

    @property
    def text(self) -> str:
        """Return what repeats, in words."""
        return f"period of {self.kernels} {'kernel' if self.kernels == 1 else 'kernels'}"


def find(ops: pl.DataFrame) -> Period | None:
    """Return the repetition that covers most operations of the busiest device, the shortest of it.

    ``ops``: timed rows of gpu_ops. None where fewer than LEAST repetitions follow each other, or
    hold no kernel, or where as much as one of them comes before or after: then the program does
    something else, too, as a step does before and after its equal layers.
    """
    by_device = ops.group_by("device").agg(pl.col("duration_ns").sum())
    busiest = by_device.sort("duration_ns", "device", descending=True)["device"].head(1)
    if busiest.is_empty():
        return None
    is_its = pl.col("device").eq_missing(pl.lit(busiest[0], ops["device"].dtype))
    # By launch, as operations on two streams may start in another order in each repetition.
    mine = ops.filter(is_its).sort("correlation", "start_ns", nulls_last=True)
    codes = mine["name"].cast(pl.String).cast(pl.Categorical).to_physical()
    runs = [(run, length) for length in _lengths(codes) for run in _runs(codes, length)]
    if not runs:
        return None
    (begin, count), length = max(runs, key=lambda run: (run[0][1] * run[1], -run[1]))
    repeated = mine[begin : begin + count * length]
    steps = repeated.with_columns(step=pl.int_range(pl.len(), dtype=pl.Int64) // length)
    around = max(begin, mine.height - begin - count * length)
    is_kernel = pl.col("kind").cast(pl.String).is_in(["kernel", "graph"])
    kernels = steps.filter(pl.col("step") == 0, is_kernel).height
    if not kernels or around >= length:
        return None
    return Period(count, kernels, pl.concat([steps, _beside(ops.filter(~is_its), steps)]))


def _lengths(names: pl.Series) -> Iterator[int]:
    """Yield the commonest distance between operations of one name, those of most names first."""
    apart = pl.col("at").diff().over("name")
    distances = pl.DataFrame({"name": names, "at": pl.int_range(len(names), eager=True)})
    distances = distances.select("name", apart=apart).drop_nulls()
    each = distances.group_by("name", "apart").len().sort("len", "apart", descending=[True, False])
    commonest = each.unique("name", keep="first", maintain_order=True)["apart"]
    tried = commonest.value_counts().sort("count", "apart", descending=[True, False])["apart"]
    yield from (length for length in tried.head(_TRIED) if length * LEAST <= len(names))


def _runs(names: pl.Series, length: int) -> Iterator[tuple[int, int]]:
    """Yield place and count of the longest run of LEAST repetitions or more of that length."""
    same = (names == names.shift(length)).fill_null(value=False).rle().struct.unnest()
    places = same.with_columns(until=pl.col("len").cum_sum()).filter("value")
    longest = places.sort("len", "until", descending=[True, False]).head(1)
    for equal, until in longest.select("len", "until").iter_rows():
        count = equal // length + 1
        if count >= LEAST:
            yield until - equal - length, count


def _beside(others: pl.DataFrame, steps: pl.DataFrame) -> pl.DataFrame:
    """Return the operations of other devices that begin while the steps run, with ``step``."""
    begun = steps.group_by("step").agg(pl.col("start_ns").min()).sort("start_ns")
    last = steps.select(pl.col("start_ns") + pl.col("duration_ns")).max().item()
    placed = others.sort("start_ns").join_asof(begun, on="start_ns", check_sortedness=False)
    return placed.drop_nulls("step").filter(pl.col("start_ns") < last).select(steps.columns)
