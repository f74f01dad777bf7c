"""The roofline: every variant with its share of the measured roof, both parts of each roof."""

import re
from pathlib import Path
from typing import Any

import pytest

from harness.problem import manifest
from harness.report.sections import roofline
from tests.support.manifests import GOOD, written
from tests.support.pages import page
from tests.support.small_evidence import ceiling, cell, samples, tables

HOW = {"kind": "bf16", "time": "time", "bytes": "moved"}
SLOW, FAST = cell("slow"), cell("fast")
MEASURED = [ceiling("GPU-1", "dram_read", 4000.0), ceiling("GPU-1", "bf16", 8.0)]


def drawn(tmp_path: Path, gpu: str, *, points: bool = True, **given: Any) -> str | None:
    moved = "  moved: {label: moved, unit: B, capture: timing, fact: dram_bytes}\nclaims:"
    problem = manifest.load(written(tmp_path, GOOD.replace("claims:", moved)))
    facts = [{"cell": of["cell"], "name": "dram_bytes", "value": 2e6} for of in (SLOW, FAST)]
    timed = [*samples(SLOW, "wall_time", 4.0), *samples(FAST, "wall_time", 2.0)]
    evidence = tables(cells=[SLOW, FAST], samples=timed, facts=facts if points else [], **given)
    return roofline.draw_roofline(page(problem, evidence, gpu), "small", 4e9, HOW)


def test_each_variant_is_drawn_with_its_share_of_the_measured_roof(tmp_path: Path) -> None:
    better = [*MEASURED, ceiling("GPU-2", "bf16", 10.0), ceiling("GPU-2", "dram_read", 3000.0)]
    svg = drawn(tmp_path, "a GPU", ceilings=better)
    assert svg
    assert svg.startswith("<svg")
    # 1 and 2 TFLOP/s, at 2000 FLOP a byte under the rate of the better GPU.
    assert set(re.findall(r"\b\d+ %", svg)) == {"10 %", "20 %"}
    assert "measured on this GPU" in svg
    assert "datasheet" not in svg


@pytest.mark.parametrize(
    ("points", "ends"),
    [
        ([0.5, 2.0], (0.25, 800.0)),  # bound by memory: both parts of the roof, and the points
        ([1000.0, 1500.0], (25.0, 3000.0)),  # by arithmetic
    ],
)
def test_both_parts_of_a_roof_and_all_points_are_drawn(
    points: list[float], ends: tuple[float, float]
) -> None:
    assert roofline.intensity_ends(points, [100.0, 200.0]) == ends


def test_without_ceilings_the_datasheet_is_the_roof(tmp_path: Path) -> None:
    svg = drawn(tmp_path, "NVIDIA H200")
    assert svg
    assert "datasheet" in svg
    assert "measured on this GPU" not in svg


def test_without_a_roof_or_a_point_there_is_no_figure(tmp_path: Path) -> None:
    assert drawn(tmp_path, "a GPU") is None
    assert drawn(tmp_path, "a GPU", ceilings=MEASURED[:1]) is None
    assert drawn(tmp_path, "NVIDIA H200", points=False, ceilings=MEASURED) is None
