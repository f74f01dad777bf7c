"""Nsight Compute's counters of two captures: which of them explain the time, kernel by kernel."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

import polars as pl

from harness.analysis.counters import per_kernel
from harness.analysis.diff.effects import Effect, Medians, cause, effects
from harness.analysis.diff.match import LaunchedKernel, matches
from harness.analysis.diff.significance import difference, level_of_each
from harness.analysis.students_t import Difference
from harness.analysis.verdict import THRESHOLD
from harness.evidence.tables import Tables

Values = dict[str, list[float]]

_IPC = "sm__inst_executed.avg.per_cycle_elapsed"
_CLOCK = "gpc__cycles_elapsed.avg.per_second"
LIMITS = (
    "launch__waves_per_multiprocessor",
    "launch__occupancy_limit_registers",
    "launch__occupancy_limit_shared_mem",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
    "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
    "lts__t_sector_hit_rate.pct",
    "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
    "sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_active",
    "smsp__issue_active.avg.pct_of_peak_sustained_active",
    "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio",
)
"""Metrics that name a hardware limit, in the order in which an engineer asks for them."""

_IDLE = (
    "launch__block_dim",
    "launch__grid_dim",
    "launch__cluster",
    "device__attribute",
    "profiler__",
)
"""Prefixes of metrics that repeat another metric, or are no property of the kernel."""


@dataclass(frozen=True)
class Factors:
    """A time ratio as a product: time = amount / rate, so their ratios divide to it exactly."""

    amount: str
    amount_ratio: float
    rate: str
    rate_ratio: float


@dataclass(frozen=True)
class MetricChange:
    """One metric of a kernel, medians over its launches; ``difference`` where there are enough."""

    metric: str
    unit: str
    a: float
    b: float
    difference: Difference | None

    @property
    def rank(self) -> tuple[int, float, str]:
        """Return the sort key: metrics that limit a kernel first, then the largest change.

        A share changes by points, any other metric by the logarithm of its ratio; a change from or
        to zero ranks as a factor of e.
        """
        if self.unit == "%":
            size = abs(self.b - self.a) / 100
        else:
            size = abs(math.log(self.b / self.a)) if self.a > 0 and self.b > 0 else 1.0
        place = LIMITS.index(self.metric) if self.metric in LIMITS else len(LIMITS)
        return place, -size, self.metric


@dataclass(frozen=True)
class KernelCounters:
    """A kernel on both sides: launches, time in ns of all of them together, what explains it.

    ``launch_ns`` are the medians of a launch. ``effects`` are the counters that account for a part
    of this time, the largest change first, and ``cause`` the one that explains it. ``metrics`` are
    all that changed. Where a kernel stands for several of the other side, or for none, only the
    times are compared.
    """

    a: tuple[str, ...]
    b: tuple[str, ...]
    launches: tuple[int, int]
    time_ns: tuple[float, float]
    factors: tuple[Factors, ...] = ()
    metrics: tuple[MetricChange, ...] = ()
    launch_ns: tuple[float, float] | None = None
    effects: tuple[Effect, ...] = ()
    cause: Effect | None = None


def compare(a: Tables, b: Tables) -> list[KernelCounters]:
    """Return every kernel of both sides, the largest change of time first."""
    sides = [_by_kernel(tables) for tables in (a, b)]
    kernels = []
    for match in matches(*(_launched(side) for side in sides)):
        before = [sides[0][kernel.name] for kernel in match.a]
        after = [sides[1][kernel.name] for kernel in match.b]
        names = tuple(kernel.name for kernel in match.a), tuple(kernel.name for kernel in match.b)
        launches = (
            sum(len(kernel["time"]) for kernel in before),
            sum(len(kernel["time"]) for kernel in after),
        )
        times = (
            sum(sum(kernel["time"]) for kernel in before),
            sum(sum(kernel["time"]) for kernel in after),
        )
        kernel = KernelCounters(*names, launches, times)
        if len(before) == len(after) == 1:
            kernel = replace(
                _explained(kernel, before[0], after[0]),
                metrics=_metrics(a, b, before[0], after[0]),
            )
        kernels.append(kernel)
    return sorted(kernels, key=lambda kernel: -abs(kernel.time_ns[1] - kernel.time_ns[0]))


def _explained(kernel: KernelCounters, a: Values, b: Values) -> KernelCounters:
    """Return a kernel of both sides with what its counters explain of a launch's time."""
    before, after = (
        {
            metric: middle
            for metric, values in side.items()
            if values and (middle := median(values)) >= 0
        }
        for side in (a, b)
    )
    kernel_effects = effects(before, after, same_kernel=kernel.a == kernel.b)
    return replace(
        kernel,
        factors=_factors(before, after),
        launch_ns=(before["time"], after["time"]),
        effects=kernel_effects,
        cause=cause(kernel_effects, before, after),
    )


