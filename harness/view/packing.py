"""Timelines as columns of numbers that a page carries: deflated, in base64.

JSON text would have to be parsed before anything can be drawn.
"""

import base64
import sys
import zlib
from array import array
from typing import Any

import polars as pl

from harness.view.lanes import Timeline

_COLUMNS = {
    "start": pl.Float64,
    "duration": pl.Float64,
    "name": pl.Int32,
    "kind": pl.Int32,
    "detail": pl.Int32,
    "correlation": pl.Int32,
}
"""Columns of events: start in ns from the timeline's origin, duration in ns, the rest are indexes.

name, kind and detail are indexes of texts; events of one correlation belong together, -1: none.
"""


def packed(timeline: Timeline) -> dict[str, Any]:
    """Return a timeline as JSON can hold it: lanes, texts, and the columns of all events.

    The events stand lane by lane, each lane's by start; ``count`` of a lane is how many are its.
    """
    events = pl.concat([lane.events for lane in timeline.lanes])
    origin = _origin(timeline, events)
    texts = pl.concat([events[name] for name in ("name", "kind", "detail")]).unique().drop_nulls()
    texts = texts.sort()
    number = {text: index for index, text in enumerate(texts)}
    indexes = pl.col("name", "kind", "detail").replace_strict(
        number, default=-1, return_dtype=pl.Int32
    )
    columns = events.select(
        (pl.col("start_ns") - origin).alias("start"),
        pl.col("duration_ns").alias("duration"),
        indexes,
        (pl.col("correlation").rank("dense") - 1).fill_null(-1).alias("correlation"),
    ).cast(_COLUMNS)  # type: ignore[arg-type]  # names to types
    return {
        "lanes": [
            {"what": lane.what, "label": lane.label, "count": lane.events.height}
            for lane in timeline.lanes
        ],
        "steady": [[start - origin, end - origin] for start, end in timeline.steady],
        "texts": texts.to_list(),
        "columns": {name: _deflated(columns[name]) for name in _COLUMNS},
    }


def _origin(timeline: Timeline, events: pl.DataFrame) -> int:
    """Return the time that the page calls 0: the steady state's start, else the first event's."""
    if timeline.steady:
        return timeline.steady[0][0]
    return int(events.select(pl.col("start_ns").min()).item())


def _deflated(column: pl.Series) -> str:
    """Return the column's values, little endian one after another, deflated, in base64."""
    values = array("d" if column.dtype == pl.Float64 else "i", column.to_list())
    if sys.byteorder == "big":
        values.byteswap()
    return base64.b64encode(zlib.compress(values.tobytes())).decode()
