"""The profiler's part of idle time: known where the step was timed without one, else estimated."""

from pathlib import Path

import pytest

from harness.analysis.diagnose import conclude
from harness.analysis.diagnose.finding import Diagnosis
from harness.analysis.diagnose.timeline_tracks import tracks_of
from harness.analysis.idle import recording_cost
from harness.evidence.capture import Capture
from harness.evidence.tables import SCHEMAS, Tables, empty
from harness.extract import door
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


def repeated(code: int, shape: str) -> Program:
    """Return a program whose host needs ``code`` and a launch for each kernel."""
    program = Program()
    for _ in range(20):
        if shape == "device-ahead":
            for _ in range(40):
                program.work(code)
                program.launch(170 * US)
        elif shape == "host-limited":
            for _ in range(40):
                program.work(code)
                program.launch(50 * US)
        else:
            program.launch(5 * MS)
            for _ in range(40):
                program.work(code)
                program.launch(20 * US)
            program.synchronise()
    return program


@pytest.mark.parametrize("shape", ["host-limited", "device-ahead", "long-kernel-and-wait"])
def test_what_is_left_is_the_idle_time_of_the_program_with_a_faster_host(
    shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording_cost, "EVENT_NS", 1 * MS)
    part, code = recording_cost.OF_NSYS.cost, 195 * US
    bare = repeated(round((1 - part) * (code + LAUNCH)) - LAUNCH, shape)
    (track,) = tracks_of(repeated(code, shape).capture())
    assert track.busy_ns / track.span_ns == pytest.approx(track.busy_ns / bare.ends, abs=0.03)


def test_long_code_between_calls_is_no_more_the_profilers_than_its_events_can_cost() -> None:
    (track,) = tracks_of(recorded())
    assert track.taken_off_ns() <= STEPS * TURNS * recording_cost.EVENT_NS


def test_options_of_torch_cost_more_and_operators_raise_the_limit() -> None:
    tables = {
        "api_calls": rows("api_calls", [{"name": "cudaLaunchKernel"}] * 10),
        "operators": rows(
            "operators",
            [
                {"name": "aten::mm", "count": 20, "total_ns": 1},
                {"name": "aten::add", "count": 10, "total_ns": 1},
                {"name": "not recorded as it ran", "count": 90},
            ],
        ),
        "conditions": empty("conditions"),
    }
    captures = [
        Capture("made", tables, {"tracing": tracing}, "torch")
        for tracing in ("", "shapes", "Python stacks, memory", "shapes, Python stacks")
    ]
    plain, shapes, stacks, both = map(recording_cost.part_of, captures)
    assert plain.cost < shapes.cost == stacks.cost < both.cost
    assert recording_cost.most_ns(captures[0]) == 4 * recording_cost.EVENT_NS
    assert recording_cost.most_ns(Capture("none", recorded_nothing(), {}, "torch")) == 0


def recorded_nothing() -> Tables:
    return {name: empty(name) for name in SCHEMAS}


REPORT = Path(__file__).parents[2] / "reports/1-torchao-float8/nvidia-h200"


def test_an_eager_stack_that_fills_the_gpu_unprofiled_is_not_called_host_bound() -> None:
    """Its step takes 1.008 times what its kernels do, by the timing beside this trace.

    They convert each weight from float8 before its product.
    """
    trace = REPORT / "captures/stack-m1.f8-0.13.0-eager.trace.json.gz"
    (finding,) = conclude.diagnose(list(door.capture(trace).captures.values())).findings
    assert finding.id == "slow-kernel"
    assert "from one number format to another" in finding.title
