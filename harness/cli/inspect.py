"""``harness inspect``: what a capture file, a cell, a run or a report holds."""

import shutil
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from harness.evidence.subject import Folder

_NOT_MEASURED = "\N{EN DASH}"
_MOST_ROWS = 30
_MOST_LIVE = 15
_MOST_SITES = 10
_MOST_FILLING = 5  # stacks of a pool
_MOST_FRAMES = 2
_MOST_POOLS = 3  # of a phase
_MOST_MARKED = 100


def inspect(
    file: Annotated[
        Path,
        typer.Argument(
            help="A capture of nsys, ncu, torch.profiler or memory, a folder of them,"
            " a run or report folder, or FOLDER:CASE.VARIANT."
        ),
    ],
    json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
    full_names: Annotated[
        bool, typer.Option("--full-names", help="Print kernel names whole.")
    ] = False,
) -> None:
    """Show what a capture holds: kernels, copies, idle time, ranges, counters or memory."""
    from harness.analysis import summary
    from harness.cli import output
    from harness.evidence.subject import CaptureFiles, Folder
    from harness.extract import door
    from harness.report.escape import printable

    subject = door.opened(str(file), brief=True)
    if isinstance(subject, Folder):
        _cells(subject, json=json)
        return
    files = subject.files if isinstance(subject, CaptureFiles) else (subject,)
    refused = subject.refused if isinstance(subject, CaptureFiles) else ()
    documents = [
        (each.label, summary.document(kind, tables, each.label))
        for each in files
        for kind, tables in each.captures.items()
    ]
    if json:
        several = [{"label": label, **document} for label, document in documents]
        several += [{"label": error.where, "error": str(error)} for error in refused]
        output.as_json(several if len(several) > 1 else documents[0][1])
        return
    for label, document in documents:
        if len(documents) > 1:
            print(f"{printable(label)}: {document['kind']}\n")
        _show(document, full_names=full_names)
    for error in refused:
        print(f"not read: {printable(str(error))}")


def _show(document: dict[str, Any], *, full_names: bool) -> None:
    from harness.analysis.kernels import short_names
    from harness.captures.registry import KINDS

    kind = KINDS[document["kind"]]
    names = [kernel["name"] for kernel in document.get("kernels", [])]
    width = shutil.get_terminal_size((100, 24)).columns
    shown = {} if full_names else short_names(names, max(100, width) - kind.beside_names)
    if kind.show:
        kind.show(document, shown)


def _cells(folder: "Folder", *, json: bool) -> None:
    """Print the finished cells of a run or a report, and how to name one of them."""
    from harness.cli import output
    from harness.report.escape import printable

    rows = [(case, variant, folder.captures(case, variant)) for case, variant in folder.cells]
    origin = folder.origin.run
    if json:
        cells = [dict(zip(("case", "variant", "captures"), row, strict=True)) for row in rows]
        output.as_json({"label": folder.label, "run": origin.id, "cells": cells})
        return
    print(f"{origin.problem}, run {origin.id} on {origin.target.name}\n")
    output.table(("case", "variant", "captures"), [(*row[:2], ", ".join(row[2])) for row in rows])
    if rows:
        cell = f"{folder.label}:{rows[0][0]}.{rows[0][1]}"
        print(f"one cell: harness inspect {printable(cell)}")


def show_samples(document: dict[str, Any], _shown: dict[str, str]) -> None:
    """Print the median of each unprofiled metric."""
    _print("Unprofiled metrics", document["samples"], _SAMPLES)


def show_timeline(found: dict[str, Any], shown: dict[str, str]) -> None:
    """Print GPU activity, kernels, copies and ranges; operators where no GPU work was recorded."""
    gpu = found["gpu"]
    if gpu["span_ns"] is None:
        print("No GPU work in this capture.")
    else:
        _print("GPU", [*gpu["devices"], *([gpu] if len(gpu["devices"]) != 1 else [])], _GPU)
    _print("Kernels", found["kernels"], _kernel_name(shown) | _KERNEL)
    _print("Copies", found["copies"], _COPY)
    _print("Ranges", found["ranges"], _RANGE)
    if gpu["span_ns"] is None:
        _print("Operators", found.get("operators", []), _OPERATOR)


