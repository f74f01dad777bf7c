"""What measured steps lose only because the recording waits for the device after each of them."""

import pytest

from harness.analysis.diagnose import conclude
from harness.analysis.diagnose.finding import Finding
from harness.analysis.idle import recording_cost
from tests.support.programs import MS, US, Program

STEPS = 3
BATCH = 8 << 20


def findings(program: Program) -> tuple[Finding, ...]:
    return conclude.diagnose([program.capture()]).findings


def that_matter(program: Program) -> list[str]:
    return [each.id for each in findings(program) if each.stake >= 0.05]


@pytest.mark.parametrize(("own", "named"), [(False, []), (True, ["host-sync"])])
def test_a_host_that_would_be_ahead_holds_up_no_step(own: bool, named: list[str]) -> None:
    program = Program()
    for _ in range(STEPS):
        with program.marked("step:made"):
            program.launch(1 * US)
            for _ in range(4):
                program.work(220 * US)
                program.launch(50 * US)
            for _ in range(4):
                program.launch(2 * MS)
            if own:
                program.synchronise()  # costs the host its lead, too
            program.synchronise("cudaDeviceSynchronize")
    assert that_matter(program) == named


def test_a_host_that_is_never_ahead_is_what_the_steps_wait_for() -> None:
    program = Program()
    for _ in range(STEPS):
        with program.marked("step:made"):
            for _ in range(20):
                program.launch(50 * US)
                program.work(200 * US)
            program.synchronise("cudaDeviceSynchronize")
    assert that_matter(program) == ["host-bound"]


@pytest.mark.parametrize(("turns", "named"), [(1, "abstain"), (8, "host-bound")])
def test_a_host_that_may_only_have_lost_its_core_is_not_called_slow(turns: int, named: str) -> None:
    program = Program()
    for _ in range(STEPS):
        with program.marked("step:made"):
            for _ in range(turns):
                program.launch(10 * US)
                program.work(70 * US)
                program.launch(10 * US)
            program.synchronise("cudaDeviceSynchronize")
    assert findings(program)[0].id == named


def short_kernels_after_a_wait(*, sick: bool) -> Program:
    program = Program()
    for _ in range(40):
        program.launch(600 * US)
        if sick:
            program.synchronise()
        for _ in range(6):
            program.work(12 * US)
            program.launch(5 * US)
    return program


def test_launches_that_a_wait_held_back_are_its_doing(monkeypatch: pytest.MonkeyPatch) -> None:
    # No profiler slows a simulated host.
    monkeypatch.setattr(recording_cost, "OF_NSYS", recording_cost.Part(0, 0, 0))
    sick, healthy = (short_kernels_after_a_wait(sick=sick) for sick in (True, False))
    assert that_matter(sick) == ["host-sync"]
    gained = 1 - healthy.ends / sick.ends
    assert findings(sick)[0].gain == pytest.approx(gained, rel=0.25)


def test_one_long_wait_does_not_explain_the_launches_of_a_whole_program() -> None:
    program = Program()
    program.launch(100 * MS)
    program.synchronise()
    for _ in range(2000):
        program.work(12 * US)
        program.launch(5 * US)
    assert "host-sync" not in that_matter(program)


@pytest.mark.parametrize("cleared", [False, True])
def test_what_fills_and_drains_a_pipeline_of_copies_cannot_be_hidden(cleared: bool) -> None:
    program = Program()
    for _ in range(STEPS):
        with program.marked("step:made"):
            if cleared:
                program.launch(5 * US)
            program.copy(BATCH, 900 * US, "Pinned", stream=8)
            for _ in range(8):
                program.wait_for(program.ends)
                program.copy(BATCH, 900 * US, "Pinned", stream=8)
                program.launch(1 * MS)
            program.synchronise("cudaDeviceSynchronize")
    assert findings(program)[0].id == "healthy"
    assert that_matter(program) == []


def test_a_first_copy_that_long_kernels_precede_could_hide_behind_them() -> None:
    program = Program()
    for _ in range(STEPS):
        with program.marked("step:made"):
            program.launch(2 * MS)
            program.copy(BATCH, 900 * US, "Pinned")
            program.launch(2 * MS)
            program.synchronise("cudaDeviceSynchronize")
    assert that_matter(program) == ["serialised-copy"]
