"""The roofline's arithmetic, by hand."""

from dataclasses import replace
from pathlib import Path

import pytest

from harness.analysis import datasheets, roofline
from harness.analysis.metrics import Metrics
from harness.analysis.roofline import Point, Roof
from harness.problem import manifest
from harness.problem.model import Problem
from tests.support.manifests import GOOD, written
from tests.support.small_evidence import Row, cell, samples, tables

ROOF = Roof("a roof", gb_s=2000.0, tflop_s=500.0)
H200 = datasheets.of("NVIDIA H200")


def test_below_the_ridge_memory_is_the_limit_and_above_it_the_rate() -> None:
    assert ROOF.ridge == 250  # 500e12 FLOP/s over 2000e9 B/s
    # 10 FLOP for each of 2000e9 bytes a second.
    assert [ROOF.at(intensity) for intensity in (10, 250, 1e6)] == [20, 500, 500]


def test_the_least_time_of_a_step_is_that_of_the_roof_at_its_intensity() -> None:
    assert ROOF.least_time(4e9, 1e11) == (2.0, "memory")
    assert ROOF.least_time(4e9, 2e12) == (4.0, "arithmetic")
    for flop in (1e11, 1e12, 2e12):
        least_ms, _ = ROOF.least_time(4e9, flop)
        assert flop / least_ms / 1e9 == pytest.approx(ROOF.at(flop / 4e9))


def test_the_measured_roof_has_the_better_of_two_bandwidths() -> None:
    read, rate = {"dram_read": 4200.0}, {"bf16": 700.0, "fp8": 1300.0}
    for other, best in (
        ({}, 4200.0),
        ({"dram_copy": 4000.0}, 4200.0),
        ({"dram_copy": 4400.0}, 4400.0),
    ):
        roofs = roofline.roofs(read | other | rate, None, "bf16")
        assert roofs == [Roof("measured on this GPU", best, 700.0)]


def test_the_measured_roof_comes_first_and_the_datasheets_after_it() -> None:
    assert H200
    measured, sheet = roofline.roofs({"dram_read": 4200.0, "fp8": 1300.0}, H200, "fp8")
    assert (measured.gb_s, measured.tflop_s) == (4200.0, 1300.0)
    assert sheet == Roof("datasheet", H200.dram_gb_s, 1978.9)


@pytest.mark.parametrize("ceilings", [{}, {"dram_read": 4200.0, "bf16": 700.0}, {"fp8": 1300.0}])
def test_without_bandwidth_or_rate_there_is_no_measured_roof(ceilings: dict[str, float]) -> None:
    assert roofline.roofs(ceilings, None, "fp8") == []
    assert [roof.name for roof in roofline.roofs(ceilings, H200, "fp8")] == ["datasheet"]


def test_a_gpu_without_units_of_that_kind_has_no_datasheet_roof() -> None:
    assert H200
    assert roofline.roofs({}, replace(H200, fp8=None), "fp8") == []


@pytest.fixture
def moving(tmp_path: Path) -> Problem:
    """The example, and a metric of the bytes that a step moves."""
    moved = "  moved: {label: moved, unit: B, capture: timing, fact: dram_bytes}\nclaims:"
    return manifest.load(written(tmp_path, GOOD.replace("claims:", moved)))


FAST = cell("fast")


def fact(value: float) -> Row:
    return {"cell": FAST["cell"], "name": "dram_bytes", "unit": "B", "value": value}


def point(moving: Problem, times: list[Row], facts: list[Row]) -> Point | None:
    metrics = Metrics(moving, tables(cells=[FAST], samples=times, facts=facts))
    return roofline.point(metrics, "fast", "small", "time", "moved", flop=4e9)


def test_a_point_is_operations_over_bytes_and_over_time(moving: Problem) -> None:
    times = samples(FAST, "wall_time", 1.0, 2.0, 5.0)
    # 4e9 operations of 2e6 bytes in the median, 2 ms: 2e12 in a second.
    assert point(moving, times, [fact(2e6)]) == Point("fast", 2000.0, 2.0)


def test_a_point_may_be_timed_as_a_region_of_another_variants_cell(moving: Problem) -> None:
    other = cell("slow")
    times = [
        {**row, "region": region}
        for region, value in (("fast", 2.0), ("slow", 8.0))
        for row in samples(other, "wall_time", value)
    ]
    metrics = Metrics(moving, tables(cells=[FAST, other], samples=times, facts=[fact(2e6)]))
    point = roofline.point(metrics, "fast", "small", "time", "moved", 4e9, within="slow")
    assert point == Point("fast", 2000.0, 2.0)


def test_without_time_or_bytes_there_is_no_point(moving: Problem) -> None:
    times = samples(FAST, "wall_time", 2.0)
    assert point(moving, [], [fact(2e6)]) is None
    assert point(moving, times, []) is None
    assert point(moving, times, [fact(0.0)]) is None
    assert point(moving, samples(FAST, "wall_time", 0.0), [fact(2e6)]) is None
