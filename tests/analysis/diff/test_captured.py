"""What was really planted between two captures of one workload on an H200 is what is named.

The captures are made by tests/data/make_differences.py, each by a process of its own.
"""

import itertools
from dataclasses import dataclass
from functools import cache

import polars as pl
import pytest

from harness.analysis.diff import compare
from harness.analysis.diff.cells import CellDiff
from harness.analysis.diff.counters import KernelCounters, slowest
from harness.analysis.diff.gpu import DiffRow, GpuDiff
from harness.evidence.subject import Subject
from harness.evidence.tables import Tables
from harness.extract import door
from tests.support.paths import DATA

DATA = DATA / "differences"
SAME = ("same_1", "same_2", "same_3", "same_4")
EXACT = {"changed", "added", "removed", "split", "merged"}
HOSTS = {"host"}  # two machines with the same GPU made these captures
KINDS = ("sqlite.zst", "json.gz")
STEPS = 11  # of 12, without the first
GEMM, SOFTMAX, HOST = "sm80_xmma_gemm_f32f32", "softmax_warp_forward", "idle while the host"


@dataclass(frozen=True)
class Planted:
    """The one row that has to change, how often its operations run on both sides, and why.

    ``follows`` are rows that may take another time because of it: kernels that share the GPU with
    one of another stream, and the host's, which has events to record or copies the memory itself.
    """

    label: str
    change: str
    launches: tuple[int, int]
    why: str
    follows: tuple[str, ...] = ()


PLANTED = {
    "template": Planted("CUDAFunctor_add", "changed", (STEPS, STEPS), "4 → 2"),
    "added": Planted("tanh_kernel_cuda", "added", (0, STEPS), "1 a step"),
    "doubled": Planted(SOFTMAX, "changed", (STEPS, 2 * STEPS), "launches per step 1 → 2"),
    "streams": Planted(
        "operations at the same time",
        *("changed", (0, 0), "streams 1 → 2", (GEMM, SOFTMAX, HOST)),
    ),
    "pageable": Planted(
        "(Pinned -> Device)",
        *("changed", (STEPS, STEPS), "Pinned → Pageable", (HOST,)),
    ),
    "longer": Planted(SOFTMAX, "changed", (STEPS, STEPS), "grid 1024,1,1 → 2048,1,1"),
}
FROM_SAME = [
    pytest.param(a, b, kind, id=f"{a}-{b}-{kind}")
    for a, b, kind in itertools.product(SAME, PLANTED, KINDS)
]


@cache
def subject(name: str, kind: str) -> Subject:
    known = door.opened(str(DATA / f"{name}.{kind}"))
    assert isinstance(known, Subject)
    return known


def tables(name: str, kind: str) -> Tables:
    (known,) = subject(name, kind).captures.values()
    return known.tables


@cache
def differ(a: str, b: str, kind: str) -> CellDiff:
    return compare.compare(subject(a, kind), subject(b, kind))


def gpu_of(difference: CellDiff) -> GpuDiff:
    assert difference.gpu is not None
    assert difference.gpu.b_ns - difference.gpu.a_ns == sum(
        row.delta_ns for row in difference.gpu.rows
    )
    return difference.gpu


def made_differently(difference: CellDiff) -> set[str]:
    return {condition.what for condition in difference.differing}


def slower_or_faster(a: str, b: str, kind: str) -> set[str]:
    """Return the rows that are said to take another time and nothing else."""
    rows = gpu_of(differ(a, b, kind)).rows
    return {row.label for row in rows if row.change not in ("unchanged", *EXACT)}


@pytest.mark.parametrize("kind", KINDS)
def test_four_processes_of_the_same_workload_differ_in_nothing(kind: str) -> None:
    for a, b in itertools.combinations(SAME, 2):
        difference = differ(a, b, kind)
        assert made_differently(difference) <= HOSTS
        assert [row.label for row in gpu_of(difference).rows if row.change in EXACT] == []


@pytest.mark.parametrize(("a", "b", "kind"), FROM_SAME)
def test_what_was_planted_is_the_one_change(a: str, b: str, kind: str) -> None:
    planted, difference = PLANTED[b], differ(a, b, kind)
    assert made_differently(difference) <= HOSTS
    assert (difference.unlike, difference.refused) == ((), ())
    (row,) = (row for row in gpu_of(difference).rows if row.change in EXACT)
    assert planted.label in row.label
    assert (row.change, row.why[0]) == (planted.change, planted.why)
    assert (row.a.count, row.b.count) == planted.launches
    assert row.difference is not None
    assert row.difference.clear_of(0)
    assert (row.delta_ns > 0) == (b != "streams")  # what overlaps makes the step shorter
    assert row.a.bytes == row.b.bytes == (STEPS << 22 if b == "pageable" else None)


@pytest.mark.parametrize(("a", "b", "kind"), FROM_SAME)
def test_a_planted_change_is_turned_round_with_the_captures(a: str, b: str, kind: str) -> None:
    forward, back = (gpu_of(differ(*pair, kind)) for pair in ((a, b), (b, a)))
    (row,) = (row for row in back.rows if row.change in EXACT)
    assert row.change == ("removed" if b == "added" else "changed")
    assert (row.b.count, row.a.count) == PLANTED[b].launches
    deltas = [sorted(abs(part.delta_ns) for part in gpu.rows) for gpu in (forward, back)]
    assert deltas[0] == deltas[1]
    assert back.b_ns - back.a_ns == forward.a_ns - forward.b_ns


