"""The shapes of the drawing of one step: boxes, texts and lines, each with its place."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

from harness.report import colours
from harness.report.chart import FAINT, FONT, GAP, INK, WIDTH, Rows
from harness.report.labels import text_width

if TYPE_CHECKING:
    from harness.analysis.step_timeline import StepTimeline

_CALLS, _STREAM, _LINE = 20, 34, 19
"""Pixels that the row of calls, a stream's row and a line of the key are high."""
_TITLE = -36
"""Where the first line of a panel's title is, in pixels from its row of calls."""
_BETWEEN = 14
"""Pixels between the host's row and the GPU's, which the launches cross."""
_AXIS = 52
"""Pixels from the last stream's row to the key: the axis with its title."""
_MOST_STREAMS, _MOST_LANES, _MOST_KEYS, _MOST_LINKS = 5, 4, 6, 40
"""Rows of streams (of all GPUs together, if each has two), lanes of a row, lines of the key."""
_PAD = 6
_LIGHTER = (0.0, 0.3, 0.5, 0.62, 0.7, 0.76)
"""How much lighter each further kernel of a family is drawn than the first."""
LINK = "#afb8c1"
"""The colour of the lines from launches to operations."""
_LIGHTEST = 0.8
"""How much lighter a pixel is drawn that is idle for nearly all of its time."""
_WAIT, _LAUNCH, _OTHER = "#d8dee4", FAINT, LINK

Window = tuple[float, float]
"""First and last µs that are drawn, from the step's start."""


Track = tuple[int | None, int | None]
"""A stream: its device and its number."""


@dataclass(frozen=True)
class Key:
    """An operation by its name: how it is drawn, and what the line of the key says of it."""

    mark: str
    label: str
    colour: str
    text: str


@dataclass(frozen=True)
class Shapes:
    """The shapes of a panel: boxes, texts and lines; x in µs, y in pixels from its top."""

    boxes: Rows
    texts: Rows
    links: Rows
    height: int


def shapes(label: str, step: "StepTimeline", ends: Window) -> Shapes:
    """Return the shapes of one step's panel between two times, in µs from the step's start."""
    per_us = WIDTH / (ends[1] - ends[0])
    keys = _keys(step)
    summary = _step_summary(step)
    step = _within(step, ends)
    streams = _rows_of_streams(step)
    top = _CALLS + _BETWEEN
    height = top + _STREAM * len(dict.fromkeys(streams.values()))
    operations = [
        _box(keys[row["name"]].colour, row, ends, top + _STREAM * at, height)
        | {"names": (keys[row["name"]].label, keys[row["name"]].mark)}
        for row, at, height in _laid_out(step, streams, 1e3 / per_us)
    ]
    calls = [
        _box(_call_colour(row["name"]), row, ends, 0, _CALLS) | {"names": _call_names(row["name"])}
        for row in step.calls.iter_rows(named=True)
    ]
    seen = _visible([*calls, *operations], per_us)
    inside = [text for box in seen if (text := _text_in(box, per_us))]
    rows = [("CUDA calls", _CALLS / 2)] + [
        (_stream_label(streams, row), top + _STREAM * (row + 0.5))
        for row in dict.fromkeys(streams.values())
    ]
    left = [_text(ends[0] - GAP / per_us, y, text, "right", FAINT) for text, y in rows]
    title = [
        _text(ends[0], _TITLE, label, "left"),
        _text(ends[0], _TITLE + _LINE, summary, "left"),
    ]
    key_boxes, key_texts = _key(keys, ends[0], height + _AXIS, per_us)
    return Shapes(
        [*seen, *key_boxes],
        [*title, *left, *inside, *key_texts],
        _links(step, ends, streams, top),
        height,
    )


def _within(step: "StepTimeline", ends: Window) -> "StepTimeline":
    """Return the step with the operations that are drawn between two times, in µs."""
    import polars as pl

    first, last = (round(1e3 * end) for end in ends)
    start, end = pl.col("start_ns"), pl.col("start_ns") + pl.col("duration_ns")
    return replace(step, ops=step.ops.filter(start < last, first < end))


def _step_summary(step: "StepTimeline") -> str:
    count = "1 operation" if len(step.ops) == 1 else f"{len(step.ops)} operations"
    length = step.length_ns / 1e3
    told = f"{length / 1e3:.4g} ms" if in_ms(length) else f"{length:,.0f} µs"
    busy = _shares(step.gpus["busy_ns"], step.length_ns)
    alone = _shares(step.gpus["communication_ns"], step.length_ns)
    if any(step.gpus["communication_ns"]):
        busy += f" ({alone} only communicating)"
    if len(step.gpus) > 1:
        return f"GPUs busy {busy} of {told} under {step.kind}"
    return f"GPU busy {busy} of {told} under {step.kind}, {count}"


