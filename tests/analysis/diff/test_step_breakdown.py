"""Where a step's time goes, by hand and against a count of every nanosecond."""

from collections.abc import Sequence
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.analysis.diff import step_breakdown
from harness.analysis.diff.step_breakdown import StepTimes
from harness.evidence.tables import Tables
from tests.support.timelines import STEP_NS, Op, rows, timeline

Interval = tuple[int, int]
Call = tuple[str, int, int]

LAUNCH, SYNC = "cudaLaunchKernel", "cudaStreamSynchronize_v3020"


def capture(
    ops: Sequence[tuple[int, int, int | None]],
    calls: Sequence[tuple[str, int, int, int | None]],
    ranges: Sequence[tuple[str, int, int | None]],
) -> Tables:
    """Make tables of (start, length, correlation), (name, start, length, correlation), ranges."""

    def table(which: str, columns: tuple[str, ...], records: Any, **same: object) -> pl.DataFrame:
        return rows(which, [dict(zip(columns, values, strict=True)) | same for values in records])

    timed = ("start_ns", "duration_ns")
    return {
        "gpu_ops": table("gpu_ops", (*timed, "correlation"), ops, kind="kernel", name="k"),
        "api_calls": table("api_calls", ("name", *timed, "correlation"), calls, thread=1),
        "ranges": table("ranges", ("name", *timed), ranges, thread=1),
        "autograd_threads": table("autograd_threads", (), []),
    }


def test_a_step_by_hand() -> None:
    # 0 … 10 in a launch, 10 … 20 none; two streams 20 … 60 and 40 … 70; none 70 … 75, another call
    # 75 … 80, waiting 80 … 90; an operation 90 … 95; waiting until the range ends at 110.
    tables = capture(
        [(20, 40, 1), (40, 30, 2), (90, 5, 3)],
        [
            *[(LAUNCH, 0, 5, 1), (LAUNCH, 5, 5, 2), ("cudaEventRecord", 75, 5, None)],
            *[(SYNC, 80, 25, None), (LAUNCH, 22, 3, 3)],
        ],
        [("step:a", 0, 110)],
    )
    assert step_breakdown.steps(tables).steps == (
        StepTimes(110, 20, (10 + 5 + 5, 10 + 5, 10 + 10)),
    )


def test_a_call_inside_a_synchronising_one_is_waiting() -> None:
    tables = capture(
        [(50, 10, 1)],
        [(LAUNCH, 0, 10, 1), ("cuCtxSynchronize", 20, 20, None), ("cuEventQuery", 25, 5, None)],
        [("step:a", 0, 60)],
    )
    assert step_breakdown.steps(tables).steps == (StepTimes(60, 0, (20, 10, 20)),)


def test_what_a_thread_does_that_launches_nothing_holds_nothing_up() -> None:
    tables = capture(
        [(50, 10, 1)],
        [(LAUNCH, 0, 10, 1), (SYNC, 70, 10, None)],
        [("step:a", 0, 100)],
    )
    waits = {"name": SYNC, "start_ns": 0, "duration_ns": 100, "thread": 99}
    loader = rows("api_calls", [waits])
    with_loader = tables | {"api_calls": pl.concat([tables["api_calls"], loader])}
    assert step_breakdown.steps(with_loader).steps == step_breakdown.steps(tables).steps


def test_operations_that_end_after_the_range_belong_to_the_step_that_launched_them() -> None:
    tables = capture(
        [(100, 300, 1), (1000, 10, 2)],
        [(LAUNCH, 10, 10, 1), (LAUNCH, 610, 10, 2)],
        [("step:a", 0, 50), ("step:a", 600, 50)],
    )
    breakdown = step_breakdown.steps(tables)
    assert [step.length_ns for step in breakdown.steps] == [400, 410]
    assert breakdown.ops["step"].to_list() == [0, 1]


def test_steps_that_run_into_each_other_are_one() -> None:
    tables = capture(
        [(100, 700, 1), (800, 100, 2)],
        [(LAUNCH, 10, 10, 1), (LAUNCH, 610, 10, 2)],
        [("step:a", 0, 50), ("step:a", 600, 50)],
    )
    breakdown = step_breakdown.steps(tables)
    assert [step.length_ns for step in breakdown.steps] == [900]
    assert breakdown.ops["step"].to_list() == [0, 0]


def test_a_step_without_gpu_work_is_all_gap() -> None:
    tables = capture(
        [(100, 10, 1)], [(LAUNCH, 10, 10, 1)], [("step:a", 0, 200), ("step:a", 300, 70)]
    )
    assert step_breakdown.steps(tables).steps[1] == StepTimes(70, 0, (70, 0, 0))


def test_a_capture_without_steps_is_one_from_its_first_operation_to_the_end_of_its_last() -> None:
    tables = capture([(100, 10, None), (105, 45, None)], [], [("load", 0, 90)])
    breakdown = step_breakdown.steps(tables)
    assert (breakdown.step.ranges, breakdown.steps) == ("", (StepTimes(50, 5, (0, 0, 0)),))


