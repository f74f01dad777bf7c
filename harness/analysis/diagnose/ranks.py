"""The devices of a timeline view beside each other: what they wait for in one another."""

from dataclasses import dataclass
from functools import cached_property

import polars as pl

from harness.analysis import collective_kinds
from harness.analysis.diagnose import pipeline, rank_waits, uneven_exchanges
from harness.analysis.diagnose.pipeline import Bubbles
from harness.analysis.diagnose.timeline_tracks import Track
from harness.analysis.diagnose.uneven_exchanges import Uneven


@dataclass(frozen=True)
class Ranks:
    """The tracks of one program; each property is None where it does not hold of them."""

    tracks: tuple[Track, ...]

    @cached_property
    def communicating(self) -> tuple[pl.DataFrame, ...]:
        """Return of each device the operations that communicate, with ``made``, their kind."""
        captures = {track.source: track.capture.tables for track in self.tracks}
        called = {
            source: collective_kinds.by_calls(tables, len(self.tracks))
            for source, tables in captures.items()
        }
        return tuple(
            collective_kinds.communicating(track.ops, called[track.source]) for track in self.tracks
        )

    @cached_property
    def collectives(self) -> pl.DataFrame | None:
        """Return the collectives that all of several devices take part in, with ``made``."""
        found = rank_waits.collectives(self.tracks)
        if found is None:
            return None
        kinds = pl.concat(
            rows.select("name", "start_ns", "made", rank=pl.lit(rank, pl.Int64))
            for rank, rows in enumerate(self.communicating)
        )
        return found.join(kinds, on=["rank", "name", "start_ns"], how="left", maintain_order="left")

    @cached_property
    def bubbles(self) -> Bubbles | None:
        """Return how long devices waited for another one's results."""
        if len(self.tracks) < 2 or len({track.source for track in self.tracks}) > 1:
            return None  # the clocks of several captures need not agree
        return pipeline.bubbles(self.tracks, self.communicating)

    @cached_property
    def uneven(self) -> Uneven | None:
        """Return the all-to-alls before which ranks had different work."""
        if self.collectives is None or self.bubbles:
            return None
        return uneven_exchanges.uneven(self.tracks, self.collectives)
