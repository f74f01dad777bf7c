"""Which waits of ranks for each other make a straggler, and what hiding communication gains."""

import polars as pl
import pytest

from harness.analysis.diagnose import conclude
from harness.analysis.diagnose.finding import Finding
from harness.evidence.capture import Capture
from tests.support.programs import APART, LATENCY, LAUNCH, MS, US, Program
from tests.support.timelines import rows

COLLECTIVE = "ncclDevKernel_AllReduce_Sum_f32"
TURNS = 40
APART_IDS = 1_000_000
"""What keeps the correlation ids of two programs apart."""


def findings(*captures: Capture) -> dict[str, Finding]:
    return {each.id: each for each in conclude.diagnose(captures).findings}


def two_devices(host_ns: int, kernel_ns: int) -> Capture:
    """Return a capture of a host thread that gives kernels and collectives to two GPUs in turn."""
    devices = Program(), Program(device=1)
    clock = 0
    for _ in range(TURNS):
        for device in devices:
            device.now = clock
            device.work(host_ns)
            device.launch(kernel_ns)
            clock = device.now
        begun = [
            max(clock + (at + 1) * LAUNCH + LATENCY, device.ends + APART)
            for at, device in enumerate(devices)
        ]
        for device, begin in zip(devices, begun, strict=True):
            device.now = clock
            device.launch(max(begun) + 20 * US - begin, COLLECTIVE)
            clock = device.now
    first, second = (device.tables() for device in devices)
    apart = pl.col("correlation") + APART_IDS
    for name in ("gpu_ops", "api_calls"):
        first[name] = pl.concat([first[name], second[name].with_columns(apart)])
    return Capture("both", first, {}, "nsys")


def test_ranks_that_wait_for_the_host_which_launches_for_all_have_no_straggler() -> None:
    slow = findings(two_devices(host_ns=300 * US, kernel_ns=100 * US))
    assert next(iter(slow)) == "host-bound"
    assert "straggler" not in slow


def test_a_host_that_is_ahead_of_both_devices_makes_no_straggler_either() -> None:
    assert next(iter(findings(two_devices(host_ns=3 * US, kernel_ns=1 * MS)))) == "healthy"


@pytest.mark.parametrize(("seldom", "named"), [(10, False), (1, True)])
def test_a_rank_that_is_late_now_and_then_is_no_straggler(seldom: int, named: bool) -> None:
    ranks = Program(), Program(device=1)
    for turn in range(TURNS):
        late = 3 * MS if turn % seldom == 0 else 2 * US
        for rank, extra in zip(ranks, (0, late), strict=True):
            rank.launch(1 * MS + extra)
        begun = [rank.ends + APART for rank in ranks]
        for rank, begin in zip(ranks, begun, strict=True):
            rank.launch(max(begun) - begin + 50 * US, COLLECTIVE)
    found = findings(*(rank.capture(str(at)) for at, rank in enumerate(ranks)))
    straggler = found.get("straggler")
    assert (straggler is not None and straggler.stake >= 0.05) == named


@pytest.mark.parametrize("starved", [False, True])
def test_communication_leaves_nothing_unsaid_unless_more_is_idle(starved: bool) -> None:
    # Ranks are late by 120 µs alternately. Compute is 89 %, communication alone 10 %: too much
    # for a healthy program, though without the waits it is 4 %.
    ranks = Program(), Program(device=1)
    for turn in range(TURNS):
        for at, rank in enumerate(ranks):
            rank.launch(800 * US + (120 * US if turn % 2 == at else 0))
        begun = [rank.ends + APART for rank in ranks]
        for rank, begin in zip(ranks, begun, strict=True):
            rank.launch(max(begun) - begin + 40 * US, COLLECTIVE)
            if starved:  # of what the capture does not say
                rank.wait_for(rank.ends + 200 * US)
    found = findings(*(rank.capture(str(at)) for at, rank in enumerate(ranks)))
    first = next(iter(found.values()))
    assert first.id == ("abstain" if starved else "exposed-communication")
    assert starved or first.stake < 0.05 < first.evidence[0].value / 100


def overlapped(late: int) -> tuple[Program, Program]:
    """Return two ranks that sum one layer beside the next, to which the second comes later.

    They sum that one on the stream that computes, and come to it together.
    """
    ranks = Program(), Program(device=1)
    for _ in range(TURNS):
        for rank, extra in zip(ranks, (0, late), strict=True):
            rank.launch(1 * MS + extra)
        begun = []
        for rank in ranks:
            rank.wait_for(rank.ends, stream=20)
            begun.append(rank.ends + APART)
        for rank, begin, less in zip(ranks, begun, (0, late), strict=True):
            rank.launch(max(begun) - begin + 50 * US, COLLECTIVE, 20)
            rank.launch(3 * MS - less)
            rank.launch(500 * US, COLLECTIVE)
    return ranks


def test_a_wait_beside_compute_makes_no_straggler() -> None:
    found = findings(*(rank.capture(str(at)) for at, rank in enumerate(overlapped(2 * MS))))
    assert next(iter(found)) == "exposed-communication"
    assert "straggler" not in found or found["straggler"].stake < 0.05


def steps_that_communicate(*, exposed: bool) -> Program:
    program = Program()
    for _ in range(3):
        with program.marked("step:made"):
            for _ in range(8):
                program.launch(1 * MS)
                if not exposed:
                    program.wait_for(program.ends, stream=20)
                    program.launch(500 * US, COLLECTIVE, 20, "25,1,1")
            for _ in range(8 if exposed else 0):
                program.launch(500 * US, COLLECTIVE, 7, "25,1,1")
            program.synchronise("cudaDeviceSynchronize")
    return program


def test_the_last_collective_of_a_step_cannot_be_hidden() -> None:
    sick, healthy = (steps_that_communicate(exposed=exposed) for exposed in (True, False))
    assert next(iter(findings(healthy.capture()))) == "healthy"
    gained = 1 - healthy.ends / sick.ends
    found = findings(sick.capture())
    assert next(iter(found)) == "exposed-communication"
    assert found["exposed-communication"].gain == pytest.approx(gained, rel=0.05)


def test_a_collective_beside_kernels_takes_their_multiprocessors() -> None:
    def gain(multiprocessors: int | None) -> float:
        capture = steps_that_communicate(exposed=True).capture()
        device: dict[str, object] = {"device": 0, "multiprocessors": multiprocessors}
        capture.tables["devices"] = rows("devices", [device])
        return findings(capture)["exposed-communication"].gain or 0.0

    assert gain(100) == pytest.approx(0.75 * gain(None))


def test_a_window_of_a_program_that_holds_one_collective_names_it() -> None:
    program = Program()
    for _ in range(12):
        program.launch(200 * US)
    program.launch(2 * MS, COLLECTIVE)
    program.launch(1 * MS)
    assert next(iter(findings(program.capture()))) == "exposed-communication"
