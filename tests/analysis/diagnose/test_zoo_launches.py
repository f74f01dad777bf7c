"""Findings on launches of problem 6 on an H200: the planted cause, its gain, and healthy twins."""

import polars as pl
import pytest

from harness.analysis.diagnose.conclude import diagnose
from harness.evidence.capture import Capture
from harness.evidence.tables import Tables
from tests.support import kept_launches
from tests.support.exams import ZOO
from tests.support.kept_launches import SICK

PIECES = ZOO.grading.PIECES

HEALTHY = (
    *SICK,
    # cuBLAS's product on tensor cores: conflicts and a spilling prologue that cost nothing.
    "tensor-cores-unused-fp32-matmul",
    # Dispatch limits: FFMAs of three registers, at 59 % of the issue slots.
    "special-function-bound-sine-series",
    # Conflicts on a path that is not the busiest.
    "warp-divergence-trip-counts",
)


def first(tables: Tables) -> tuple[str, float | None]:
    found = diagnose([Capture("zoo", tables, {}, "ncu")]).findings[0]
    return found.id, found.gain


def kernel_time(cell: str) -> float:
    metrics = kept_launches.tables(cell)["counters"]
    return float(metrics.filter(pl.col("metric") == "gpu__time_duration.sum")["value"].sum())


@pytest.mark.parametrize("case", SICK)
def test_what_was_planted_is_named_with_what_the_twin_gained(case: str) -> None:
    named, gain = first(kept_launches.tables(f"{case}.sick"))
    assert named == SICK[case]
    gained = 1 - kernel_time(f"{case}.healthy") / kernel_time(f"{case}.sick")
    assert gain == pytest.approx(gained, rel=0.15)


@pytest.mark.parametrize("case", HEALTHY)
def test_a_twin_is_healthy(case: str) -> None:
    assert first(kept_launches.tables(f"{case}.healthy")) == ("healthy", 0.0)


@pytest.mark.parametrize("piece", [name for name in PIECES if name.startswith("counters")])
@pytest.mark.parametrize("case", [*SICK, "inter-sm-traffic-distributed-table"])
def test_without_a_group_of_counters_no_other_cause_is_named(case: str, piece: str) -> None:
    whole = kept_launches.tables(f"{case}.sick")
    named, _ = first(PIECES[piece](whole))
    assert named in {first(whole)[0], "abstain"}
