"""What part of a program's time each profiled launch stands for, where a timeline tells it.

Nsight Compute profiles some launches, one at a time, with clocks and caches of its own: what they
cost in the program is what the kernels of that name take on the timeline.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Protocol

import polars as pl

from harness.analysis.diagnose.timeline_view import TimelineView
from harness.analysis.kernels import bare


class Launch(Protocol):
    """A profiled launch; ``share`` is its fraction of the time of all profiled launches."""

    @property
    def name(self) -> str:
        """Return the kernel's name."""

    @property
    def share(self) -> float:
        """Return the fraction."""


def shares(timelines: Sequence[TimelineView], launches: Sequence[Launch]) -> list[float]:
    """Return each launch's fraction of the program's time.

    Launches of one name divide what that name takes on the timeline, as bare of template arguments
    as both profilers print it. A name that is not there takes its share of the time in which
    kernels ran. Without a timeline the profiled launches are the program.
    """
    if not timelines:
        return [launch.share for launch in launches]
    if not launches:
        return []
    (view,) = timelines
    on_timeline = _by_name(view)
    profiled = Counter(bare(launch.name) for launch in launches)
    return [
        on_timeline[key] / profiled[key] if key in on_timeline else launch.share * view.compute
        for launch, key in ((launch, bare(launch.name)) for launch in launches)
    ]


def _by_name(view: TimelineView) -> dict[tuple[str, str], float]:
    kernels = pl.concat(
        [track.ops.filter(pl.col("kind") == "kernel") for track in view.tracks]
    ).group_by("name")
    times: dict[tuple[str, str], float] = {}
    for name, total in kernels.agg(pl.col("duration_ns").sum()).iter_rows():
        times[bare(name)] = times.get(bare(name), 0.0) + view.fraction(total)
    return times
