"""A memory snapshot: pools, live blocks, peaks, phases and allocation sites."""

import shutil
import textwrap
from collections.abc import Iterable
from typing import Any

from harness.cli.shown.columns import NOT_MEASURED, Cell, first, number, print_rows, size, text

_MOST_LIVE = 15
_MOST_SITES = 10
_MOST_FILLING = 5  # stacks of a pool
_MOST_FRAMES = 2
_MOST_POOLS = 3  # of a phase
_MOST_MARKED = 100
_FREE = ("free in used segments", "free segments")


def _free(row: dict[str, Any]) -> str:
    return size("free")(_summed([{"free": row.get(part)} for part in _FREE], ("free",)))


def _summed(rows: list[dict[str, Any]], keys: Iterable[str]) -> dict[str, int | None]:
    """Return sums by key, None if any is not known: part of a sum is not the sum."""
    columns = {key: [row[key] for row in rows] for key in keys}
    return {key: None if None in values else sum(values) for key, values in columns.items()}


_POOL: dict[str, Cell] = {
    "pool": text("pool"),
    "segments": number("segments"),
    "reserved": size("reserved_bytes"),
    "live": size("live"),
    "rounding": size("rounding"),
    "awaiting free": size("awaiting free"),
    "free in used segments": size("free in used segments"),
    "free segments": size("free segments"),
}
_DEVICE: dict[str, Cell] = {
    "device": number("device"),
    "segments": number("segments"),
    "reserved": size("reserved_bytes"),
    "allocated": size("allocated_bytes"),
    "events": number("events"),
}
_TOTALS: dict[str, Cell] = {
    "peak\nallocated": size("peak_allocated_bytes"),
    "peak\nreserved": size("peak_reserved_bytes"),
    "out of\nmemory": number("out_of_memory"),
    "segments\nreserved": number("reserved_segments"),
    "bytes\nreserved": size("reserved_bytes"),
    "segments\nreturned": number("returned_segments"),
    "bytes\nreturned": size("returned_bytes"),
}
_LIVE: dict[str, Cell] = {
    "size": size("bytes"),
    "blocks": number("count"),
    "pool": text("pool"),
    "asked for at, and called from": text("stack"),
}
_FILLED: dict[str, Cell] = {
    "pool": first("pool", text),
    "size": size("bytes"),
    "blocks": first("count", number),
    "asked for at, and called from": text("stack"),
}
_PEAK: dict[str, Cell] = {
    "phase": text("phase"),
    "events": number("events"),
    "allocated": size("allocated_bytes"),
    "reserved": size("reserved_bytes"),
}
_MARK: dict[str, Cell] = {
    "phase": first("phase", text),
    "GPU used": first("used_bytes", size),
    "outside\ntorch": first("outside_bytes", size),
    "pool": text("pool"),
    "reserved": size("reserved"),
    "live": size("live"),
    "rounding": size("rounding"),
    "free": _free,
}
_AWAITING: dict[str, Cell] = {"awaiting\nfree": size("awaiting free")}
_SITE: dict[str, Cell] = {
    "site": text("site"),
    "phase": text("phase"),
    "count": number("count"),
    "requested": size("bytes"),
    "at the peak": size("peak_bytes"),
}
_LEFT: dict[str, Cell] = {"site": text("site"), "left": size("bytes")}


def show(document: dict[str, Any], _names: dict[str, str]) -> None:
    """Print pools, live blocks, peaks, phases and sites, and what the file cannot tell."""
    from harness.cli import output
    from harness.ground.plain import plain

    if len(document["devices"]) > 1:
        print_rows("Devices: the tables below are of the first", _most_first(document), _DEVICE)
    print_rows(
        "Peaks of the history, and segments in the measured steps", [document["totals"]], _TOTALS
    )
    print_rows("Pools, and what their reserved bytes are", document["pools"], _POOL)
    print_rows("Live blocks", document["live"], _LIVE, _MOST_LIVE)
    filled = [row for pool in document["filled"] for row in _filling(pool)]
    print_rows("What filled each pool at its peak", filled, _FILLED)
    print_rows("Peaks by phase", document["phases"], _PEAK)
    marked = [row for mark in document["marks"] for row in _marked(mark)]
    awaiting = any(row.get("awaiting free") for row in marked)
    print_rows("As each phase ended", marked, _MARK | (_AWAITING if awaiting else {}), _MOST_MARKED)
    print_rows("Allocation sites", document["sites"], _SITE, _MOST_SITES)
    if growth := document.get("growth"):
        what = f"Left by each of {growth['repeats']} repeats of {growth['line']}"
        print_rows(what, growth["sites"], _LEFT)
    output.say("What this file cannot tell:")
    width = shutil.get_terminal_size((100, 24)).columns
    for sentence in document["limits"]:
        for line in textwrap.wrap(f"- {plain(sentence)}", width, subsequent_indent="  "):
            output.say(line)


def _most_first(document: dict[str, Any]) -> list[dict[str, Any]]:
    return sorted(document["devices"], key=lambda row: (-row["reserved_bytes"], row["device"]))


def _filling(pool: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a pool's reserved bytes at its peak, then the rows that sum to them."""
    phase = "" if pool["phase"] is None else f", in phase {pool['phase']}"
    shown, rest = pool["blocks"][:_MOST_FILLING], pool["blocks"][_MOST_FILLING:]
    rows = [row | {"stack": _nearest(row["stack"])} for row in shown]
    if rest:
        rows.append({"stack": f"{len(rest)} other stacks"} | _summed(rest, ("bytes", "count")))
    return [
        {"pool": pool["pool"], "bytes": pool["reserved_bytes"], "stack": f"reserved then{phase}"},
        {"bytes": pool["unused_bytes"], "stack": "of it not in use"},
        *rows,
    ]


def _nearest(stack: str | None) -> str:
    """Return a stack's innermost frames, which distinguish blocks of one pool."""
    frames = (stack or NOT_MEASURED).split(" < ")
    return " < ".join(frames[:_MOST_FRAMES] + ["…"] * (len(frames) > _MOST_FRAMES))


def _marked(mark: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a row a pool, the smallest as one; the first row also has the whole phase's levels."""
    rows = [
        {"pool": pool, "reserved": mark["pools"][pool]} | parts
        for pool, parts in mark["parts"].items()
    ]
    rest = rows[_MOST_POOLS:]
    if len(rest) > 1:
        sums = _summed(rest, [key for key in rest[0] if key != "pool"])
        rows[_MOST_POOLS:] = [{"pool": f"{len(rest)} other pools"} | sums]
    # As with parts that were not recorded, what is live then holds its rounding.
    rows = rows or [{"reserved": mark["reserved_bytes"], "live": mark["allocated_bytes"]}]
    whole = {key: mark[key] for key in ("phase", "used_bytes", "outside_bytes")}
    return [whole | rows[0], *rows[1:]]
