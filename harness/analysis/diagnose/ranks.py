"""The devices of a timeline view beside each other: what they wait for in one another."""

from dataclasses import dataclass
from functools import cached_property

import polars as pl

from harness.analysis.diagnose import pipeline, rank_waits, uneven_exchanges
from harness.analysis.diagnose.pipeline import Bubbles
from harness.analysis.diagnose.timeline_tracks import Track
from harness.analysis.diagnose.uneven_exchanges import Uneven


@dataclass(frozen=True)
class Ranks:
    """The tracks of one program; each property is None where it does not hold of them."""

    tracks: tuple[Track, ...]

    @cached_property
    def collectives(self) -> pl.DataFrame | None:
        """Return the collectives that all of several devices take part in."""
        return rank_waits.collectives(self.tracks)

    @cached_property
    def bubbles(self) -> Bubbles | None:
        """Return how long devices waited for their turn to compute."""
        return pipeline.bubbles(self.tracks)

    @cached_property
    def uneven(self) -> Uneven | None:
        """Return the all-to-alls before which ranks had different work."""
        if self.collectives is None or self.bubbles:
            return None
        return uneven_exchanges.uneven(self.tracks, self.collectives)
