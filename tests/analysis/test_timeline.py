"""Timelines against truths made another way: by hand, nanosecond by nanosecond, by nsys stats."""

import csv
import sqlite3
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import zstandard
from hypothesis import example, given
from hypothesis import strategies as st

from harness.analysis import timeline
from harness.evidence.tables import Tables, empty, frame
from tests.support.paths import DATA

NSYS = DATA / "nsys"

intervals = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 12)), max_size=25)


def gpu_ops(*rows: Any, **columns: Any) -> Any:
    """Make operations of (start, duration): kernels of one name unless columns say otherwise."""
    given_columns = {
        "kind": ["kernel"] * len(rows),
        "name": ["k"] * len(rows),
        "start_ns": [start for start, _ in rows],
        "duration_ns": [duration for _, duration in rows],
        "device": [0] * len(rows),
    }
    return frame("gpu_ops", given_columns | columns)


def running(rows: Any) -> Any:
    """Return how many operations run in each nanosecond, from the first start to the last end."""
    first = min(start for start, _ in rows)
    counts = [0] * (max(start + duration for start, duration in rows) - first)
    for start, duration in rows:
        for moment in range(start - first, start - first + duration):
            counts[moment] += 1
    return counts


@given(intervals.filter(bool))
def test_activity_counts_each_nanosecond_once(rows: Any) -> None:
    counts = running(rows)
    found = timeline.activity(gpu_ops(*rows))
    assert found.span_ns == len(counts)
    assert found.busy_ns == sum(count >= 1 for count in counts)
    assert found.idle_ns == sum(count == 0 for count in counts)
    assert found.overlap_ns == sum(count >= 2 for count in counts)


@given(intervals.filter(bool))
@example([(10 * step, step) for step in range(1, 9)])
def test_gaps_are_the_longest_runs_of_idle_nanoseconds(rows: Any) -> None:
    text = "".join("x" if count else " " for count in running(rows))
    # An empty operation inside an idle time parts it without making it any less idle.
    marks = {start - min(start for start, _ in rows) for start, duration in rows if not duration}
    text = "".join(("|" if at in marks else "") + moment for at, moment in enumerate(text))
    runs = sorted((len(run) for run in text.replace("|", "x").split("x") if run), reverse=True)
    found = timeline.activity(gpu_ops(*rows)).gaps
    assert [gap.duration_ns for gap in found] == runs[: timeline.GAPS_KEPT]


def test_a_gap_names_what_ended_last_before_it_and_what_came_next() -> None:
    ops = gpu_ops((0, 50), (10, 5), (80, 5), name=["long", "short", "next"])
    assert timeline.activity(ops).gaps == (timeline.Gap(50, 30, "long", "next"),)


def test_devices_are_apart_and_together() -> None:
    found = timeline.activity(gpu_ops((0, 10), (5, 10), (40, 10), device=[0, 1, 1]))
    assert (found.span_ns, found.busy_ns, found.overlap_ns) == (50, 25, 0)
    assert {number: part.busy_ns for number, part in found.devices.items()} == {0: 10, 1: 20}
    assert found.devices[1].idle_ns == 25
    assert found.devices[1].overlap_ns == 0


def test_no_gpu_work_is_not_measured_rather_than_zero() -> None:
    none = timeline.activity(empty("gpu_ops"))
    assert (none.span_ns, none.busy_ns, none.idle_ns, none.overlap_ns) == (None,) * 4
    assert timeline.kernel_table(empty("gpu_ops")).is_empty()
    assert timeline.copy_table(empty("gpu_ops")).is_empty()
    assert timeline.range_table(empty("ranges")).is_empty()


def test_kernel_table_by_hand() -> None:
    ops = gpu_ops(
        *[(0, 10), (20, 15), (40, 30), (80, 45), (99, 100), (99, 7)],
        kind=["kernel"] * 4 + ["graph", "memset"],
        name=["a", "a", "a", "b", "graph 1", "m"],
        grid=["8x1x1", "8x1x1", "9x1x1", "1x1x1", None, None],
        block=["64x1x1"] * 4 + [None, None],
        registers=[16, 16, 16, 40, None, None],
    )
    rows = timeline.kernel_table(ops).to_dicts()
    assert [row["name"] for row in rows] == ["graph 1", "a", "b"]
    assert rows[1] == {
        "name": "a",
        "count": 3,
        "total_ns": 55,
        "median_ns": 15.0,
        "min_ns": 10,
        "max_ns": 30,
        "share": 55 / 200,
        "grid": "8x1x1",
        "block": "64x1x1",
        "registers": 16,
        "shapes": 2,
    }
    assert (rows[0]["grid"], rows[0]["registers"]) == (None, None)


def test_an_even_number_of_launches_has_its_median_between_two() -> None:
    assert timeline.kernel_table(gpu_ops((0, 3), (5, 4)))["median_ns"].to_list() == [3.5]


