"""What was noticed of the conditions: why times are doubtful, and what a reader should know."""

import math
import re
from collections.abc import Collection, Iterator, Mapping
from itertools import combinations
from typing import TYPE_CHECKING

from harness.captures.registry import unprofiled
from harness.evidence.tables import Tables

if TYPE_CHECKING:
    import polars as pl

_DRIFT = 0.02  # of the SM clock between rounds; it steps by 15 MHz, under a hundredth
_PAUSE_S = 5.0  # longer than a process takes to end and the next to start
_HOST_BOUND = 1.5
_OF_OTHERS = ("on the GPU, too", "memory clock")  # what the SM clock does not account for
_GPU_TIMES = ("gpu_time", "gpu_time_cold")  # samples that the GPU's own clock took
_OF_THE_HOST = ("launch", "round_trip", "graph_launch", "h2d_", "d2h_")  # ceilings it has a part in
_REGION = re.compile(r"([A-Za-z]+\d+): ")  # before a doubt, in a cell that measures many sizes


def doubt(cells: "pl.DataFrame", region: str | None = None) -> str:
    """Return why the times of these cells of one variant and case are doubtful, if they are.

    ``cells``: rows of the evidence table, one a round. ``region``: what concerns another region of
    a cell that measures several is left out.
    """
    found = _told(cells, region)
    clocks = cells["sm_mhz"].drop_nulls().to_list()
    if clocks and max(clocks) - min(clocks) > _DRIFT * max(clocks):
        found.append(f"SM clock between rounds from {min(clocks):.0f} to {max(clocks):.0f} MHz")
    return "; ".join(found)


def clock_factor(cells: "pl.DataFrame", highest: float | None, region: str | None = None) -> float:
    """Return by which factor the SM clock alone may have moved these cells' times, at least 1.

    A kernel takes at most as much longer as the clock is lower: here lower than ``highest``, in
    MHz, the highest clock seen. Infinite where more than the clock is in doubt, or it was not seen.
    """
    if not all(map(_of_the_clock, _told(cells, region))):
        return math.inf
    lowest = cells["sm_mhz_min"].drop_nulls().to_list()
    if highest is None or len(lowest) < cells.height or not all(lowest):
        return math.inf
    return max(1.0, highest / float(min(lowest)))


def apart(
    pairs: Collection[tuple[str | None, str | None]],
    ceilings: "pl.DataFrame",
    samples: Collection[str | None],
) -> tuple[str, float]:
    """Return why a ratio of times is doubtful by its GPUs alone, and by which factor it may be off.

    ``pairs``: the two sides' GPUs in each round; ``ceilings``: rows of the evidence table;
    ``samples``: what was timed. The factor is at least 1, and infinite where no two GPUs' ceilings
    are known.
    """
    unlike = [pair for pair in pairs if pair[0] != pair[1]]
    if not unlike:
        return "", 1.0
    rates = _rates(ceilings, host=not all(one in _GPU_TIMES for one in samples))
    # The ratio is a mean over rounds: it is off by no more than the round whose GPUs differ most.
    room = max(_differ(rates.get(one, {}), rates.get(other, {})) for one, other in unlike)
    told = f"timed on {len({gpu for pair in unlike for gpu in pair})} GPUs"
    if math.isinf(room):
        # What is not known of a GPU: as far beyond the known ones as these are apart.
        widest = _widest(rates.values())
        others = "" if math.isinf(widest) else f"; others differ by up to {_percent(widest)}"
        return f"{told} whose ceilings are not all known{others}", widest**2
    return f"{told} whose ceilings differ by up to {_percent(room)}", room


def _percent(factor: float) -> str:
    return f"{100 * (factor - 1):.1f} %"


def _widest(rates: Collection[Mapping[str, float]]) -> float:
    """Return by which factor any two GPUs of which all ceilings are known differ at most."""
    apart = [_differ(one, other) for one, other in combinations(rates, 2)]
    return max((factor for factor in apart if math.isfinite(factor)), default=math.inf)


def _rates(ceilings: "pl.DataFrame", *, host: bool) -> dict[str | None, dict[str, float]]:
    """Return ceilings by GPU and name: all, or those that the host has no part in."""
    found: dict[str | None, dict[str, float]] = {}
    for gpu, name, value in ceilings.select("gpu", "name", "value").iter_rows():
        if value and (host or not name.startswith(_OF_THE_HOST)):
            found.setdefault(gpu, {})[name] = value
    return found


def _differ(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    """Return by which factor two GPUs' ceilings differ at most.

    Each part of a step is held up by one of them, so all of it differs by no more.
    """
    if not one or one.keys() != other.keys():
        return math.inf
    return max(max(value / other[name], other[name] / value) for name, value in one.items())


def _told(cells: "pl.DataFrame", region: str | None) -> list[str]:
    """Return what was noticed of cells, each once; of another region than ``region`` nothing."""
    told = [why for reasons in cells["doubt"].drop_nulls() for why in reasons.split("; ") if why]
    return [why for why in dict.fromkeys(told) if _concerns(why, region)]


def _of_the_clock(why: str) -> bool:
    """Return whether a doubt is that the SM clock was low, whatever held it back, or moved."""
    return not _REGION.sub("", why, count=1).startswith(_OF_OTHERS)


def _concerns(why: str, region: str | None) -> bool:
    about = _REGION.match(why)
    return region is None or about is None or about[1] == region


def notes(tables: Tables) -> list[str]:
    """Return, a line each, what was noticed over all timing cells of a run."""
    import polars as pl

    timing = tables["cells"].filter(pl.col("capture") == unprofiled(), pl.col("status") == "ok")
    return [*_watching(timing), *_pauses(timing), *_host_bound(timing, tables["samples"])]


def _watching(timing: "pl.DataFrame") -> Iterator[str]:
    unwatched = timing["doubt"].null_count()
    if unwatched:
        yield f"{unwatched} of {timing.height} timing cells were not watched while they measured"
    for column, told in (("doubt", "doubtful"), ("retried", "run again, doubtful at first")):
        for cell, why in timing.select("cell", column).iter_rows():
            if why:
                yield f"{cell} {told}: {why}"


def _pauses(timing: "pl.DataFrame") -> Iterator[str]:
    for cell, idle in timing.select("cell", "idle_s").drop_nulls().iter_rows():
        if idle > _PAUSE_S:
            yield f"no cell ran for {idle:.0f} s before {cell}"


def _host_bound(timing: "pl.DataFrame", samples: "pl.DataFrame") -> Iterator[str]:
    """Yield the variants whose GPU waits for the host: their GPU time is not what a user waits."""
    import polars as pl

    kept = samples.filter(pl.col("mark").fill_null("") != "warm-up")
    # A sweep is host-bound at small sizes and not at large: of all together nothing can be said.
    kept = kept.filter(pl.col("region").n_unique().over("cell") == 1)
    medians = kept.join(timing.select("cell", "variant", "case"), on="cell")
    for case, variant, wall, gpu in (
        medians.group_by("case", "variant", maintain_order=True)
        .agg(
            *(
                pl.col("value").filter(pl.col("metric") == metric).median().alias(metric)
                for metric in ("wall_time", "gpu_time")
            )
        )
        .iter_rows()
    ):
        if gpu and wall and wall > _HOST_BOUND * gpu:
            yield f"{variant} in {case} is host-bound: {wall / gpu:.1f} times its GPU time"
