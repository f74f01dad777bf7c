"""Which samples of a GPU make a measurement doubtful, and which do not."""

from dataclasses import replace
from pathlib import Path

import pytest

from harness.machine import monitor
from harness.machine.monitor import GpuSample, summary
from harness.machine.stability import by_region, doubts


def samples(
    clocks: list[float],
    reasons: tuple[str, ...] = (),
    others: tuple[str, ...] | None = (),
) -> list[GpuSample]:
    return [
        GpuSample(float(at), {"sm_mhz": mhz, "memory_mhz": 3201.0}, reasons, others)
        for at, mhz in enumerate(clocks)
    ]


STEADY = [1980.0] * 10


@pytest.mark.parametrize("clocks", [STEADY, [1980.0, 1965.0] * 5, [345.0, *STEADY]])
def test_steady_clocks_are_no_doubt(clocks: list[float]) -> None:
    assert doubts(samples(clocks, ("idle", "applications clocks"))) == []


def test_a_drift_within_the_measurement_is_told() -> None:
    (doubt,) = doubts(samples([1980.0] * 5 + [1755.0] * 5)) or []
    assert doubt == "sm clock drifted from 1980 to 1755 MHz"


@pytest.mark.parametrize("reason", ["power cap", "power brake", "thermal slowdown (hardware)"])
def test_a_slowdown_that_held_is_told_and_a_passing_one_is_not(reason: str) -> None:
    assert doubts(samples(STEADY, (reason,))) == [f"{reason} in 10 of 10 looks"]
    assert doubts([*samples([1980.0] * 99), *samples([1980.0], (reason,))]) == []


def test_another_process_on_the_gpu_is_told() -> None:
    assert doubts(samples(STEADY, others=("python3 (process 7)",))) == [
        "on the GPU, too: python3 (process 7)"
    ]


def test_who_cannot_be_told_apart_is_no_doubt_and_no_sample_is_no_verdict() -> None:
    assert doubts(samples(STEADY, others=None)) == []
    assert doubts([]) is None


def test_only_what_was_seen_while_it_measured_counts() -> None:
    watch = monitor.GpuMonitor(None)
    watch.samples = samples([345.0] * 5 + [1980.0] * 5 + [345.0] * 5)
    within = watch.during([(5.0, 9.5)])
    assert summary(within)["sm_mhz"] == {"min": 1980.0, "median": 1980.0, "max": 1980.0}
    assert doubts(within) == []
    assert len(watch.during([])) == 15


@pytest.mark.parametrize(
    ("environment", "name"),
    [
        (b"PATH=/bin\0HARNESS_RUN=ours\0", None),
        (b"HARNESS_CELL={}\0HARNESS_RUN=theirs\0", "train (process 7)"),
        (b"HARNESS_RUN=ourselves\0", "train (process 7)"),
        (b"PATH=/bin\0", "train (process 7)"),
        (None, None),  # it has ended, or is of another namespace
    ],
)
def test_a_process_of_the_run_is_known_by_its_token(
    tmp_path: Path, environment: bytes | None, name: str | None
) -> None:
    process = tmp_path / "7"
    process.mkdir()
    if environment is not None:
        (process / "environ").write_bytes(environment)
        (process / "comm").write_text("train\n")
    assert monitor._foreign(process, "ours") == name


def test_of_several_regions_each_is_judged_by_its_own_samples() -> None:
    watched = [*samples(STEADY), *samples(STEADY, ("power cap",))]
    watched = [replace(sample, at=float(at)) for at, sample in enumerate(watched)]
    watch = monitor.GpuMonitor(None)
    watch.samples = watched
    windows = [[0, 9, "m1"], [10, 19, "m4096"]]
    assert by_region(windows, watch.during) == ["m4096: power cap in 10 of 10 looks"]
    assert by_region([[0, 19, "forward"]], watch.during) == doubts(watched)
    assert by_region([[0, 9]], watch.during) == []
    assert by_region([[50, 60, "m1"], [70, 80, "m2"]], watch.during) is None
