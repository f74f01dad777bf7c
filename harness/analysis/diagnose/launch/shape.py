"""A launch's shape: how its blocks fill the SMs, how long those were busy, and its occupancy."""

from harness.analysis.diagnose import kernel_thresholds as thresholds
from harness.analysis.diagnose.launch.counted import Counted

_LIMIT = "launch__occupancy_limit_"
LIMITERS = ("registers", "shared_mem", "warps", "blocks", "barriers")


def sm_count(view: Counted) -> float | None:
    """Return the number of SMs that the launch could use."""
    return view.get("launch__sm_count", "device__attribute_multiprocessor_count")


def blocks(view: Counted) -> float | None:
    """Return the number of thread blocks of the grid."""
    size = view.get("launch__grid_size")
    if size is not None:
        return size
    axes = [view.get(f"launch__grid_dim_{axis}") for axis in "xyz"]
    x, y, z = axes
    return None if x is None or y is None or z is None else x * y * z


def elapsed_cycles(view: Counted) -> float | None:
    """Return the SM cycles that the launch took."""
    return view.get(
        *("sm__cycles_elapsed.max", "l1tex__cycles_elapsed.max", "smsp__cycles_elapsed.max"),
        *("sm__cycles_elapsed.avg", "gpc__cycles_elapsed.max"),
    )


def activity(view: Counted) -> float | None:
    """Return the fraction of the elapsed cycles in which an SM had a warp, on average."""
    active, elapsed = _active(view, "avg"), elapsed_cycles(view)
    return active / elapsed if active is not None and elapsed else None


def at_work(view: Counted) -> float:
    """Return the fraction of the launch's time that is not the start and end of any launch."""
    time = view.get("gpu__time_duration.sum")
    return 1 - min(thresholds.RAMP_NS / time, thresholds.MOST_RAMP) if time else 1.0


def brief(view: Counted) -> bool:
    """Return whether start and end are much of the launch, so that its counters tell little.

    True where its time is not known.
    """
    time = view.get("gpu__time_duration.sum")
    return not time or time * thresholds.MOST_RAMP < thresholds.RAMP_NS


def imbalance(view: Counted) -> float | None:
    """Return how much less the average SM was busy than the busiest one, as a fraction of it."""
    average, most = _active(view, "avg"), _active(view, "max")
    return 1 - average / most if average is not None and most else None


def _active(view: Counted, rollup: str) -> float | None:
    return view.get(*(f"{unit}__cycles_active.{rollup}" for unit in ("sm", "l1tex", "smsp")))


def waves(view: Counted) -> float | None:
    """Return the grid's blocks as multiples of what fits on the GPU at once."""
    return view.get("launch__waves_per_multiprocessor")


def theoretical_occupancy(view: Counted) -> float | None:
    """Return the warps that fit on an SM as a fraction of the most that it holds."""
    percent = view.get("sm__maximum_warps_per_active_cycle_pct")
    return None if percent is None else percent / 100


def limits(view: Counted) -> dict[str, float]:
    """Return the blocks that fit on an SM by each limiter that the report names."""
    most_blocks = {name: view.get(_LIMIT + name) for name in LIMITERS}
    return {name: value for name, value in most_blocks.items() if value}


def raised_occupancy(view: Counted, limiter: str) -> float | None:
    """Return by what factor the blocks of an SM would grow if ``limiter`` were no limit.

    None if another limiter holds them down as much, or the report does not say.
    """
    most_blocks = limits(view)
    others = [value for name, value in most_blocks.items() if name != limiter]
    if limiter not in most_blocks or not others or most_blocks[limiter] >= min(others):
        return None
    return min(others) / most_blocks[limiter]