@pytest.mark.parametrize(("a", "b", "kind"), FROM_SAME)
def test_no_other_kernel_takes_another_time(a: str, b: str, kind: str) -> None:
    kernels = {row.label for row in gpu_of(differ(a, b, kind)).rows if row.kind == "kernel"}
    assert len(kernels) == 3 + (b == "added")
    for label in kernels & slower_or_faster(a, b, kind):
        assert any(word in label for word in PLANTED[b].follows), label


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("b", PLANTED)
def test_nothing_else_takes_another_time_than_all_four_processes(b: str, kind: str) -> None:
    """One process has its luck with copies and with the host; against every one, none is left."""
    always = set.intersection(*(slower_or_faster(a, b, kind) for a in SAME))
    for label in always:
        assert any(word in label for word in PLANTED[b].follows), label
    if b == "streams":
        assert any(GEMM in label for label in always)


def each_step(rows: tuple[DiffRow, ...], side: str) -> list[int]:
    return [sum(times) for times in zip(*(getattr(row, side).by_step for row in rows), strict=True)]


@pytest.mark.parametrize(("a", "b", "kind"), FROM_SAME)
def test_parts_sum_to_every_step_of_the_capture(a: str, b: str, kind: str) -> None:
    """A step waits for the GPU, so it is as long as its range; and launches are those recorded."""
    gpu = gpu_of(differ(a, b, kind))
    for name, side, whole in ((a, "a", gpu.a_ns), (b, "b", gpu.b_ns)):
        captured = tables(name, kind)
        ranges = captured["ranges"].sort("start_ns").tail(STEPS)
        assert set(ranges["name"]) == {"step:planted"}
        assert each_step(gpu.rows, side) == ranges["duration_ns"].to_list()
        assert whole == ranges["duration_ns"].sum()
        ops = captured["gpu_ops"].filter(pl.col("start_ns") >= ranges["start_ns"][0])
        times = dict(ops.group_by("name").agg(pl.col("duration_ns").sum()).iter_rows())
        parts = [getattr(row, side) for row in gpu.rows]
        assert {kernel_name: part.total_ns for part in parts for kernel_name in part.names} == times


def counters_of(a: str, b: str) -> dict[str, KernelCounters]:
    difference = differ(a, b, "ncu-rep.zst")
    assert (difference.differing, difference.refused) == ((), ())
    assert all(kernel.a == kernel.b and kernel.launches == (3, 3) for kernel in difference.counters)
    assert len(difference.counters) == 3
    return {kernel.a[0]: kernel for kernel in difference.counters}


def test_counters_of_the_same_workload_differ_in_nothing() -> None:
    kernels = counters_of("same_1", "same_2")
    assert [kernel.metrics for kernel in kernels.values()] == [(), (), ()]
    assert slowest(list(kernels.values()), 9) == []


@pytest.mark.parametrize("name", SAME[:2])
def test_counters_name_the_longer_launch_alone_and_why(name: str) -> None:
    kernels = counters_of(name, "longer")
    (row,) = slowest(list(kernels.values()), 9)
    assert SOFTMAX in row.a[0]
    changes = {change.metric: change for change in row.metrics}
    assert row.metrics[0].metric == "launch__waves_per_multiprocessor"
    for twice in ("launch__waves_per_multiprocessor", "launch__grid_size", "launch__thread_count"):
        assert changes[twice].b == 2 * changes[twice].a
    # The scores are read once, 4 bytes each; DRAM's counters also see what else passes.
    assert changes["dram__bytes_read.sum"].a == pytest.approx(4 * 4096 * 1024, rel=0.01)
    assert changes["dram__bytes_read.sum"].b == pytest.approx(4 * 8192 * 1024, rel=0.01)
    assert "launch__registers_per_thread" not in changes
    assert [kernel.metrics for kernel in kernels.values() if kernel is not row] == [(), ()]


@pytest.mark.parametrize("name", SAME[:2])
def test_times_under_nsight_compute_are_those_of_the_report(name: str) -> None:
    kernels = counters_of(name, "longer")
    for side, capture in enumerate((name, "longer")):
        rows = tables(capture, "ncu-rep.zst")["counters"]
        times = rows.filter(pl.col("metric").cast(pl.String) == "gpu__time_duration.sum")
        by_kernel = dict(times.group_by("name").agg(pl.col("value").sum()).iter_rows())
        assert {kernel: counted.time_ns[side] for kernel, counted in kernels.items()} == by_kernel


def test_what_was_not_freed_is_named_by_its_line() -> None:
    difference = differ("held", "leaked", "pickle").memory
    assert difference is not None
    (grown,) = (site for site in difference.sites if site.delta)
    assert grown.delta == 12 << 22
    assert "make_differences.py" in grown.site
    (pool,) = difference.pools
    assert pool.allocated[1] - pool.allocated[0] == 12 << 22
