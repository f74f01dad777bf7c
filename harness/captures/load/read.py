"""A recording of load as tables: requests, their tokens and pauses, and the engine's steps."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import msgspec

from harness.captures.formats.compressed import blocks
from harness.evidence.tables import Tables, frame
from harness.ground.errors import CaptureError

_MOST_BYTES = 1 << 30
"""Of the file's content: 10⁶ requests of 100 tokens make 1.3 GB, and no host drives as many."""

Ns = Annotated[int, msgspec.Meta(ge=0, lt=1 << 53)]
"""From the start: 104 days, and whole in the numbers of any JSON."""
Count = Annotated[int, msgspec.Meta(ge=0, lt=1 << 40)]
Us = Annotated[float, msgspec.Meta(ge=0, le=1e12)]
Pause = tuple[Ns, Ns | None]


class _Run(msgspec.Struct):
    version: int
    end_ns: Ns
    what: str = ""
    ttft_slo_ns: Ns | None = None
    itl_slo_ns: Ns | None = None
    kv_blocks: Count | None = None


class _Requests(msgspec.Struct):
    due_ns: list[Ns]
    admitted_ns: list[Ns | None]
    ended_ns: list[Ns | None]
    prompt_tokens: list[Count]
    warm_up: list[bool]
    tokens_ns: list[list[Ns]]
    preempted_ns: list[list[Pause]]


class _Steps(msgspec.Struct):
    start_ns: list[Ns]
    duration_ns: list[Ns]
    kind: list[str | None]
    requests: list[Count | None]
    tokens: list[Count | None]
    kv_blocks: list[Count | None]
    host_us: list[Us | None]
    plan_us: list[Us | None] | None = None


class _File(msgspec.Struct):
    load: _Run
    requests: _Requests
    steps: _Steps


def read(path: Path) -> Tables:
    """Return the tables of a recording.

    Raises CaptureError for what is none, is of another version, or contradicts itself: columns of
    different lengths, a request with a token before it was due, after it ended, or out of order.
    """
    data = bytearray()
    for block in blocks(path, 1 << 20):
        data += block
        if len(data) > _MOST_BYTES:
            raise CaptureError(f"a recording of more than {_MOST_BYTES >> 20} MB", where=path)
    try:
        content = msgspec.json.decode(data, type=_File)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise CaptureError(f"not a recording of load: {error}", where=path) from error
    if content.load.version != 1:
        what = f"a recording of load of version {content.load.version}; version 1 is read"
        raise CaptureError(what, where=path)
    for mistake in _mistakes(content):
        raise CaptureError(mistake, where=path)
    return _tables(content)


def _mistakes(content: _File) -> Iterator[str]:
    """Yield what contradicts itself."""
    for part in (content.requests, content.steps):
        told = ((name, getattr(part, name)) for name in part.__struct_fields__)
        lengths = {name: len(column) for name, column in told if column is not None}
        if len(set(lengths.values())) > 1:
            counts = ", ".join(f"{name} {length:,}" for name, length in lengths.items())
            yield f"columns of different lengths: {counts}"
            return
    rows = content.requests
    columns = (rows.due_ns, rows.admitted_ns, rows.tokens_ns, rows.ended_ns, rows.preempted_ns)
    for place, (due, admitted, tokens, ended, pauses) in enumerate(zip(*columns, strict=True)):
        known = [due, *([] if admitted is None else [admitted]), *tokens]
        known += [] if ended is None else [ended]
        spans = [time for pause in pauses for time in pause if time is not None]
        if any(after < before for times in (known, spans) for before, after in pairwise(times)):
            yield f"request {place}: due, admitted, tokens, ended are not in the order of time"
        if max([*spans, *known[1:]], default=0) > content.load.end_ns:
            yield f"request {place}: goes on after the end of the recording"
        if any(time < due for time in spans):
            yield f"request {place}: preempted before it was due"


def _tables(content: _File) -> Tables:
    rows, steps, run = content.requests, content.steps, content.load
    places = range(len(rows.due_ns))
    pauses = [(place, *pause) for place in places for pause in rows.preempted_ns[place]]
    requests: dict[str, Any] = {
        "request": places,
        "due_ns": rows.due_ns,
        "admitted_ns": rows.admitted_ns,
        "first_ns": [times[0] if times else None for times in rows.tokens_ns],
        "ended_ns": rows.ended_ns,
        "prompt_tokens": rows.prompt_tokens,
        "output_tokens": [len(times) for times in rows.tokens_ns],
        "mark": ["warm-up" if warm else "" for warm in rows.warm_up],
    }
    nothing = [None] * len(steps.start_ns)
    columns: dict[str, Any] = {name: getattr(steps, name) for name in steps.__struct_fields__}
    for part in ("host", "plan"):
        times = columns.pop(f"{part}_us") or nothing
        columns[f"{part}_ns"] = [None if time is None else round(time * 1e3) for time in times]
    told = {name: [getattr(run, name)] for name in run.__struct_fields__ if name != "version"}
    return {
        "load_runs": frame("load_runs", told),
        "load_requests": frame("load_requests", requests),
        "load_tokens": frame(
            "load_tokens",
            {
                "request": [place for place in places for _ in rows.tokens_ns[place]],
                "time_ns": [time for times in rows.tokens_ns for time in times],
            },
        ),
        "load_pauses": frame(
            "load_pauses",
            {
                name: [pause[at] for pause in pauses]
                for at, name in enumerate(("request", "start_ns", "end_ns"))
            },
        ),
        "load_steps": frame("load_steps", columns),
    }