def test_copies_by_direction_and_unknown_sizes_stay_unknown() -> None:
    ops = gpu_ops(
        *[(0, 4), (9, 6), (20, 1), (30, 2)],
        kind=["copy", "copy", "memset", "kernel"],
        copy_kind=["HtoD", "HtoD", None, None],
        bytes=[100, 200, None, None],
    )
    columns = ("copy_kind", "memory", "count", "bytes", "total_ns", "alone_ns")
    assert timeline.copy_table(ops).select(columns).rows() == [
        ("HtoD", "unknown", 2, 300, 10, 10),
        ("memset", None, 1, None, 1, None),
    ]


def test_ranges_that_never_ended_are_counted_but_not_timed() -> None:
    ranges = frame("ranges", {"name": ["a", "a", "a", "b"], "duration_ns": [4, None, 5, None]})
    assert timeline.range_table(ranges).rows() == [("a", 3, 9, 4.5, 1), ("b", 1, None, None, 1)]


def host(calls: Any, ranges: Any, autograd: Any = ()) -> Any:
    """Return the tables of what the host did; ``autograd``: pairs of a thread and one it serves."""
    pairs = {"thread": [of for of, _ in autograd], "serves": [serves for _, serves in autograd]}
    return {
        "api_calls": frame("api_calls", calls),
        "ranges": frame("ranges", ranges),
        "autograd_threads": frame("autograd_threads", pairs),
    }


def two_steps() -> tuple[pl.DataFrame, Tables]:
    """Two steps on thread 1 whose kernels run after both; thread 2 launches meanwhile."""
    ranges = {
        "name": ["step", "step", "other", "step"],
        "start_ns": [100, 200, 100, 300],
        "duration_ns": [50, 50, 500, None],
        "thread": [1, 1, 1, 1],
    }
    calls = {
        "name": [
            *("cudaLaunchKernel", "cuLaunchKernelEx", "cudaGraphLaunch", "cudaLaunchKernelExC"),
            *("cuGraphLaunch", "cudaLaunchKernel", "cudaLaunchKernel", "cudaLaunchKernel"),
        ],
        "start_ns": [110, 149, 200, 249, 201, 120, 150, 310],
        "duration_ns": [5] * 8,
        "thread": [1, 1, 1, 1, 1, 2, 1, 1],
        "correlation": [11, 12, 21, 22, 21, 90, 91, 92],
    }
    ops = gpu_ops(
        *[(1000, 10), (1005, 10), (1020, 5), (1020, 5), (1030, 7), (1040, 1), (1050, 1), (1060, 1)],
        kind=["kernel", "copy", "kernel", "kernel", "kernel", "kernel", "kernel", "kernel"],
        correlation=[11, 12, 21, 21, 22, 90, 91, 92],
        graph_node=[None, None, 1, 2, None, None, None, None],
    )
    return ops, host(calls, ranges)


def test_gpu_work_belongs_to_the_step_that_launched_it() -> None:
    found = timeline.gpu_ops_in_ranges(*two_steps(), "step")
    assert list(zip(found["correlation"], found["step"], strict=True)) == [
        *[(11, 0), (12, 0), (21, 1), (21, 1), (22, 1)]
    ]
    assert found.columns == [*two_steps()[0].columns, "step"]


def test_step_activity_by_hand() -> None:
    rows = timeline.step_activity(*two_steps(), "step").rows(named=True)
    assert rows == [
        {"step": 0, "host_ns": 50, "kernels": 1, "graphs": 0, "busy_ns": 15},
        {"step": 1, "host_ns": 50, "kernels": 3, "graphs": 0, "busy_ns": 12},
    ]


def test_a_step_without_gpu_work_is_a_step() -> None:
    _, made = two_steps()
    rows = timeline.step_activity(empty("gpu_ops"), made, "step")
    assert rows["busy_ns"].to_list() == [0, 0]
    assert timeline.step_activity(empty("gpu_ops"), made, "absent").is_empty()


def backward(thread: int = 1, other: int = 1, other_calls: Any = ()) -> tuple[Any, Any]:
    """Return ops and calls: thread 1 launches at 10 and 80, autograd's thread 9 at 30 to 50.

    ``thread``, ``other``: threads of ranges at 0 to 100 and 100 to 200; ``other_calls``: start,
    duration and thread of further calls.
    """
    made = [(10, 5, 1), (30, 5, 9), (40, 5, 9), (50, 5, 9), (80, 5, 1), *other_calls]
    calls = {
        "start_ns": [start for start, _, _ in made],
        "duration_ns": [duration for _, duration, _ in made],
        "thread": [of for _, _, of in made],
        "correlation": list(range(len(made))),
    }
    ranges = {"name": ["step"] * 2, "start_ns": [0, 100], "duration_ns": [100, 100]}
    pairs = [(9, each) for each in sorted({thread, other})]
    ops = gpu_ops(*[(1000 + at, 1) for at in range(len(made))], correlation=list(range(len(made))))
    return ops, host(calls, ranges | {"thread": [thread, other]}, pairs)


