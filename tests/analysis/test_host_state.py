"""What the host did while a device was idle, against a count of every nanosecond."""

from collections import Counter

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from harness.analysis.idle import host_state
from tests.support.timelines import rows

OPS = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 60), st.integers(0, 12), st.integers(1, 8)),
    max_size=10,
)
"""Device, start, duration and correlation of each operation."""
CALLS = st.lists(
    st.tuples(st.integers(1, 2), st.integers(0, 4), st.integers(0, 9), st.booleans()), max_size=8
)
"""Thread, time since the last call's end, duration, and whether a second call lies inside it."""
WAITS = st.lists(st.tuples(st.integers(1, 2), st.integers(0, 60), st.integers(0, 20)), max_size=4)
"""Thread, start and duration of waits in the operating system."""


def operations(ops: list[tuple[int, int, int, int]]) -> pl.DataFrame:
    return rows(
        "gpu_ops",
        [
            {"kind": "kernel", "name": f"k{at}", "device": device, "start_ns": start}
            | {"duration_ns": duration, "correlation": correlation}
            for at, (device, start, duration, correlation) in enumerate(ops)
        ],
    )


def host_calls(calls: list[tuple[int, int, int, bool]]) -> list[dict[str, object]]:
    """Return calls one after another on each thread; their correlation ids count from 1."""
    clock: Counter[int] = Counter()
    found: list[dict[str, object]] = []
    for number, (thread, pause, duration, nested) in enumerate(calls, start=1):
        begin = clock[thread] + pause
        clock[thread] = begin + duration
        call = {"name": f"call{number % 3}", "start_ns": begin, "duration_ns": duration}
        found.append(call | {"thread": thread, "correlation": number})
        if nested and duration > 2:
            inner = {"name": "inner", "start_ns": begin + 1, "duration_ns": duration - 2}
            found.append(inner | {"thread": thread, "correlation": None})
    return found


def expected(
    ops: list[tuple[int, int, int, int]],
    calls: list[dict[str, object]],
    waits: list[tuple[int, int, int]],
) -> Counter[tuple[int, str, str | None]]:
    """Return the idle ns by device, state and call, each counted by itself."""
    time: Counter[tuple[int, str, str | None]] = Counter()
    by_number = {call["correlation"]: call for call in calls if call["correlation"]}
    outer = [call for call in calls if call["correlation"]]
    for device in {op[0] for op in ops}:
        mine = sorted((s, s + d, at, c) for at, (dev, s, d, c) in enumerate(ops) if dev == device)
        busy = {at for start, end, *_ in mine for at in range(start, end)}
        for now in range(mine[0][0], max(end for _, end, *_ in mine)):
            if now in busy:
                continue
            # Of several that start together, any ends the gap: the test leaves such cases out.
            number = min((start, end, c) for start, end, _, c in mine if start > now)[2]
            launch = by_number.get(number)
            if launch is None:
                time[device, host_state.UNKNOWN, None] += 1
                continue
            begin, lasts = (int(str(launch[key])) for key in ("start_ns", "duration_ns"))
            if now >= begin + lasts:
                time[device, host_state.LAUNCHED, None] += 1
                continue
            inside = [
                str(call["name"])
                for call in outer
                if call["thread"] == launch["thread"]
                and 0 <= now - int(str(call["start_ns"])) < int(str(call["duration_ns"]))
            ]
            waiting = any(
                thread == launch["thread"] and 0 <= now - start < lasted
                for thread, start, lasted in waits
            )
            outside = host_state.WAITING if waiting else host_state.OUTSIDE
            state = host_state.IN_CALL if inside else outside
            time[device, state, inside[0] if inside else None] += 1
    return time


@given(OPS, CALLS, WAITS)
def test_each_idle_nanosecond_has_the_state_of_the_thread_that_launches_next(
    ops: list[tuple[int, int, int, int]],
    made: list[tuple[int, int, int, bool]],
    waited: list[tuple[int, int, int]],
) -> None:
    starts = [(device, start) for device, start, *_ in ops]
    ops = [op for op in ops if starts.count(op[:2]) == 1]
    calls = host_calls(made)
    gpu_ops, api_calls = operations(ops), rows("api_calls", calls)
    pieces = host_state.idle_pieces(gpu_ops, api_calls)
    names = ("thread", "start_ns", "duration_ns")
    waits = rows("waits", [dict(zip(names, each, strict=True)) for each in waited])
    table = host_state.idle_table(pieces, waits)
    found = {(row[0], row[1], row[2]): row[4] for row in table.iter_rows()}
    assert found == dict(expected(ops, calls, waited))
    idle = host_state.idle_gaps(gpu_ops).select(pl.col("end_ns") - pl.col("start_ns")).sum().item()
    assert (pieces["end_ns"] - pieces["start_ns"]).sum() == idle
    in_calls = sum(ns for (_, state, _), ns in found.items() if state == host_state.IN_CALL)
    assert host_state.call_table(api_calls, table)["idle_ns"].sum() == in_calls


@given(OPS, CALLS)
def test_time_in_the_queue_runs_from_the_call_to_the_start(
    ops: list[tuple[int, int, int, int]], made: list[tuple[int, int, int, bool]]
) -> None:
    calls = host_calls(made)
    ends = {
        call["correlation"]: int(str(call["start_ns"])) + int(str(call["duration_ns"]))
        for call in calls
        if call["correlation"]
    }
    queued = host_state.queue_times(operations(ops), rows("api_calls", calls))
    assert dict(queued.select("row", "queued_ns").iter_rows()) == {
        at: max(start - ends[number], 0)
        for at, (_, start, _, number) in enumerate(ops)
        if number in ends
    }


def test_host_code_between_calls_is_measured_whole() -> None:
    gpu_ops = operations([(0, 0, 50, 1), (0, 100, 10, 2)])
    api_calls = rows("api_calls", host_calls([(1, 0, 5, False), (1, 85, 5, False)]))
    pieces = host_state.idle_pieces(gpu_ops, api_calls)
    assert pieces.select("start_ns", "end_ns", "state", "between_ns").rows() == [
        (50, 90, host_state.OUTSIDE, 85),
        (90, 95, host_state.IN_CALL, None),
        (95, 100, host_state.LAUNCHED, None),
    ]


def test_pages_of_managed_memory_move_by_no_call() -> None:
    """The first operation was launched, then one was not recorded, and one moves pages."""
    moved = {"kind": "copy", "name": "[CUDA memcpy Unified Device-to-Host]", "device": 0}
    gpu_ops = pl.concat(
        [
            operations([(0, 0, 10, 1), (0, 30, 10, 9)]),
            rows("gpu_ops", [moved | {"start_ns": 60, "duration_ns": 5}]),
        ]
    )
    api_calls = rows("api_calls", host_calls([(1, 0, 5, False)]))
    pieces = host_state.idle_pieces(gpu_ops, api_calls)
    assert pieces.select("start_ns", "end_ns", "state").rows() == [
        (10, 30, host_state.UNKNOWN),
        (40, 60, host_state.PAGES),
    ]
