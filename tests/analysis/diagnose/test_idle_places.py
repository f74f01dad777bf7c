"""Findings say where idle time lies, and what the host did in the longest gap of its kind."""

from pathlib import Path

import pytest

from harness.analysis import derived
from harness.analysis.diagnose import conclude
from harness.analysis.diagnose.finding import Finding
from harness.evidence.capture import Capture
from harness.extract import door
from harness.report.finding_text import printed
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
    return [each.metric for each in printed(finding)]


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


@pytest.mark.parametrize(
    ("scopes", "named"),  # of a turn's three launches, which wait alike
    [
        (
            ("Net_0 / Block_{0} / Attention_{0}",) * 2 + ("Net_0 / Block_{0} / MLP_{0}",),
            "Attention",
        ),
        (
            ("Net_0 / Block_{0} / Norm_0", "Net_0 / Block_{0} / MLP_{0}", "Net_0 / Block_{0}"),
            "Block",
        ),
        (("encode", "encode / Net_0 / Block_{0}", "prefill"), "encode"),
        (("encode", "prefill", "decode"), None),
        (("Net_0",) * 3, None),
    ],
)
def test_the_innermost_modules_that_hold_half_of_idle_time_are_named(
    scopes: tuple[str, ...], named: str | None
) -> None:
    program = Program()
    for _ in range(TURNS):
        for name in ORDINARY:
            program.work(900 * US)
            program.launch(60 * US, name)
    capture = program.capture()
    capture.tables["origins"] = rows(
        "origins",
        [
            {
                "correlation": number,
                "operator": f"aten::{name}",
                "scope": scopes[ORDINARY.index(name)].format(at),
            }
            for at, (number, name) in enumerate(
                capture.tables["gpu_ops"].select("correlation", "name").rows()
            )
        ],
    )
    found = [each for each in told(first_of(capture)) if "gaps, in" in each]
    assert [each.rpartition("in ")[2] for each in found] == ([named] if named else [])


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
    first = first_in(DATA / "torch" / f"{name}.json.gz")
    assert first.id == "host-bound"
    check(first, f"of it {place}", least_ms, most_ms, fix)


@pytest.mark.parametrize(("kept", "least", "most"), [(1e9, 90, 100), (1, 0, 0)])
def test_the_named_part_of_host_code_is_measured(kept: float, least: int, most: int) -> None:
    (capture,) = door.capture(DATA / "torch" / "wait_queue.json.gz").captures.values()
    frames = capture.tables["frames"].head(int(kept))
    part = derived.named_host_code({**capture.tables, "frames": frames})
    assert part is not None
    assert least <= part <= most
    assert derived.named_host_code({**capture.tables, "frames": frames.head(0)}) is None


def first_in(file: Path) -> Finding:
    (capture,) = door.capture(file).captures.values()
    return first_of(capture)


def check(first: Finding, metric: str, least_ms: float, most_ms: float, fix: str) -> None:
    (value,) = (each.value for each in first.evidence if each.metric == metric)
    assert least_ms < value < most_ms
    assert fix in first.fix[0]


SPAN = ("name", "start_ns", "duration_ns", "thread")
_Waits = list[tuple[str, int, int, int]]
"""In each step: names, the µs from its launch to the wait, its µs, and its thread."""


def waiting(waits: _Waits) -> Finding:
    """Return the first finding on steps of a launch, 3 ms of host code and 1 ms in a call."""
    program, waited = Program(), []
    for turn in range(10):
        program.launch(60 * US, ORDINARY[turn % len(ORDINARY)])
        for name, at, lasts, thread in waits:
            span = (name, program.now + at * US, lasts * US, thread)
            waited.append(dict(zip(SPAN, span, strict=True)))
        program.work(3000 * US)
        program.call("cudaFuncGetAttributes", 1000 * US)
    made = program.capture()
    tables = {**made.tables, "waits": rows("waits", waited)}
    return conclude.diagnose([Capture("made", tables, {}, "nsys")]).findings[0]