def _shares(times_ns: Iterable[int], length_ns: int) -> str:
    """Return the least and the greatest of these shares of a time, in percent."""
    ends = (f"{100 * end(times_ns) / length_ns:.0f}" for end in (min, max))
    return " to ".join(dict.fromkeys(ends)) + " %"


def in_ms(us: float) -> bool:
    """Return whether a time is printed in ms, as its µs would take too many digits."""
    return us >= 10_000


def _keys(step: "StepTimeline") -> dict[str, Key]:
    """Return the key of each operation by its name; those with most time have a number."""
    import polars as pl

    from harness.analysis.kernels import family, short_names

    by_name = step.ops.group_by("name").agg(
        pl.col("kind").first(),
        pl.len().alias("count"),
        pl.col("duration_ns").sum().alias("total"),
        pl.col("duration_ns").median().alias("median"),
    )
    ranked = by_name.sort("total", "name", descending=[True, False]).to_dicts()
    for row in ranked:
        row["family"] = family(row["name"]) if row["kind"] == "kernel" else row["kind"]
    palette = colours.of_families(row["family"] for row in ranked)
    shown = short_names((row["name"] for row in ranked), limit=44)
    seen: dict[str, int] = {}
    keys = {}
    for place, row in enumerate(ranked):
        shade = seen[row["family"]] = seen.get(row["family"], -1) + 1
        colour = colours.lighter(palette[row["family"]], _LIGHTER[min(shade, len(_LIGHTER) - 1)])
        short = shown[row["name"]]
        median = row["median"] / 1e3
        each = f"{median / 1e3:.3g} ms" if median >= 1e3 else f"{median:.3g} µs"
        told = f"{row['count']} × {each}, {row['family']}: {short}"
        mark = str(place + 1) if place < _MOST_KEYS else ""
        keys[row["name"]] = Key(mark, short, colour, told)
    return keys


