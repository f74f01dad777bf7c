"""Timelines made by hand: steps of operations, each launched by a host call inside its range."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from harness.evidence import tables as evidence
from harness.evidence.tables import Tables, frame

STEP_NS = 1_000_000
"""From the start of one step to the next; every step has to be shorter."""
_FIRST_NS = 10_000  # from a range's start to its first operation; launches are before it


@dataclass(frozen=True)
class Op:
    """An operation that starts ``after`` ns after the end of the one listed before it."""

    name: str
    duration: int
    kind: str = "kernel"
    stream: int = 7
    after: int = 100
    grid: str | None = "8,1,1"
    bytes: int | None = None


def timeline(steps: Sequence[Sequence[Op]], mark: str = "step:made") -> Tables:
    """Return the tables of a capture in which the host launches a step, then waits for its end."""
    ops: list[dict[str, object]] = []
    calls: list[dict[str, object]] = []
    ranges: list[dict[str, object]] = []
    for number, step in enumerate(steps):
        begin = number * STEP_NS
        at = begin + _FIRST_NS
        for place, op in enumerate(step):
            correlation = len(ops) + 1
            at += op.after
            call = {"name": "cudaLaunchKernel", "start_ns": begin + 100 * place, "duration_ns": 60}
            calls.append(call | {"thread": 1, "correlation": correlation})
            ops.append(_row(op, at, correlation))
            at += op.duration
        wait = begin + 100 * len(step)
        calls.append({"name": "cudaDeviceSynchronize", "start_ns": wait, "thread": 1})
        calls[-1] |= {"duration_ns": at - wait}
        ranges.append({"name": mark, "start_ns": begin, "duration_ns": at + 500 - begin})
        ranges[-1]["thread"] = 1
    filled = {"gpu_ops": ops, "api_calls": calls, "ranges": ranges if mark else []}
    return {name: rows(name, filled.get(name, [])) for name in evidence.SCHEMAS}


def _row(op: Op, start: int, correlation: int) -> dict[str, object]:
    row: dict[str, object] = {"kind": op.kind, "name": op.name, "start_ns": start}
    row |= {"duration_ns": op.duration, "stream": op.stream, "device": 0, "bytes": op.bytes}
    grid = op.grid if op.kind == "kernel" else None
    return row | {"grid": grid, "block": grid and "64,1,1", "correlation": correlation}


def rows(table: str, records: Sequence[dict[str, object]]) -> pl.DataFrame:
    """Return rows of ``table``; what they do not give is null."""
    names = evidence.SCHEMAS[table]
    return frame(table, {name: [row.get(name) for row in records] for name in names})