def test_what_autograd_launches_while_a_step_waits_is_the_step_s() -> None:
    ops, made = backward(other_calls=[(130, 5, 9), (250, 5, 9), (60, 5, 8)])
    found = timeline.gpu_ops_in_ranges(ops, made, "step")
    of_step = list(zip(found["correlation"], found["step"], strict=True))
    assert of_step == [(0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (5, 1)]  # not 8's, none at 250
    assert timeline.step_activity(ops, made, "step")["kernels"].to_list() == [5, 1]


def test_threads_that_are_not_autograd_s_launch_for_themselves() -> None:
    """Two workers in steps of their own, side by side, each of which launches while both do."""
    calls = {
        "start_ns": [10, 20, 30, 40, 50],
        "duration_ns": [5] * 5,
        "thread": [1, 2, 1, 2, 3],
        "correlation": list(range(5)),
    }
    ranges = {"name": ["step"] * 2, "start_ns": [0, 5], "duration_ns": [100, 100]}
    made = host(calls, ranges | {"thread": [1, 2]}, [(9, 1), (9, 2)])
    ops = gpu_ops(*[(1000, 1)] * 5, correlation=list(range(5)))
    found = timeline.gpu_ops_in_ranges(ops, made, "step")
    assert dict(zip(found["correlation"], found["step"], strict=True)) == {0: 0, 1: 1, 2: 0, 3: 1}
    assert timeline.doubtful_steps(made, "step") == ()


def test_whose_backward_it_is_stays_open_while_two_steps_wait() -> None:
    ops, made = backward(other=2)
    made["ranges"] = made["ranges"].with_columns(pl.lit(0, pl.Int64).alias("start_ns"))
    assert timeline.doubtful_steps(made, "step") == (0, 1)
    assert timeline.gpu_ops_in_ranges(ops, made, "step")["correlation"].to_list() == [0, 4]
    assert timeline.step_activity(ops, made, "step")["kernels"].to_list() == [None, None]


def test_a_step_that_calls_cuda_does_not_wait_for_its_backward() -> None:
    """Another thread's backward pass runs while this step launches and reads."""
    ops, made = backward(other_calls=[(38, 20, 1), (39, 1, 1)])
    assert timeline.doubtful_steps(made, "step") == (0,)
    found = timeline.gpu_ops_in_ranges(ops, made, "step")
    assert found["correlation"].to_list() == [0, 4, 5, 6]


def test_nested_ranges_of_one_name_are_one_step_and_adjacent_ones_are_two() -> None:
    ranges = frame(
        "ranges",
        {
            "name": ["s"] * 4,
            "start_ns": [0, 10, 50, 5],
            "duration_ns": [50, 20, 10, 10],
            "thread": [1, 1, 1, 2],
        },
    )
    assert timeline.steps(ranges, "s").rows() == [(0, 1, 0, 50), (1, 2, 5, 15), (2, 1, 50, 60)]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 60), st.integers(0, 9)), max_size=20))
def test_busy_time_of_each_step_is_its_union(launches: Any) -> None:
    ranges = {"name": ["s"] * 4, "start_ns": [0, 10, 20, 30], "duration_ns": [5] * 4}
    calls = {
        "start_ns": [step * 10 + 2 for step, _, _ in launches],
        "thread": [0] * len(launches),
        "correlation": list(range(len(launches))),
    }
    ops = gpu_ops(
        *[(start, duration) for _, start, duration in launches],
        correlation=list(range(len(launches))),
    )
    found = timeline.step_activity(ops, host(calls, ranges | {"thread": [0] * 4}), "s")
    moments: list[set[int]] = [set() for _ in range(4)]
    for step, start, duration in launches:
        moments[step].update(range(start, start + duration))
    assert found["busy_ns"].to_list() == [len(each) for each in moments]


def kernels_of_export(name: str, folder: Path) -> Any:
    """Read a real export's kernels with plain SQL."""
    database = folder / name
    packed = (NSYS / f"{name}.sqlite.zst").read_bytes()
    database.write_bytes(zstandard.decompress(packed, max_output_size=1 << 24))
    query = """
        SELECT value, start, end - start FROM CUPTI_ACTIVITY_KIND_KERNEL
        JOIN StringIds ON id = demangledName
    """
    connection = sqlite3.connect(database)
    try:
        rows = connection.execute(query).fetchall()
    finally:
        connection.close()
    return gpu_ops(*[row[1:] for row in rows], name=[row[0] for row in rows])


@pytest.mark.parametrize("name", ["streams", "graph_node", "graph_level", "memset_overlap"])
def test_kernel_table_is_that_of_nsys_stats(name: str, tmp_path: Path) -> None:
    found = timeline.kernel_table(kernels_of_export(name, tmp_path))
    numbers = ["Total Time (ns)", "Med (ns)", "Min (ns)", "Max (ns)", "Instances", "Time (%)"]
    with (NSYS / f"{name}_cuda_gpu_kern_sum.csv").open(newline="") as file:
        truth = {
            row["Name"]: tuple(float(row[number]) for number in numbers)
            for row in csv.DictReader(file)
        }
    percent = pl.col("share").mul(100).round(1)
    columns = found.select("name", "total_ns", "median_ns", "min_ns", "max_ns", "count", percent)
    assert {row[0]: row[1:] for row in columns.rows()} == truth
