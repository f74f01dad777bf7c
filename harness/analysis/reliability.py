"""How reliable a run's times are: doubts about a metric, and notes on the run for the reader."""

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import combinations
from typing import TYPE_CHECKING

from harness.analysis.measured import US_OF
from harness.evidence.kinds import unprofiled
from harness.evidence.tables import Tables

if TYPE_CHECKING:
    import polars as pl

_DRIFT = 0.02  # of the SM clock between rounds; it steps by 15 MHz, under a hundredth
_PAUSE_S = 5.0  # longer than a process takes to end and the next to start
_HOST_BOUND = 1.5
_OF_OTHERS = ("on the GPU, too", "memory clock")  # what the SM clock does not account for
_GPU_TIMES = ("gpu_time", "gpu_time_cold")  # samples that the GPU's own clock took
_OF_THE_HOST = ("launch", "round_trip", "graph_launch", "h2d_", "d2h_")  # ceilings it has a part in
_EVENTS = "event_pair"  # the ceiling, in µs, that a sample has once, however long it is
_COUNTED = ("tok/s", "tokens/s", "images/s", "requests/s")  # rates of what a sample has whole
_FIGURES = re.compile(r" (?:in|from) \d")  # where the figures of a doubt begin
_REGION = re.compile(r"^([^\s:]+): ")  # before a doubt, in a cell that measures several regions


def doubt(cells: "pl.DataFrame", region: str | None = None) -> str:
    """Return why the times of these cells of one variant and case are doubtful, if they are.

    ``cells``: rows of the evidence table, one a round. ``region``: of a cell that measures several
    regions, doubts about the others are left out.
    """
    reasons = _in_short(_noticed(cells, region), cells.height)
    clocks = cells["sm_mhz"].drop_nulls().to_list()
    if clocks and max(clocks) - min(clocks) > _DRIFT * max(clocks):
        reasons.append(f"SM clock between rounds from {min(clocks):.0f} to {max(clocks):.0f} MHz")
    return "; ".join(reasons)


def clock_factor(cells: "pl.DataFrame", highest: float | None, region: str | None = None) -> float:
    """Return the factor by which the SM clock may have moved these cells' times, at least 1.

    A kernel slows down at most as much as the clock does: here from ``highest``, in MHz, the
    highest clock seen. Infinite where more than the clock is in doubt, or the clock was not seen.
    """
    if not all(map(_of_the_clock, _noticed(cells, region))):
        return math.inf
    lowest = cells["sm_mhz_min"].drop_nulls().to_list()
    if highest is None or len(lowest) < cells.height or not all(lowest):
        return math.inf
    return max(1.0, highest / float(min(lowest)))


def apart(
    pairs: Collection[tuple[str | None, str | None]],
    ceilings: "pl.DataFrame",
    samples: Collection[str | None],
    least_us: float | None,
) -> tuple[str, float]:
    """Return why a ratio of times of two GPUs is doubtful, and the factor it may be off by.

    ``pairs``: the two sides' GPUs in each round; ``ceilings``: rows of the evidence table;
    ``samples``: the sampled metrics; ``least_us``: the least time, as :func:`least_us` returns it.
    The factor is at least 1, and infinite where no two GPUs' ceilings are known.
    """
    unlike = [pair for pair in pairs if pair[0] != pair[1]]
    if not unlike:
        return "", 1.0
    rates = _rates(ceilings, host=not all(sample in _GPU_TIMES for sample in samples))
    # The ratio is a mean over rounds: it is off by no more than the round whose GPUs differ most.
    factor, name = max(
        _differ(rates.get(first, {}), rates.get(second, {}), least_us) for first, second in unlike
    )
    where = f"timed on {len({gpu for pair in unlike for gpu in pair})} GPUs"
    if math.isinf(factor):
        # A GPU of unknown ceilings may lie as far beyond the known GPUs as these are apart.
        widest = _widest(rates.values(), least_us)
        others = "" if math.isinf(widest) else f"; others differ by up to {_percent(widest)}"
        return f"{where} whose ceilings are not all known{others}", widest**2
    most = f"differ by up to {_percent(factor)}"
    return f"{where} whose ceilings {most}{f' ({name})' if name else ''}", factor


def least_us(sides: Iterable[tuple[str, Iterable[float]]]) -> float | None:
    """Return the least time of both sides in µs; None if one of them is no time, or not positive.

    ``sides``: the unit and the values of each. Of a rate it is the time of one token, image or
    request: a sample has at least one.
    """
    times = (_us(unit, value) for unit, values in sides for value in values)
    least = min(times, default=0.0)
    return least if least > 0 else None


