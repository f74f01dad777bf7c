"""The roofline's arithmetic, by hand."""

from dataclasses import replace

import pytest

from harness.analysis import datasheets, roofline
from harness.analysis.roofline import Roof
from harness.evidence.subject import Subject
from harness.evidence.tables import frame
from harness.extract import door
from tests.support.paths import ROOT

REPORT = ROOT / "reports" / "4-custom-hgemm" / "nvidia-h200"
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


def test_a_kernel_of_a_report_lies_under_the_ceiling_measured_there() -> None:
    subject = door.opened(f"{REPORT}:square-4096.torch")
    assert isinstance(subject, Subject)
    found = roofline.of_subject(subject)
    (point,) = found.points
    measured, sheet = found.roofs["bf16"]
    assert (measured.name, sheet.name) == ("measured on this GPU", "datasheet")
    assert point.tflop_s == pytest.approx(2 * 4096**3 / point.time_ns / 1e3)
    share, limit = point.share(measured)
    assert limit == "arithmetic"
    assert share == pytest.approx(point.tflop_s / measured.tflop_s)
    assert 0.5 < share < 1


def test_a_kernel_without_operations_or_counts_says_why_it_has_no_point() -> None:
    launches = [("copy", "MOV R1, R2", 4e6), ("sums", "FADD R1, R2, R3", None)]
    named = {"launch": [0, 1], "name": [name for name, _, _ in launches]}
    sass = {"sass": [word for _, word, _ in launches], "executed": [8, 8]}
    counted = [
        (launch, name, metric, unit, value)
        for launch, (name, _, read) in enumerate(launches)
        for metric, unit, value in (
            ("gpu__time_duration.sum", "ns", 1000.0),
            ("dram__bytes_read.sum", "byte", read),
            ("dram__bytes_write.sum", "byte", 0.0),
        )
    ]
    columns = dict(
        zip(("launch", "name", "metric", "unit", "value"), zip(*counted, strict=True), strict=True)
    )
    tables = {"counters": frame("counters", columns)}
    tables["instructions"] = frame("instructions", named | sass)
    found = roofline.of_capture(tables)
    assert found.points == ()
    assert "no floating-point operation" in found.missing["copy"]
    assert "the bytes that it moved were not counted" in found.missing["sums"]
