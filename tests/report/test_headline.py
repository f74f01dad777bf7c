"""The one sentence of a difference: planted changes are named, from hand-made and real captures."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace

import polars as pl
import pytest

from harness.analysis.diff import compare, gpu
from harness.analysis.diff.gpu import GpuDiff
from harness.evidence.subject import Subject
from harness.evidence.tables import Tables
from harness.extract import door
from harness.report import difference
from harness.report.headline import headline
from tests.support.paths import DATA
from tests.support.timelines import Op, timeline

COPY = "[CUDA memcpy Host-to-Device] ({} -> Device)"
BASE = (
    Op("gemm", 100_000),
    Op("add", 50_000),
    Op("softmax", 30_000),
    Op(COPY.format("Pinned"), 20_000, kind="copy", bytes=4 << 20),
)


def steps(change: Callable[[list[Op]], list[Op]] = list, count: int = 6) -> Tables:
    """Return steps of BASE, each a few ns apart, after a change."""
    varied = [
        [replace(op, duration=op.duration + 7 * (at % 4)) for op in BASE] for at in range(count)
    ]
    return timeline([change(step) for step in varied])


def at(place: int, **other: object) -> Callable[[list[Op]], list[Op]]:
    return lambda step: [
        replace(op, **other) if number == place else op  # type: ignore[arg-type]  # fields of Op
        for number, op in enumerate(step)
    ]


PLANTED: dict[str, tuple[Callable[[list[Op]], list[Op]], str]] = {
    "slower": (at(1, duration=150_000), "kernel add became 3× slower (50 → 150 µs)"),
    "faster": (at(0, duration=25_000), "kernel gemm became 4× faster (100 → 25 µs)"),
    "idle": (
        at(2, after=80_100),
        "the host waits for the GPU, mostly cudaDeviceSynchronize, grew by 80 µs",
    ),
    "pageable": (
        at(3, name=COPY.format("Pageable"), duration=60_000),
        "copies from pageable memory replaced those from pinned memory (20 → 60 µs)",
    ),
    "pinned": (
        at(3, name=COPY.format("Array"), duration=60_000),
        "copying Array -> Device took the place of copying Pinned -> Device",
    ),
    "twice": (
        lambda step: [*step[:3], step[2], step[3]],
        "kernel softmax runs 2 times a step instead of once and takes 2× as long",
    ),
    "new": (lambda step: [*step, Op("tanh", 40_000)], "kernel tanh is new, once a step, +40 µs"),
    "gone": (lambda step: [step[0], *step[2:]], "kernel add is gone, once a step"),
    "many": (
        lambda step: [*step, *(Op(f"tiny_{letter}", 9_000) for letter in "abcdef")],
        "6 kernels are new (6 launches per step), +54 µs",
    ),
    "all slower": (
        lambda step: [replace(op, duration=op.duration * 3 // 2) for op in step],
        "4 kernels and copies became slower, together 1.5× as long (200 → 300 µs)",
    ),
}


@pytest.mark.parametrize(("change", "expected"), PLANTED.values(), ids=PLANTED)
def test_what_was_planted_is_named_with_its_times(
    change: Callable[[list[Op]], list[Op]], expected: str
) -> None:
    sentence = headline(gpu.compare(steps(), steps(change)))
    assert expected in sentence
    assert sentence.count(". ") == 0


def test_nothing_planted_names_nothing() -> None:
    same = headline(gpu.compare(steps(), steps()))
    assert same.startswith("A step takes as long in B as in A")
    assert same.endswith("no part of it is known to have changed.")


def test_pageable_copies_are_the_cause_of_the_idle_time_that_they_bring() -> None:
    def change(step: list[Op]) -> list[Op]:
        return at(3, name=COPY.format("Pageable"), duration=26_000, after=150_000)(step)

    assert "copies from pageable memory" in headline(gpu.compare(steps(), steps(change)))


def test_other_copies_are_no_cause_of_idle_time() -> None:
    def change(step: list[Op]) -> list[Op]:
        more = {"bytes": 8 << 20, "duration": 26_000, "after": 150_000}
        return at(3, name=COPY.format("Pageable"), **more)(step)

    assert "idle time" in headline(gpu.compare(steps(), steps(change)))


def test_launches_that_take_much_longer_are_no_measure_of_the_work() -> None:
    a = timeline([[Op("k", 1_000), Op("j", 500)] * 8], mark="")
    b = timeline([[Op("k", 90_000), Op("j", 45_000)] * 4], mark="")
    assert headline(gpu.compare(a, b)).startswith("The capture takes ")


def test_captures_without_steps_are_compared_for_the_same_work() -> None:
    """B repeats the same launches half as often, and idles between them."""
    a = timeline([[Op("k", 10_000), Op("j", 5_000)] * 8], mark="")
    b = timeline([[Op("k", 10_000), Op("j", 5_000, after=15_100)] * 4], mark="")
    sentence = headline(gpu.compare(a, b))
    assert sentence.startswith("B does 0.5× the work of A in 0.993× the time")
    assert "idle time" in sentence


def on(tables: Tables, device: int) -> Tables:
    """Return a capture's GPU operations as another device's, launched by another thread."""
    ops = tables["gpu_ops"].with_columns(
        device=pl.lit(device, pl.Int64), correlation=pl.col("correlation") + 1000 * device
    )
    calls = tables["api_calls"].with_columns(
        thread=pl.col("thread") + device, correlation=pl.col("correlation") + 1000 * device
    )
    ranges = tables["ranges"].with_columns(thread=pl.col("thread") + device)
    return tables | {"gpu_ops": ops, "api_calls": calls, "ranges": ranges}


def together(captures: Sequence[Tables]) -> Tables:
    return {name: pl.concat([tables[name] for tables in captures]) for name in captures[0]}


def test_work_on_two_gpus_side_by_side_is_no_overlap_and_their_rows_sum() -> None:
    plain = timeline([[Op("k", 10_000), Op("j", 5_000)] * 4], mark="")
    slow = timeline([[Op("k", 10_000), Op("j", 9_000)] * 4], mark="")
    a = together([on(plain, 0), on(plain, 1)])
    b = together([on(plain, 0), on(slow, 1)])
    difference = gpu.compare(a, b)
    assert difference.gpus == (2, 2)
    assert [row for row in difference.rows if row.kind == "overlap"] == []
    assert sum(row.delta_ns for row in difference.rows) == difference.b_ns - difference.a_ns
    devices: dict[str, GpuDiff] = dict(difference.devices)
    assert list(devices) == ["0", "1"]
    for side in ("a_ns", "b_ns"):
        whole = sum(getattr(device, side) for device in devices.values())
        assert whole == getattr(difference, side)
    slower = {row.label: row.delta_ns for row in devices["1"].rows}
    assert slower["j"] == 4 * 4_000
    waits = [row.delta_ns for row in devices["0"].rows if row.kind == "gap"]
    assert sum(waits) == 4 * 4_000  # GPU 0 has nothing to do while GPU 1 takes longer
    assert devices["0"].busy_ns[0] == devices["0"].busy_ns[1] == 4 * 15_000


SAME = ("same_1", "same_2", "same_3", "same_4")
REAL = {
    "template": "<CUDAFunctor_add> became",
    "added": "<tanh_kernel_cuda> is new",
    "doubled": "kernel softmax_warp_forward runs 2 times a step instead of once",
    "streams": "operations on 1 → 2 streams overlap by",
    "pageable": "copies from pageable memory replaced those from pinned memory",
    "longer": "kernel softmax_warp_forward became 1.7",
}


@pytest.mark.parametrize("kind", ["sqlite.zst", "json.gz"])
@pytest.mark.parametrize(("name", "expected"), REAL.items())
def test_planted_changes_of_real_captures_are_named(name: str, expected: str, kind: str) -> None:
    planted = opened(f"{name}.{kind}")
    for same in SAME:
        sentence = headline(gpu.compare(opened(f"{same}.{kind}"), planted))
        assert expected in sentence, same


@pytest.mark.parametrize("kind", ["sqlite.zst", "json.gz"])
def test_real_processes_of_one_program_have_no_new_kernel_or_copy(kind: str) -> None:
    for a, b in itertools.combinations(SAME, 2):
        sentence = headline(gpu.compare(opened(f"{a}.{kind}"), opened(f"{b}.{kind}")))
        for word in ("is new", "is gone", "took the place", "pageable", "a step instead"):
            assert word not in sentence, (a, b)


def opened(name: str) -> Tables:
    known = door.opened(str(DATA / "differences" / name))
    assert isinstance(known, Subject)
    (capture,) = known.captures.values()
    return capture.tables


def test_other_programs_are_said_first_and_a_kernel_launched_otherwise_is_not_called_faster() -> (
    None
):
    names = ("mi300x_step", "wait_lock")
    a, b = (door.capture(DATA / "torch" / f"{name}.json.gz") for name in names)
    change = compare.compare(a, b)
    assert change.gpu is not None
    assert difference.headline(change) == (
        "A and B may be different programs: a step takes 10.2 ms in A, 1.47 ms in B."
    )
    assert difference.compared(change.gpu) == (
        "Compared: 3 × ProfilerStep# of A, 3 of 6 × ProfilerStep# of B; as many of each side."
    )
    assert ", 3 times a step, took the place of " in headline(change.gpu)
    assert ", 24 times a step, together 0.113× as long (9.06 → 1.02 ms)" in headline(change.gpu)


def test_a_whole_capture_is_not_compared_with_a_step() -> None:
    names = ("streams", "wait_lock")
    a, b = (door.capture(DATA / "torch" / f"{name}.json.gz") for name in names)
    change = compare.compare(a, b)
    assert (change.gpu, change.gpu_kind, difference.headline(change)) == (None, None, "")
    (why,) = change.refused
    assert why.startswith("torch: A is a whole capture, B has steps (ProfilerStep); name a range")
    assert "torch: B is a whole capture, A" in compare.compare(b, a).refused[0]


@pytest.mark.parametrize("ranges", [None, "ProfilerStep"])
def test_steps_left_out_are_told_with_the_reason_and_a_range_s_name_changes_nothing(
    ranges: str | None,
) -> None:
    capture = door.capture(DATA / "torch" / "wait_lock.json.gz")
    change = compare.compare(capture, capture, ranges)
    assert "(1568 → 1568 µs)" in difference.headline(change)
    assert change.gpu is not None
    assert difference.compared(change.gpu) == (
        "Compared: 5 of 6 × ProfilerStep#; the first is warm-up."
    )
