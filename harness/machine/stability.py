"""Whether the GPU held still while a timing cell measured; pure."""

from collections.abc import Callable, Sequence
from statistics import median

from harness.machine.monitor import GpuSample, Windows, summary

OF_THE_LOAD = ("power cap", "sm clock drifted")
"""How the doubts begin that a load may bring about by itself."""

_SLOWDOWNS = {
    "hardware slowdown",
    "thermal slowdown (software)",
    "thermal slowdown (hardware)",
    "power brake",
    "power cap",
}
_SOME = 0.05  # of the samples: a reason that shows in one of many did not hold
_DRIFT = 0.02  # of a clock, relative: clocks step by 15 MHz, under a hundredth


def doubts(samples: Sequence[GpuSample]) -> list[str] | None:
    """Return why a measurement taken during these samples is unreliable; None without samples."""
    if not samples:
        return None
    state = summary(samples)
    slowdowns = [
        f"{reason} in {count} of {len(samples)} looks"
        for reason, count in state["throttle_reasons"].items()
        if reason in _SLOWDOWNS and count > _SOME * len(samples)
    ]
    others = [f"on the GPU, too: {other}" for other in state["others"]]
    return [*slowdowns, *others, *_drift(samples, "sm_mhz"), *_drift(samples, "memory_mhz")]


def by_region(windows: Windows, during: Callable[[Windows], list[GpuSample]]) -> list[str] | None:
    """Return the doubts about a cell's ``windows``, each after the region that it concerns.

    Of a cell with one region the name is left out. None if there are no samples at all.
    """
    regions = list(dict.fromkeys(region for _, _, *rest in windows for region in rest))
    if len(regions) < 2:
        return doubts(during(windows))
    reasons = {
        region: doubts(during([window for window in windows if window[2] == region]))
        for region in regions
    }
    if all(doubted is None for doubted in reasons.values()):
        return None
    return [f"{region}: {why}" for region, doubted in reasons.items() for why in doubted or ()]


def _drift(samples: Sequence[GpuSample], clock: str) -> list[str]:
    """Compare the first half's clock with the second's: single samples may fall between steps."""
    values = [sample.figures[clock] for sample in samples if clock in sample.figures]
    if len(values) < 4:
        return []
    first, second = median(values[: len(values) // 2]), median(values[len(values) // 2 :])
    if abs(first - second) <= _DRIFT * max(first, second):
        return []
    return [f"{clock.removesuffix('_mhz')} clock drifted from {first:.0f} to {second:.0f} MHz"]