def test_an_empty_capture_has_no_steps() -> None:
    assert step_breakdown.steps(capture([], [], [("step:a", 0, 100)])).steps == ()


@pytest.mark.parametrize(
    ("names", "asked", "expected"),
    [
        (["step:a", "step:a"], None, ("step:a", 2)),
        (["ProfilerStep#3", "ProfilerStep#4"], None, ("ProfilerStep", 2)),
        (["ProfilerStep#12"], None, ("ProfilerStep", 1)),
        (["step:a", "step:b"], None, ("", 1)),  # which of them is meant is not known
        (["mine", "mine"], None, ("", 1)),
        (["mine", "step:a"], "mine", ("mine", 1)),
        (["mine", "mine"], "mine", ("mine", 2)),
        (["my step: a", "optimizer.step"], None, ("", 1)),
    ],
)
def test_which_ranges_are_steps(
    names: list[str], asked: str | None, expected: tuple[str, int]
) -> None:
    spans = [(name, 1000 * number, 500) for number, name in enumerate(names)]
    tables = capture(
        [(start + 20, 10, number) for number, (_, start, _) in enumerate(spans)],
        [(LAUNCH, start + 1, 2, number) for number, (_, start, _) in enumerate(spans)],
        spans,
    )
    breakdown = step_breakdown.steps(tables, asked)
    assert (breakdown.step.ranges, len(breakdown.steps)) == expected


def test_the_steps_own_range_is_no_path() -> None:
    tables = capture(
        [(100, 10, 1), (200, 10, 2)],
        [(LAUNCH, 10, 5, 1), (LAUNCH, 30, 5, 2)],
        [("step:a", 0, 300), ("mlp", 20, 20)],
    )
    assert step_breakdown.steps(tables).ops["path"].to_list() == [None, "mlp"]


def test_the_last_steps_are_numbered_from_0() -> None:
    tables = timeline([[Op("a", 10 * number), Op("b", 5)] for number in range(1, 5)])
    last = step_breakdown.steps(tables).last(2)
    assert last.ops.select("step", "name", "duration_ns").rows() == [
        *[(0, "a", 30), (0, "b", 5), (1, "a", 40), (1, "b", 5)]
    ]
    assert last.steps == step_breakdown.steps(tables).steps[2:]
    assert last.step.ranges == "step:made"


intervals = st.tuples(st.integers(0, 120), st.integers(0, 40))
one_step = st.tuples(
    st.lists(intervals, max_size=6),
    st.lists(st.tuples(st.sampled_from([SYNC, "cudaMemcpyAsync", LAUNCH]), intervals), max_size=6),
    st.integers(1, 150),
)


def counted(ops: list[Interval], calls: list[Call], length: int) -> tuple[int, ...]:
    """Return length, overlap and gaps of a step from 0 on, nanosecond by nanosecond."""
    end = max([length, *(start + long for start, long in ops)])
    overlap, gaps = 0, [0, 0, 0]
    for now in range(end):
        running = sum(start <= now < start + long for start, long in ops)
        inside = [name for name, start, long in calls if start <= now < start + long]
        overlap += max(0, running - 1)
        if not running:
            gaps[2 if SYNC in inside else 1 if inside else 0] += 1
    return (end, overlap, *gaps)


@given(st.lists(one_step, min_size=1, max_size=3))
def test_every_nanosecond_of_a_step_is_in_one_part(
    given_steps: list[tuple[list[Interval], list[tuple[str, Interval]], int]],
) -> None:
    ops: list[tuple[int, int, int | None]] = []
    calls: list[tuple[str, int, int, int | None]] = []
    ranges, expected = [], []
    for number, (mine, others, length) in enumerate(given_steps):
        begin = 1000 * number
        ranges.append(("step:a", begin, length))
        host_calls = [(name, *span) for name, span in others] + [(LAUNCH, 0, 1) for _ in mine]
        expected.append(counted(mine, host_calls, length))
        for start, long in mine:
            calls.append((LAUNCH, begin, 1, len(ops)))
            ops.append((begin + start, long, len(ops)))
        calls += [(name, begin + start, long, None) for name, (start, long) in others]
    if not ops:
        return
    breakdown = step_breakdown.steps(capture(ops, calls, ranges))
    assert [
        (part.length_ns, part.overlap_ns, *part.gaps_ns) for part in breakdown.steps
    ] == expected
    for number, step in enumerate(breakdown.steps):
        durations = breakdown.ops.filter(pl.col("step") == number)["duration_ns"].sum()
        assert step.length_ns == durations - step.overlap_ns + sum(step.gaps_ns)


def test_what_is_not_timed_is_left_out() -> None:
    tables = timeline([[Op("a", 10), Op("b", 20)]])
    tables["gpu_ops"] = tables["gpu_ops"].with_columns(
        pl.when(pl.col("name") == "a").then(None).otherwise("duration_ns").alias("duration_ns")
    )
    breakdown = step_breakdown.steps(tables)
    assert breakdown.ops["name"].to_list() == ["b"]
    assert breakdown.steps[0].length_ns < STEP_NS