def _us(unit: str, value: float) -> float:
    if unit in _COUNTED and value > 0:
        return US_OF["s"] / value
    return US_OF.get(unit, 0.0) * value


def _percent(factor: float) -> str:
    return f"{100 * (factor - 1):.1f} %"


def _widest(rates: Collection[Mapping[str, float]], least_us: float | None) -> float:
    """Return the factor by which any two GPUs differ at most, of those whose ceilings are known."""
    factors = [_differ(first, second, least_us)[0] for first, second in combinations(rates, 2)]
    return max((factor for factor in factors if math.isfinite(factor)), default=math.inf)


def _rates(ceilings: "pl.DataFrame", *, host: bool) -> dict[str | None, dict[str, float]]:
    """Return ceilings by GPU and name: all, or those that the host has no part in."""
    rates: dict[str | None, dict[str, float]] = {}
    for gpu, name, value in ceilings.select("gpu", "name", "value").iter_rows():
        if value and (host or not name.startswith(_OF_THE_HOST)):
            rates.setdefault(gpu, {})[name] = value
    return rates


def _differ(
    first: Mapping[str, float], second: Mapping[str, float], least_us: float | None
) -> tuple[float, str]:
    """Return the factor by which times of ``least_us`` or more differ at most on two GPUs.

    Beside it the name of the ceiling that differs most, "" where none does. Each part of a step is
    held up by one of their ceilings, so all of it differs by no more. A pair of events is no part
    of a step: it adds what it takes, once.
    """
    if not first or first.keys() != second.keys():
        return math.inf, ""
    names, added = set(first), 0.0
    if least_us and _EVENTS in names:
        names.remove(_EVENTS)
        added = abs(first[_EVENTS] - second[_EVENTS]) / least_us
    factors = (
        (max(first[name] / second[name], second[name] / first[name]), name) for name in names
    )
    factor, name = max(factors, default=(1.0, ""))
    most = max(factor - 1, added)
    return factor + added, "" if most == 0 else _EVENTS if added == most else name


def _noticed(cells: "pl.DataFrame", region: str | None) -> list[str]:
    """Return the doubts about cells, without those about a region other than ``region``."""
    doubts = [why for doubt in cells["doubt"].drop_nulls() for why in doubt.split("; ") if why]
    return [why for why in doubts if _concerns(why, region)]


def _in_short(doubts: Collection[str], rounds: int) -> list[str]:
    """Return each doubt, those that differ only in their figures as one with its rounds."""
    return _folded([(why, why) for why in doubts], f"of {rounds} rounds")


def _by_reason(doubts: Collection[str]) -> list[str]:
    """Return the doubts of a cell, those of several regions that are alike as one that counts."""
    return _folded([(_without_region(why), why) for why in doubts], "regions")


def _folded(doubts: Collection[tuple[str, str]], of: str) -> list[str]:
    """Return doubts, those whose reasons differ only in their figures as one that counts them.

    ``doubts``: each doubt's reason and its whole text.
    """
    alike: dict[str, list[str]] = {}
    for reason, why in doubts:
        alike.setdefault(_FIGURES.split(reason, maxsplit=1)[0], []).append(why)
    return [
        whys[0] if len(whys) == 1 else f"{what} in {len(whys)} {of}" for what, whys in alike.items()
    ]


def _without_region(why: str) -> str:
    return _REGION.sub("", why, count=1)


def _of_the_clock(why: str) -> bool:
    """Return whether a doubt is about the SM clock: low, for whatever reason, or drifting."""
    return not _without_region(why).startswith(_OF_OTHERS)


def _concerns(why: str, region: str | None) -> bool:
    about = _REGION.match(why)
    return region is None or about is None or about[1] == region


def notes(tables: Tables) -> list[str]:
    """Return notes on all timing cells of a run, a line each."""
    import polars as pl

    timing = tables["cells"].filter(pl.col("capture") == unprofiled(), pl.col("status") == "ok")
    return [*_watching(timing), *_pauses(timing), *_host_bound(timing, tables["samples"])]


def _watching(timing: "pl.DataFrame") -> Iterator[str]:
    unwatched = timing["doubt"].null_count()
    if unwatched:
        yield f"{unwatched} of {timing.height} timing cells were not watched while they measured"
    for column, state in (("doubt", "doubtful"), ("retried", "run again, doubtful at first")):
        for cell, why in timing.select("cell", column).iter_rows():
            if why:
                yield f"{cell} {state}: {'; '.join(_by_reason(why.split('; ')))}"


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
