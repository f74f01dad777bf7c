"""The roofline's arithmetic, by hand."""

from dataclasses import replace

import pytest

from harness.analysis import datasheets, roofline
from harness.analysis.roofline import Roof

ROOF = Roof("a roof", gb_s=2000.0, tflop_s=500.0)
H200 = datasheets.of("NVIDIA H200")


def test_the_least_time_of_a_step_is_the_longer_of_its_two_limits() -> None:
    assert ROOF.least_time(4e9, 1e11) == (2.0, "memory")
    assert ROOF.least_time(4e9, 2e12) == (4.0, "arithmetic")


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
