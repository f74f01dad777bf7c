"""Whether B is too slow, on captures of an H200: equal programs, and what was planted in one."""

import itertools
from dataclasses import replace
from functools import cache
from statistics import fmean

import polars as pl
import pytest

from harness.analysis.diff import compare, gate
from harness.analysis.diff.cells import CellDiff, Condition
from harness.analysis.diff.gate import Judged
from harness.evidence.capture import Capture
from harness.evidence.subject import Subject
from harness.extract import door
from tests.support.paths import DATA
from tests.support.timelines import Op, timeline

SAME = ("same_1", "same_2", "same_3", "same_4")
KINDS = ("sqlite.zst", "json.gz")
STEP = [Op("gemm", 9_000), Op("softmax", 4_000)]


@cache
def subject(name: str) -> Subject:
    known = door.opened(str(DATA / name))
    assert isinstance(known, Subject)
    return known


def differ(a: str, b: str) -> CellDiff:
    return compare.compare(subject(a), subject(b))


def judged(a: str, b: str, most: float = 1.05) -> Judged:
    result = gate.judged(differ(a, b), most)
    assert result is not None
    return result


def made(a: int, b: int, mark: str) -> Judged:
    """Judge timelines of ``a`` and ``b`` steps."""
    subjects = [
        Subject("made", {"torch": Capture("made", timeline([STEP] * steps, mark), {}, "torch")})
        for steps in (a, b)
    ]
    result = gate.judged(compare.compare(subjects[0], subjects[1]), 1.05)
    assert result is not None
    return result


@pytest.mark.parametrize("kind", KINDS)
def test_processes_of_one_program_do_not_fail(kind: str) -> None:
    """They pass only with the whole interval, also where the ratio is below what is allowed."""
    found = [
        judged(f"differences/{a}.{kind}", f"differences/{b}.{kind}")
        for a, b in itertools.product(SAME, repeat=2)
    ]
    assert {each.outcome for each in found} == {"passed", "undecided"}
    assert any(each.outcome == "undecided" and each.factor == 1 for each in found)
    for each in found:
        assert each.low is not None
        assert each.high is not None
        assert (each.outcome == "passed") == (each.high <= 1.05)
        assert ("within the spread of steps" in each.why) == (0 < each.low <= 1.05 < each.high)


@pytest.mark.parametrize("a", SAME)
def test_a_step_that_is_clearly_slower_fails_and_the_other_way_round_passes(a: str) -> None:
    names = f"differences/{a}.sqlite.zst", "differences/pageable.sqlite.zst"
    slower, faster = judged(*names), judged(names[1], names[0])
    assert (slower.outcome, faster.outcome) == ("failed", "passed")
    lengths = []
    for name in names:
        ranges = subject(name).captures["nsys"].tables["ranges"].sort("start_ns").tail(11)
        lengths.append(ranges["duration_ns"].to_list())
    gpu = differ(*names).gpu
    assert gpu
    assert gpu.each_step == tuple(lengths)
    assert slower.factor
    assert slower.low
    assert slower.high
    assert slower.factor == pytest.approx(fmean(lengths[1]) / fmean(lengths[0]))
    assert 1.05 < slower.low < slower.factor < slower.high
    for most, outcome in ((slower.low * 0.99, "failed"), (slower.low * 1.01, "undecided")):
        assert judged(*names, most).outcome == outcome
    assert judged(*names, slower.high).outcome == "passed"


@pytest.mark.parametrize(("most", "outcome"), [(1.05, "failed"), (1.07, "passed")])
def test_kernels_under_nsight_compute_have_no_spread(most: float, outcome: str) -> None:
    names = [f"differences/{name}.ncu-rep.zst" for name in ("same_1", "longer")]
    found = judged(names[0], names[1], most)
    counted = [subject(name).captures["ncu"].tables["counters"] for name in names]
    a, b = (
        sum(rows.filter(pl.col("metric").cast(pl.String) == "gpu__time_duration.sum")["value"])
        for rows in counted
    )
    assert (found.time, found.outcome, found.low) == ("the profiled kernels", outcome, None)
    assert found.factor == pytest.approx(b / a)
    assert "no spread is known" in found.why


def test_kernels_at_other_clocks_or_launched_otherwise_are_not_judged() -> None:
    diff = differ("differences/same_1.ncu-rep.zst", "differences/longer.ncu-rep.zst")
    clocks = replace(diff, differing=(Condition("ncu", "clock control", "base", "none"),))
    fewer = replace(diff, counters=(*diff.counters[1:], replace(diff.counters[0], launches=(3, 4))))
    for changed, why in ((clocks, "clock control: base in A, none in B"), (fewer, "A holds 9 ")):
        found = gate.judged(changed, 1.05)
        assert found is not None
        assert (found.outcome, found.factor, found.why[: len(why)]) == ("undecided", None, why)


def test_what_is_not_alike_is_not_judged() -> None:
    graphs = judged("nsys/graph_level.sqlite.zst", "nsys/graph_node.sqlite.zst", 9.0)
    assert (graphs.outcome, graphs.factor) == ("undecided", None)
    assert "CUDA graphs as a whole" in graphs.why
    other = judged("differences/same_1.sqlite.zst", "nsys/streams.sqlite.zst", 99.0)
    assert (other.outcome, other.time) == ("undecided", "the capture")
    assert "perhaps of more steps" in other.why


def test_captures_without_marks_may_hold_other_amounts_of_work() -> None:
    assert made(3, 3, "").outcome == "passed"
    assert made(3, 6, "").why.startswith("A holds 6 kernels, B 12, perhaps of more steps")
    assert made(3, 6, "step:made").why == "A holds 3 steps, B 6."


def test_memory_has_no_time_and_no_gpu_work_is_said() -> None:
    memory = differ("differences/held.pickle", "differences/leaked.pickle")
    assert gate.judged(memory, 1.05) is None
    refused = gate.judged(replace(memory, refused=("torch: no GPU work in the second",)), 1.05)
    assert refused == Judged("time", "undecided", "torch: no GPU work in the second")
