"""Findings say where idle time lies, and what the host did in the longest gap of its kind."""

import pytest

from harness.analysis.diagnose import conclude
from harness.analysis.diagnose.finding import Finding
from harness.evidence.capture import Capture
from harness.extract import door
from harness.report.finding_text import EVIDENCE_SHOWN
from tests.support import programs
from tests.support.paths import DATA
from tests.support.programs import MS, US, Program
from tests.support.timelines import rows

TURNS = 40
ORDINARY = ("norm", "gemm", "add")


def first_of(capture: Capture) -> Finding:
    return conclude.diagnose([capture]).findings[0]


def told(finding: Finding) -> list[str]:
    """Return the evidence that is printed."""
    return [each.metric for each in finding.evidence[:EVIDENCE_SHOWN]]


def ordinary(program: Program) -> None:
    for _ in range(TURNS):
        for name in ORDINARY:
            program.launch(100 * US, name)


@pytest.mark.parametrize("known", [False, True])
def test_a_slow_launch_is_named_with_its_kernel(
    known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = Program()
    if known:
        program.launch(100 * US, "sort")
    ordinary(program)
    program.synchronise()
    with monkeypatch.context() as slow:
        slow.setattr(programs, "LAUNCH", 1_500 * MS)
        program.launch(100 * US, "sort")
    ordinary(program)
    finding = first_of(program.capture())
    line = "longest gap of one time (cudaLaunchKernel 1,500.0 ms), before sort"
    first = "" if known else ", a first launch, which loads the kernel's code"
    assert finding.id == "abstain"
    assert line + first in told(finding)
    (value,) = (each.value for each in finding.evidence if each.metric == line + first)
    assert value == pytest.approx(1_500, rel=0.01)


def test_a_wait_in_the_operating_system_is_named() -> None:
    program = Program()
    ordinary(program)
    program.work(program.ends - program.now)
    program.wait("getc", 4_000 * MS)
    program.work(600 * MS)
    program.launch(100 * US, "sort")
    ordinary(program)
    finding = first_of(program.capture())
    assert finding.id == "abstain"
    assert "longest gap of one time (getc 4,000.0 ms, host code 600.0 ms), before sort" in told(
        finding
    )


@pytest.mark.parametrize("one", [True, False])
def test_the_kernel_that_most_idle_time_lies_before_is_named_with_its_operator(one: bool) -> None:
    program = Program()
    for _ in range(TURNS):
        for name in ORDINARY:
            program.work(900 * US if name == "norm" or not one else 1 * US)
            program.launch(60 * US, name)
    capture = program.capture()
    capture.tables["origins"] = rows(
        "origins",
        [
            {"correlation": number, "operator": "Torch-Compiled Region: 0/0"}
            for number in capture.tables["gpu_ops"]["correlation"]
        ],
    )
    finding = first_of(capture)
    assert finding.id == "host-bound"
    before = [each for each in told(finding) if " before " in each]
    # The first kernel ends no gap.
    line = f"of it in {TURNS - 1} gaps before norm, in Torch-Compiled Region: 0/0"
    assert before == ([line] if one else [])
    assert (
        any(each.endswith("gaps, in Torch-Compiled Region: 0/0") for each in told(finding)) != one
    )


def test_the_range_that_holds_most_idle_time_is_named_and_a_step_is_none() -> None:
    gaps = TURNS * len(ORDINARY) - 1
    for name, named in (("tokenise", True), ("ProfilerStep#1", False)):
        program = Program()
        for turn in range(TURNS * len(ORDINARY)):
            with program.marked(name):
                program.work(900 * US)
            program.launch(60 * US, ORDINARY[turn % len(ORDINARY)])
        places = [each for each in told(first_of(program.capture())) if "tokenise" in each]
        assert places == ([f"of it in {gaps} gaps, in tokenise"] if named else [])


@pytest.mark.parametrize(
    ("name", "place", "least_ms", "most_ms", "fix"),
    [  # what the sum of the waiting functions' durations in the file says, less the profiler's part
        ("wait_queue", "in 5 gaps in cost.py:86 step(), in queue.py get()", 14, 16, "work ahead"),
        ("wait_read", "in 5 gaps in cost.py:86 step(), in read()", 0.3, 0.6, "read ahead"),
        ("wait_lock", "in 3 gaps in cost.py:86 step(), in acquire()", 4, 6, "its lock"),
    ],
)
def test_host_code_is_named_by_the_programs_line(
    name: str, place: str, least_ms: float, most_ms: float, fix: str
) -> None:
    captures = door.capture(DATA / "torch" / f"{name}.json.gz").captures.values()
    first = conclude.diagnose([*captures]).findings[0]
    assert first.id == "host-bound"
    (value,) = (each.value for each in first.evidence if each.metric == f"of it {place}")
    assert least_ms < value < most_ms
    assert fix in first.fix[0]
