"""Sampling until the median is known: why a series ends, and its summary."""

import itertools
import random
import time

import pytest

from harness.probe import series

ASKED = {"samples": 200, "half_width": 0.005, "seconds": 30.0}


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that each reading advances by ten milliseconds."""
    ticks = itertools.count(0, 0.01)
    monkeypatch.setattr("time.perf_counter", lambda: next(ticks))
    return [0.01]


@pytest.mark.usefixtures("clock")
def test_a_quiet_series_ends_when_its_median_is_known() -> None:
    draw = random.Random(1)
    found = series.collect("t", lambda: draw.gauss(1, 0.001), 1, ASKED)
    assert (found.stopped, len(found.values)) == ("half-width", 20)
    assert found.half_width <= 0.005


@pytest.mark.usefixtures("clock")
def test_a_noisy_series_ends_at_the_most_samples_and_says_so() -> None:
    draw = random.Random(1)
    found = series.collect("t", lambda: draw.uniform(1, 3), 1, ASKED)
    assert (found.stopped, len(found.values)) == ("samples", 200)
    assert found.half_width > 0.005
    assert found.summary()["stopped"] == "samples"


@pytest.mark.usefixtures("clock")
def test_a_slow_series_ends_by_the_clock_with_three_samples_at_least() -> None:
    found = series.collect("t", lambda: 1.0, 1, ASKED | {"seconds": 0.0})
    assert (found.stopped, len(found.values)) == ("seconds", 3)
    assert found.summary()["half_width"] is None


def test_a_short_series_goes_on_until_the_gpu_can_be_looked_at() -> None:
    start = time.perf_counter()
    series.collect("t", lambda: 1.0, 1, ASKED | {"samples": 10**7})
    assert time.perf_counter() - start >= 0.1


@pytest.mark.usefixtures("clock")
def test_a_slow_start_is_marked_and_the_rest_decides() -> None:
    draw = random.Random(1)
    values = iter([3.0] * 10 + [draw.gauss(1, 0.01) for _ in range(200)])
    found = series.collect("t", lambda: next(values), 1, ASKED)
    assert found.warmup == 10
    assert found.marks()[:11] == ["warm-up"] * 10 + [""]
    assert found.summary()["outliers"] == 0


def test_a_sample_that_cannot_be_taken_leaves_no_series() -> None:
    found = series.collect("t", lambda: None, 1, ASKED)
    assert found.values == []


def test_a_rate_is_the_amount_over_each_time() -> None:
    times = series.Series("gpu_time", [2.0, 4.0], 1, 0, 0.1, 0.005, "samples", 1.0)
    assert times.rates("dram", 8.0).values == [4.0, 2.0]
    assert times.rates("dram", 8.0).metric == "dram"