@pytest.mark.parametrize(
    ("waits", "place", "fix"),
    [
        pytest.param(
            [("clock_nanosleep", 0, 3000, 1)], "clock_nanosleep()", "take the sleep", id="sleep"
        ),
        pytest.param(
            [("pthread_mutex_lock", 100, 2500, 1)], "pthread_mutex_lock()", "lock", id="lock"
        ),
        pytest.param(
            [("fopen64", 0, 2900, 1), ("open64", 100, 2500, 1)],
            "fopen64()",
            "read ahead",
            id="a call within a call counts once, to the outer",
        ),
        pytest.param([("clock_nanosleep", 0, 3000, 2)], None, "host's code", id="another thread's"),
        pytest.param(
            [("pthread_mutex_lock", 3000, 1000, 1)],
            None,
            "host's code",
            id="the driver's, in a CUDA call",
        ),
        pytest.param([("clock_nanosleep", 0, 1400, 1)], None, "host's code", id="less than half"),
    ],
)
def test_host_code_is_named_by_its_call_into_the_system(
    waits: _Waits, place: str | None, fix: str
) -> None:
    first = waiting(waits)
    assert first.id == "host-bound"
    named = [each.metric for each in first.evidence if each.metric.endswith("()")]
    assert [each.rpartition(" ")[2] for each in named] == ([place] if place else [])
    assert fix in first.fix[0]


@pytest.mark.parametrize(
    ("others", "least_ms"),
    [
        ([("clock_nanosleep", 0, 2950, 2)], 2.95),
        ([("clock_nanosleep", 1500, 2000, 2)], None),  # goes on
        ([("clock_nanosleep", 0, 1000, 2)], None),  # ended long before
        ([("clock_nanosleep", 2900, 50, 2)], None),  # a part of the time only
        ([("clock_nanosleep", 0, 2950, 2), ("clock_nanosleep", 0, 2990, 3)], 2.99),  # counts once
    ],
)
def test_what_another_thread_does_until_a_wait_ends_is_told(
    others: _Waits, least_ms: float | None
) -> None:
    first = waiting([("sem_wait", 0, 3000, 1), *others])
    assert first.id == "data-starved"
    values = [
        each.value
        for each in first.evidence
        if each.metric == "of it until another thread's clock_nanosleep ends"
    ]
    if least_ms is None:
        assert not values
    else:
        assert 7 * least_ms < values[0] <= 10.01 * least_ms


@pytest.mark.parametrize(
    ("name", "place", "least_ms", "most_ms", "fix"),
    [  # what the sums of the calls in OSRT_API say, of 20 µs and more in the steps
        ("wait_read", "in read, of threads that launch", 8, 11.7, "read ahead"),
        ("wait_lock", "of it until another thread's clock_nanosleep ends", 11, 11.6, "its lock"),
    ],
)
def test_a_wait_in_the_system_is_named(
    name: str, place: str, least_ms: float, most_ms: float, fix: str
) -> None:
    first = first_in(DATA / "nsys/waits" / f"{name}.sqlite.zst")
    assert first.id == "data-starved"
    check(first, place, least_ms, most_ms, fix)


def test_products_in_fp32_are_told_beside_a_finding_that_stands_first() -> None:
    """The file's GPU is in cutlass_80_simt_sgemm for 6.1 of the 6.9 ms of its steps."""
    found = {}
    for name in ("wait_read", "streams", "memset_overlap"):
        captures = door.capture(DATA / "torch" / f"{name}.json.gz").captures.values()
        diagnosis = conclude.diagnose([*captures])
        found[name] = diagnosis.findings[0].id, len(diagnosis.notes)
    assert found == {
        "wait_read": ("host-bound", 1),
        "streams": ("pageable-copy", 0),
        "memset_overlap": ("healthy", 0),  # which says it itself
    }