def show_counters(found: dict[str, Any], shown: dict[str, str]) -> None:
    """Print the profiled kernels."""
    _print("Profiled kernels", found["kernels"], _kernel_name(shown) | _COUNTER)


def show_memory(found: dict[str, Any], _shown: dict[str, str]) -> None:
    """Print pools, live blocks, peaks, phases and sites, and what the file cannot tell."""
    from harness.report.escape import printable

    _print("Pools, and what their reserved bytes are", found["pools"], _POOL)
    _print("Live blocks", found["live"], _LIVE, _MOST_LIVE)
    filled = [row for pool in found["filled"] for row in _filling(pool)]
    _print("What filled each pool at its peak", filled, _FILLED)
    _print("Peaks by phase", found["phases"], _PEAK)
    marked = [row for mark in found["marks"] for row in _marked(mark)]
    awaiting = any(row.get("awaiting free") for row in marked)
    _print("As each phase ended", marked, _MARK | (_AWAITING if awaiting else {}), _MOST_MARKED)
    _print("Allocation sites", found["sites"], _SITE, _MOST_SITES)
    print("What this file cannot tell:")
    for sentence in found["limits"]:
        print(f"- {printable(sentence)}")


def _filling(pool: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what a pool reserved at its peak, then rows that sum to it."""
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
    """Return a stack's innermost frames, which tell blocks of one pool apart."""
    frames = (stack or _NOT_MEASURED).split(" < ")
    return " < ".join(frames[:_MOST_FRAMES] + ["…"] * (len(frames) > _MOST_FRAMES))


def _marked(mark: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a row a pool, the smallest as one; the first says what is of the whole phase."""
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


def _free(row: dict[str, Any]) -> str:
    return _bytes("free")(_summed([{"free": row.get(part)} for part in _FREE], ("free",)))


def _summed(rows: list[dict[str, Any]], keys: Iterable[str]) -> dict[str, int | None]:
    """Return sums by key, None if any is not known: part of a sum is not the sum."""
    known = {key: [row[key] for row in rows] for key in keys}
    return {key: None if None in values else sum(values) for key, values in known.items()}


Cell = Callable[[dict[str, Any]], str]


def _print(
    title: str,
    rows: Sequence[dict[str, Any]],
    columns: dict[str, Cell],
    most: int = _MOST_ROWS,
) -> None:
    """Print the first rows as a table, and how many more there are."""
    from harness.cli import output

    if not rows:
        return
    cells: Iterable[list[str]] = ([cell(row) for cell in columns.values()] for row in rows[:most])
    output.table(list(columns), cells, title)
    if len(rows) > most:
        print(f"… and {len(rows) - most} more: --json prints all\n")


def _kernel_name(shown: dict[str, str]) -> dict[str, Cell]:
    return {"kernel": lambda row: shown.get(row["name"], row["name"])}


def _text(key: str) -> Cell:
    return lambda row: _NOT_MEASURED if row.get(key) is None else str(row[key])


def _first(key: str, cell: Callable[[str], Cell]) -> Cell:
    """Print what only the first row of several has, and nothing in the others."""
    return lambda row: cell(key)(row) if key in row else ""


def _number(key: str, scale: float = 1, digits: int = 0) -> Cell:
    """Print a figure in units of ``scale``, a dash where it was not measured."""
    return lambda row: _NOT_MEASURED if row[key] is None else f"{row[key] / scale:,.{digits}f}"


def _bytes(key: str) -> Cell:
    """Print a size in the largest decimal unit that it has one of."""

    def cell(row: dict[str, Any]) -> str:
        from harness.analysis.units import size

        return _NOT_MEASURED if row.get(key) is None else size(row[key])

    return cell


def _busy_percent(row: dict[str, Any]) -> str:
    return f"{row['busy_ns'] / row['span_ns'] * 100:.1f}" if row["span_ns"] else _NOT_MEASURED


def _shape(key: str) -> Cell:
    """Print a launch shape, marked where launches of the kernel had others too."""

    def cell(row: dict[str, Any]) -> str:
        if row[key] is None:
            return _NOT_MEASURED
        return f"{row[key]} …" if row["shapes"] > 1 else str(row[key])

    return cell


_SAMPLES: dict[str, Cell] = {
    "region": _text("region"),
    "metric": _text("metric"),
    "rounds": _number("rounds"),
    "samples": _number("count"),
    "median": _number("median", 1, 4),
    "unit": _text("unit"),
}
_GPU: dict[str, Cell] = {
    "device": lambda row: str(row.get("device", "all")),
    "span ms": _number("span_ns", 1e6, 3),
    "busy ms": _number("busy_ns", 1e6, 3),
    "busy %": _busy_percent,
    "idle ms": _number("idle_ns", 1e6, 3),
    "overlapped ms": _number("overlap_ns", 1e6, 3),
}
_KERNEL: dict[str, Cell] = {
    "count": _number("count"),
    "total ms": _number("total_ns", 1e6, 3),
    "median µs": _number("median_ns", 1e3, 2),
    "share %": _number("share", 0.01, 1),
    "grid": _shape("grid"),
    "block": _text("block"),
}
_COPY: dict[str, Cell] = {
    "copy": _text("kind"),
    "count": _number("count"),
    "size": _bytes("bytes"),
    "total ms": _number("total_ns", 1e6, 3),
}
_RANGE: dict[str, Cell] = {
    "range": _text("name"),
    "count": _number("count"),
    "total ms": _number("total_ns", 1e6, 3),
    "median ms": _number("median_ns", 1e6, 3),
    "never ended": _number("unfinished"),
}
_OPERATOR: dict[str, Cell] = {
    "operator": _text("name"),
    "count": _number("count"),
    "host ms": _number("total_ns", 1e6, 3),
    "GPU ms": _number("device_ns", 1e6, 3),
}
_COUNTER: dict[str, Cell] = {
    "time µs": _number("duration_ns", 1e3, 2),
    "DRAM %": _number("dram_pct", 1, 1),
    "SM %": _number("sm_pct", 1, 1),
    "tensor %": _number("tensor_pct", 1, 1),
    "occupancy %": _number("occupancy_pct", 1, 1),
    "registers": _number("registers"),
    "waves": _number("waves", 1, 2),
}
_POOL: dict[str, Cell] = {
    "pool": _text("pool"),
    "segments": _number("segments"),
    "reserved": _bytes("reserved_bytes"),
    "live": _bytes("live"),
    "rounding": _bytes("rounding"),
    "awaiting free": _bytes("awaiting free"),
    "free in used segments": _bytes("free in used segments"),
    "free segments": _bytes("free segments"),
}
_LIVE: dict[str, Cell] = {
    "size": _bytes("bytes"),
    "blocks": _number("count"),
    "pool": _text("pool"),
    "asked for at, and called from": _text("stack"),
}
_FILLED: dict[str, Cell] = {
    "pool": _first("pool", _text),
    "size": _bytes("bytes"),
    "blocks": _first("count", _number),
    "asked for at, and called from": _text("stack"),
}
_PEAK: dict[str, Cell] = {
    "phase": _text("phase"),
    "events": _number("events"),
    "allocated": _bytes("allocated_bytes"),
    "reserved": _bytes("reserved_bytes"),
}
_FREE = ("free in used segments", "free segments")
_MARK: dict[str, Cell] = {
    "phase": _first("phase", _text),
    "GPU used": _first("used_bytes", _bytes),
    "outside\ntorch": _first("outside_bytes", _bytes),
    "pool": _text("pool"),
    "reserved": _bytes("reserved"),
    "live": _bytes("live"),
    "rounding": _bytes("rounding"),
    "free": _free,
}
_AWAITING: dict[str, Cell] = {"awaiting\nfree": _bytes("awaiting free")}
_SITE: dict[str, Cell] = {
    "site": _text("site"),
    "phase": _text("phase"),
    "count": _number("count"),
    "requested": _bytes("bytes"),
    "at the peak": _bytes("peak_bytes"),
}
