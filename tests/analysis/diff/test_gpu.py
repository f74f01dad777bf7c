"""Differences of GPU time: planted ones are found, alone; the rows sum to the whole, always."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.analysis.diff import gpu
from harness.analysis.diff.gpu import DiffRow, GpuDiff
from harness.captures import reading, sniff
from harness.evidence import tables as evidence
from harness.evidence.tables import Tables
from tests.support import reports
from tests.support.paths import ROOT
from tests.support.timelines import Op, timeline

ADD = "void at::native::vectorized_elementwise_kernel<{}, at::native::CUDAFunctor_add<float>>(int)"
GEMM, SOFTMAX = "nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT", "void softmax_warp_forward<float>(float*)"
COPY = "[CUDA memcpy Host-to-Device] ({} -> Device)"
BASE = (
    Op(GEMM, 100_000),
    Op(ADD.format(4), 50_000),
    Op(SOFTMAX, 30_000),
    Op(COPY.format("Pinned"), 20_000, kind="copy", bytes=4 << 20),
)
Change = Callable[[list[Op]], list[Op]]


def steps(change: Change = lambda step: step, count: int = 6) -> Tables:
    """Return steps of BASE that vary by a few ns, after a change."""
    changed_steps = []
    for number in range(count):
        varied = [replace(op, duration=op.duration + 7 * (number * 5 % 4)) for op in BASE]
        changed_steps.append(change(varied))
    return timeline(changed_steps)


def total(rows: Sequence[DiffRow]) -> int:
    return sum(row.delta_ns for row in rows)


def changed(difference: GpuDiff) -> list[DiffRow]:
    assert total(difference.rows) == difference.b_ns - difference.a_ns
    return [row for row in difference.rows if row.change != "unchanged"]


def operations(difference: GpuDiff) -> list[DiffRow]:
    return [row for row in difference.rows if row.kind in ("kernel", "copy")]


def at(place: int, **other: object) -> Change:
    """Return what changes the operation at ``place`` of every step."""
    return lambda step: [
        replace(op, **other) if number == place else op  # type: ignore[arg-type]
        for number, op in enumerate(step)
    ]


def scaled(place: int, factor: float) -> Change:
    return lambda step: [
        replace(op, duration=round(op.duration * factor)) if number == place else op
        for number, op in enumerate(step)
    ]


PLANTED: dict[str, tuple[Change, str, str, str]] = {
    "added": (lambda step: [*step, Op("tanh", 9_000)], "tanh", "added", "1 a step"),
    "removed": (lambda step: [step[0], *step[2:]], ADD.format(4), "removed", "1 a step"),
    "template": (at(1, name=ADD.format(2)), ADD.format(4), "changed", "4 → 2"),
    "tile": (
        at(0, name=GEMM.replace("64x8", "128x8")),
        *(GEMM, "changed", "64x8 → 128x8"),
    ),
    "doubled": (
        lambda step: [*step[:3], step[2], step[3]],
        *(SOFTMAX, "changed", "launches per step 1 → 2"),
    ),
    "pageable": (
        at(3, name=COPY.format("Pageable")),
        *(COPY.format("Pinned"), "changed", "Pinned → Pageable"),
    ),
    "more bytes": (at(3, bytes=8 << 20), COPY.format("Pinned"), "changed", "bytes per step"),
    "grid": (at(2, grid="16,1,1"), SOFTMAX, "changed", "grid 8,1,1 → 16,1,1"),
    "slower": (scaled(2, 1.2), SOFTMAX, "slower here", "each 1.20× as long"),
    "faster": (scaled(0, 0.5), GEMM, "faster here", "each 0.50× as long"),
    "split": (
        lambda step: [step[0], Op("first", 20_000), Op("second", 20_000), *step[2:]],
        *(ADD.format(4), "split", "1 kernel → 2"),
    ),
    "merged": (
        lambda step: [step[0], Op("one", 60_000), step[3]],
        *(ADD.format(4), "merged", "2 kernels → 1"),
    ),
    "replaced": (at(2, name="my_own"), SOFTMAX, "changed", "another kernel in its place"),
}


@pytest.mark.parametrize(("change", "label", "expected", "why"), PLANTED.values(), ids=PLANTED)
def test_what_was_planted_is_the_one_row_that_changed(
    change: Change, label: str, expected: str, why: str
) -> None:
    difference = gpu.compare(steps(), steps(change))
    (row,) = changed(difference)
    assert (row.label, row.change) == (label, expected)
    assert why in "; ".join(row.why)
    assert all(other.delta_ns == 0 for other in operations(difference) if other is not row)


def test_the_time_of_what_was_planted_is_its_own() -> None:
    difference = gpu.compare(steps(), steps(lambda step: [*step, Op("tanh", 9_000, after=0)]))
    (row,) = changed(difference)
    assert row.delta_ns == difference.b_ns - difference.a_ns == difference.steps * 9_000
    assert row.difference is not None
    assert row.difference.value == 9_000


def test_one_stream_made_two_is_an_overlap_and_no_other_kernel() -> None:
    alone, beside = steps(), steps(at(1, stream=13, after=-40_000))
    difference = gpu.compare(alone, beside)
    (row,) = changed(difference)
    assert (row.kind, row.why) == ("overlap", ("streams 1 → 2",))
    assert row.delta_ns == -40_000 * difference.steps
    assert all(other.delta_ns == 0 for other in operations(difference))


@pytest.mark.parametrize("count", [1, 2, 3, 4, 12])
def test_a_capture_against_itself(count: int) -> None:
    capture_of_both = steps(count=count)
    difference = gpu.compare(capture_of_both, capture_of_both)
    assert changed(difference) == []
    assert {row.delta_ns for row in difference.rows} == {0}
    assert difference.steps == (count if count <= 3 else count - 1)
    assert difference.ranges == ("step:made", "step:made")
    assert difference.a_ns == difference.b_ns > 0


def test_the_last_steps_of_both_are_compared_where_one_has_more() -> None:
    difference = gpu.compare(steps(count=12), steps(count=5))
    assert difference.steps == 4
    assert all(row.a.count == row.b.count == 4 for row in operations(difference))


def test_one_step_without_repeated_launches_is_not_judged() -> None:
    difference = gpu.compare(steps(count=1), steps(scaled(2, 1.5), count=1))
    assert [(row.label, row.change) for row in changed(difference)] == [(SOFTMAX, "not judged")]


@pytest.mark.parametrize("count", [1, 2])
def test_too_few_steps_are_judged_by_their_launches(count: int) -> None:
    def capture(duration: int) -> Tables:
        many = [Op("k", duration + 10 * (place % 3)) for place in range(20)]
        return timeline([[*many, Op("once", 5_000)] for _ in range(count)])

    difference = gpu.compare(capture(10_000), capture(12_000))
    (row,) = changed(difference)
    assert (row.label, row.change) == ("k", "slower here")
    assert row.difference is not None
    assert row.difference.value == pytest.approx(20 * 2_000)  # of a step, not of a launch
    assert changed(gpu.compare(capture(10_000), capture(10_000))) == []


op = st.builds(
    Op,
    st.sampled_from(["a", "b_1", "b_2", "gemm_64x64", "gemm_32x32", GEMM, COPY]),
    st.integers(0, 3000),
    st.sampled_from(["kernel", "copy", "memset", "graph"]),
    st.integers(1, 3),
    st.integers(-2000, 3000),
    st.sampled_from(["8,1,1", "4,1,1", None]),
    st.none() | st.integers(0, 9999),
)
captures = st.builds(
    timeline,
    st.lists(st.lists(op, max_size=5), min_size=1, max_size=5).filter(any),
    st.sampled_from(["step:made", ""]),
)


@settings(max_examples=40)  # each makes and compares two captures
@given(captures, captures)
def test_rows_sum_to_the_whole_of_any_two_captures(a: Tables, b: Tables) -> None:
    difference = gpu.compare(a, b)
    assert total(difference.rows) == difference.b_ns - difference.a_ns
    assert sum(row.a.total_ns for row in difference.rows) == difference.a_ns
    for row in difference.rows:
        for side in (row.a, row.b):
            assert sum(side.by_step) == side.total_ns


def real() -> dict[str, Tables]:
    """Return every timeline of the repository that can be read without a GPU."""
    known: dict[str, Tables] = {}
    data = ROOT / "tests" / "data"
    for path in [*data.glob("nsys/*.sqlite.zst"), *data.glob("torch/*.json.gz")]:
        with sniff.opened(path) as plain:
            read = reading.read(sniff.recognised(path)[0], plain).tables
        known[path.name] = {name: read.get(name, evidence.empty(name)) for name in evidence.SCHEMAS}
    for report in (reports.KEPT, *reports.COMMITTED):
        tables = evidence.load(report / "evidence")
        kinds = pl.col("capture").is_in(["nsys", "torch"]) & (pl.col("status") == "ok")
        for cell in tables["cells"].filter(kinds)["cell"].unique().sort():
            tables_of_cell = {
                name: rows.filter(pl.col("cell") == cell) for name, rows in tables.items()
            }
            known[f"{report.parent.name}/{cell}"] = tables_of_cell
    return known


@pytest.mark.slow
def test_rows_sum_to_the_whole_of_all_real_captures_and_none_differs_from_itself() -> None:
    known = real()
    assert len(known) > 20
    files = [name for name in known if "/" not in name]
    assert len(files) > 6
    pairs = [
        *itertools.combinations_with_replacement(files, 2),
        *itertools.pairwise([name for name in known if name not in files][::2]),
    ]
    for a, b in pairs:
        difference = gpu.compare(known[a], known[b])
        assert total(difference.rows) == difference.b_ns - difference.a_ns, (a, b)
        if a == b:
            assert changed(difference) == [], a
            assert {row.delta_ns for row in difference.rows} <= {0}, a
