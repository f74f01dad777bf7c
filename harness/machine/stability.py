"""Whether a timing cell's GPU was as a measurement needs it; pure."""

from collections.abc import Callable, Sequence
from statistics import median

from harness.machine.monitor import Look, Windows, summary

_SLOWDOWNS = {
    "hardware slowdown",
    "thermal slowdown (software)",
    "thermal slowdown (hardware)",
    "power brake",
    "power cap",
}
_SOME = 0.05  # of the looks: a reason that shows in one of many did not hold
_DRIFT = 0.02  # of a clock, relative: clocks step by 15 MHz, under a hundredth


def doubts(looks: Sequence[Look]) -> list[str] | None:
    """Return why what was measured during these looks is not to be relied on; None without any."""
    if not looks:
        return None
    seen = summary(looks)
    held = [
        f"{reason} in {count} of {len(looks)} looks"
        for reason, count in seen["throttle_reasons"].items()
        if reason in _SLOWDOWNS and count > _SOME * len(looks)
    ]
    others = [f"on the GPU, too: {other}" for other in seen["others"]]
    return [*held, *others, *_drift(looks, "sm_mhz"), *_drift(looks, "memory_mhz")]


def by_region(windows: Windows, during: Callable[[Windows], list[Look]]) -> list[str] | None:
    """Return the same for a cell's ``windows``, each doubt after the region that it concerns.

    Of a cell with one region the name is left out. None if there are no looks at all.
    """
    regions = list(dict.fromkeys(region for _, _, *rest in windows for region in rest))
    if len(regions) < 2:
        return doubts(during(windows))
    found = {
        region: doubts(during([one for one in windows if one[2] == region])) for region in regions
    }
    if all(told is None for told in found.values()):
        return None
    return [f"{region}: {why}" for region, told in found.items() for why in told or ()]


def _drift(looks: Sequence[Look], clock: str) -> list[str]:
    """Compare the first half's clock with the second's: single looks may fall between steps."""
    values = [look.figures[clock] for look in looks if clock in look.figures]
    if len(values) < 4:
        return []
    first, second = median(values[: len(values) // 2]), median(values[len(values) // 2 :])
    if abs(first - second) <= _DRIFT * max(first, second):
        return []
    return [f"{clock.removesuffix('_mhz')} clock drifted from {first:.0f} to {second:.0f} MHz"]