def _by_kernel(tables: Tables) -> dict[str, Values]:
    """Return kernel to metric to values, one a launch; "time" and "bytes" are ns and bytes."""
    kernels: dict[str, Values] = {}
    for row in per_kernel(tables["counters"]).iter_rows(named=True):
        values = kernels.setdefault(row["name"], {"time": [], "bytes": []})
        values["time"].append(row["time_ns"] or 0.0)
        if row["dram_bytes"] is not None:
            values["bytes"].append(row["dram_bytes"])
    rows = tables["counters"].sort("launch").cast({"name": pl.String, "metric": pl.String})
    for name, metric, value in rows.select("name", "metric", "value").iter_rows():
        if value is not None and math.isfinite(value):
            kernels[name].setdefault(metric, []).append(value)
    return kernels


def _launched(side: Mapping[str, Values]) -> list[LaunchedKernel]:
    return [
        LaunchedKernel(name, len(values["time"]), order)
        for order, (name, values) in enumerate(side.items())
    ]


def _factors(a: Medians, b: Medians) -> tuple[Factors, ...]:
    """Return the time ratio by bytes over bandwidth, and by instructions over their rate."""
    factors = []
    if all(side.get("time") and side.get("bytes") for side in (a, b)):
        moved, took = b["bytes"] / a["bytes"], b["time"] / a["time"]
        factors.append(Factors("DRAM bytes", moved, "DRAM bandwidth", moved / took))
    if all(side.get("time") and side.get(_IPC) and side.get(_CLOCK) for side in (a, b)):
        issued = b[_IPC] * b[_CLOCK] / (a[_IPC] * a[_CLOCK])
        took = b["time"] / a["time"]
        factors.append(Factors("instructions", took * issued, "instructions per second", issued))
    return tuple(factors)


def _metrics(first: Tables, second: Tables, a: Values, b: Values) -> tuple[MetricChange, ...]:
    units = _units(first) | _units(second)
    shared = [name for name in units if name in a and name in b and not name.startswith(_IDLE)]
    level = level_of_each(len(shared))
    changes = [
        MetricChange(
            name, units[name], median(a[name]), median(b[name]), difference(a[name], b[name], level)
        )
        for name in shared
    ]
    changed = [change for change in changes if _differs(change)]
    return tuple(sorted(changed, key=lambda change: change.rank))


def _differs(change: MetricChange) -> bool:
    return change.a != change.b if change.difference is None else change.difference.clear_of(0)


def _units(tables: Tables) -> dict[str, str]:
    rows = tables["counters"].group_by("metric").agg(pl.col("unit").first()).sort("metric")
    return {str(metric): unit or "" for metric, unit in rows.iter_rows()}


def slowest(kernels: Sequence[KernelCounters], most: int) -> list[KernelCounters]:
    """Return the kernels whose change is more than a hundredth of A's time, the largest first."""
    least = THRESHOLD * sum(kernel.time_ns[0] for kernel in kernels)
    return [kernel for kernel in kernels if abs(kernel.time_ns[1] - kernel.time_ns[0]) > least][
        :most
    ]
