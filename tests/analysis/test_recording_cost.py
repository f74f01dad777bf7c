"""The profiler's part of idle time: known where the step was timed without one, else estimated."""

import pytest

from harness.analysis.diagnose import conclude
from harness.analysis.diagnose.finding import Diagnosis
from harness.analysis.idle import recording_cost
from harness.evidence.capture import Capture
from harness.evidence.tables import SCHEMAS, empty
from tests.support.programs import LAUNCH, MS, US, Program
from tests.support.timelines import rows

STEPS, TURNS = 3, 20
KERNEL, CODE = 60 * US, 200 * US


def recorded() -> Capture:
    """Return three steps of kernels of 60 µs, each launched after 200 µs of host code."""
    program = Program()
    for _ in range(STEPS):
        with program.marked("step:made"):
            for _ in range(TURNS):
                program.work(CODE)
                program.launch(KERNEL)
            program.synchronise("cudaDeviceSynchronize")
    return program.capture()


def timed(ms: float) -> Capture:
    """Return samples of steps that take that long without a profiler, the warm-up ten times."""
    samples = [
        {"metric": "wall_time", "region": "made", "unit": "ms", "value": value, "mark": mark}
        for value, mark in ((10 * ms, "warm-up"), (ms, ""), (ms, ""))
    ]
    tables = {name: empty(name) for name in SCHEMAS} | {"samples": rows("samples", samples)}
    return Capture("made", tables, {}, "timing")


def host_bound(*captures: Capture) -> float:
    """Return the share that host-bound explains, 0 if it is not named."""
    diagnosis: Diagnosis = conclude.diagnose(captures)
    return sum(each.share or 0.0 for each in diagnosis.findings if each.id == "host-bound")


GPU_MS = TURNS * KERNEL / MS
WHOLE_MS = TURNS * (LAUNCH + CODE) / MS


def test_without_an_unprofiled_time_the_host_is_what_the_recording_shows() -> None:
    assert host_bound(recorded()) == pytest.approx(1 - GPU_MS / WHOLE_MS, abs=0.05)


@pytest.mark.parametrize("ms", [WHOLE_MS, 2 * WHOLE_MS])
def test_a_step_that_takes_as_long_unprofiled_is_as_host_bound(ms: float) -> None:
    assert host_bound(recorded(), timed(ms)) == pytest.approx(host_bound(recorded()), abs=0.05)


def test_a_host_that_is_slow_only_while_recorded_is_not_named() -> None:
    assert host_bound(recorded(), timed(GPU_MS * 1.02)) == 0.0
    first = conclude.diagnose([recorded(), timed(GPU_MS * 1.02)]).findings[0]
    assert first.id == "healthy"


def test_what_the_unprofiled_step_still_idles_is_the_hosts() -> None:
    share = host_bound(recorded(), timed(2 * GPU_MS))
    assert share == pytest.approx(0.5, abs=0.05)


def test_the_estimate_is_a_call_and_the_operators_that_stand_by_it() -> None:
    calls = rows("api_calls", [{"name": "cudaLaunchKernel"}] * 10)
    operators = [
        {"name": "aten::mm", "count": 20, "total_ns": 1},
        {"name": "aten::add", "count": 10, "total_ns": 1},
    ]
    tables = {"api_calls": calls, "operators": rows("operators", operators)}
    expected = recording_cost.CALL_NS + 3 * recording_cost.OPERATOR_NS
    assert recording_cost.between_calls_ns(tables) == expected
    assert recording_cost.between_calls_ns(tables | {"api_calls": calls.clear()}) == 0