def _rows_of_streams(step: "StepTimeline") -> dict[Track, int]:
    """Return each stream's row, by GPU and first operation of a stream of that number.

    A GPU's last row takes its further streams.
    """
    tracks = step.ops.select("device", "stream").unique(maintain_order=True).rows()
    first = {stream: place for place, (_, stream) in reversed(list(enumerate(tracks)))}
    gpus: dict[int | None, list[Track]] = {}
    for track in sorted(tracks, key=lambda track: (track[0] is None, track[0], first[track[1]])):
        gpus.setdefault(track[0], []).append(track)
    most = max(2, _MOST_STREAMS // len(gpus))
    rows: dict[Track, int] = {}
    for own in gpus.values():
        top = len(set(rows.values()))
        rows |= {track: top + min(row, most - 1) for row, track in enumerate(own)}
    return rows


def _track(operation: dict[str, Any]) -> Track:
    return operation["device"], operation["stream"]


def _laid_out(
    step: "StepTimeline", streams: dict[Track, int], pixel_ns: float
) -> Iterator[tuple[dict[str, Any], float, float]]:
    """Yield each operation with its place, in rows, and the height of its box, in pixels.

    Operations of one row that overlap by more than a pixel, as kernels do under PDL, share the
    row's height.
    """
    ends: dict[int, list[int]] = {}  # of each row, the end of the last operation of each lane
    lanes = []
    for row in step.ops.iter_rows(named=True):
        of_row = ends.setdefault(streams[_track(row)], [])
        free = (lane for lane, end in enumerate(of_row) if end <= row["start_ns"] + pixel_ns)
        lane = min(next(free, len(of_row)), _MOST_LANES - 1)
        of_row[lane : lane + 1] = [row["start_ns"] + row["duration_ns"]]
        lanes.append(lane)
    for row, lane in zip(step.ops.iter_rows(named=True), lanes, strict=True):
        at = streams[_track(row)]
        height = (_STREAM - 6) / len(ends[at])
        yield row, at + lane * height / _STREAM, height


def _stream_label(streams: dict[Track, int], row: int) -> str:
    here = [track for track, its_row in streams.items() if its_row == row]
    device, stream = here[0]
    text = f"stream {stream}" if len(here) == 1 else f"{len(here)} streams"
    several = len({device for device, _ in streams}) > 1
    return f"GPU {device}, {text}" if several else text


def _call_names(name: str) -> tuple[str, ...]:
    """Return the labels that a call may have, without its version: long, then short."""
    plain = name.partition("_")[0]
    if "Synchronize" in name:
        return plain, "wait"
    return (plain, "launch") if "Launch" in name else (plain,)


def _call_colour(name: str) -> str:
    if "Synchronize" in name:
        return _WAIT
    return _LAUNCH if "Launch" in name or "Memcpy" in name or "Memset" in name else _OTHER


def _box(
    colour: str, row: dict[str, Any], ends: Window, top: float, height: float
) -> dict[str, Any]:
    """Return the box of an operation or a call, cut at the ends of what is drawn."""
    start = row["start_ns"] / 1e3
    return {
        "x": max(start, ends[0]),
        "x2": min(start + row["duration_ns"] / 1e3, ends[1]),
        "y": top,
        "y2": top + height,
        "colour": colour,
    }


def _visible(boxes: Rows, per_us: float) -> Rows:
    """Return the boxes; those of less than a pixel's width as one a pixel of a row.

    It has the colour of the operation that takes most of the pixel, the lighter the less of the
    pixel is taken.
    """
    pixel = 1 / per_us
    wide = [box for box in boxes if box["x2"] - box["x"] >= pixel]
    pixels: dict[tuple[float, float, float], dict[str, float]] = {}
    for box in boxes:
        if 0 < box["x2"] - box["x"] < pixel:
            taken = pixels.setdefault((box["x"] // pixel, box["y"], box["y2"]), {})
            taken[box["colour"]] = taken.get(box["colour"], 0.0) + box["x2"] - box["x"]
    return [*wide, *(_pixel(place, pixel, taken) for place, taken in pixels.items())]


def _pixel(
    place: tuple[float, float, float], pixel: float, taken: dict[str, float]
) -> dict[str, Any]:
    """Return the box of a pixel: its number in the row, the row's ends, its width in µs.

    ``taken``: the time of each colour in the pixel, in µs.
    """
    at, top, bottom = place
    idle = max(0.0, 1 - sum(taken.values()) / pixel)
    colour = colours.lighter(max(taken, key=lambda each: taken[each]), _LIGHTEST * idle)
    box = {"x": at * pixel, "x2": (at + 1) * pixel, "y": top, "y2": bottom}
    return box | {"colour": colour, "edge": colour, "names": ()}


def _text_in(box: dict[str, Any], per_us: float) -> dict[str, Any] | None:
    """Return the first of a box's names that fits into it, in its middle; None if none does."""
    if box["y2"] - box["y"] < FONT:
        return None
    room = (box["x2"] - box["x"]) * per_us - _PAD
    for name in box["names"]:
        if name and text_width(name, FONT) <= room:
            middle = (box["x"] + box["x2"]) / 2, (box["y"] + box["y2"]) / 2
            return _text(*middle, name, "center", colours.text_on(box["colour"]))
    return None


def _text(x: float, y: float, text: str, align: str, colour: str = INK) -> dict[str, Any]:
    return {"x": x, "y": y, "text": text, "align": align, "colour": colour}


def _key(keys: dict[str, Key], start: float, top: float, per_us: float) -> tuple[Rows, Rows]:
    """Return the boxes and the texts of the key: a line for each of the longest operations."""
    boxes, texts = [], []
    shown = [key for key in keys.values() if key.mark]
    for line, key in enumerate(shown):
        y = top + _LINE * line
        box = {"x": start, "x2": start + 18 / per_us, "y": y - 8, "y2": y + 8}
        boxes.append(box | {"colour": key.colour})
        mark = _text(start + 9 / per_us, y, key.mark, "center", colours.text_on(key.colour))
        texts += [mark, _text(start + 26 / per_us, y, key.text, "left")]
    if len(keys) > len(shown):
        more = f"and {len(keys) - len(shown)} of less time"
        texts.append(_text(start + 26 / per_us, top + _LINE * len(shown), more, "left", FAINT))
    return boxes, texts


def _links(step: "StepTimeline", ends: Window, streams: dict[Track, int], top: float) -> Rows:
    """Return a line from each launch to the first operation that it caused; none if crowded."""
    if len(step.ops) > _MOST_LINKS:
        return []
    calls = step.calls.unique("correlation", keep="first", maintain_order=True)
    launches = {row["correlation"]: row for row in calls.iter_rows(named=True)}
    links = []
    for correlation, rows in groupby(step.ops.iter_rows(named=True), lambda op: op["correlation"]):
        call, op = launches.get(correlation), next(rows)
        if call is None:
            continue
        x = (call["start_ns"] + call["duration_ns"] / 2) / 1e3
        x2 = op["start_ns"] / 1e3
        if ends[0] <= min(x, x2) and max(x, x2) <= ends[1]:
            bottom = top + _STREAM * streams[_track(op)]
            links.append({"x": x, "x2": x2, "y": _CALLS, "y2": bottom})
    return links
