"""A case of many sizes: its regions in order, its values and its shares of what the GPU can do."""

import polars as pl
import pytest

from harness.analysis.metrics import Metrics
from harness.evidence import tables as evidence
from harness.problem import manifest
from harness.report.page import Page
from harness.report.sections import sweep
from tests.support import reports
from tests.support.pages import page
from tests.support.paths import ROOT

EVIDENCE = reports.committed("2-gemlite-autotune") / "evidence"
CASE = "sweep-4096"
HOW = {"time": "gpu_time_cold", "bytes": "io_bytes", "flop": "flop", "kind": "bf16"}


@pytest.fixture(scope="module")
def tables() -> evidence.Tables:
    return evidence.load(EVIDENCE)


@pytest.fixture(scope="module")
def metrics(tables: evidence.Tables) -> Metrics:
    return Metrics(manifest.find(ROOT / "problems", "2"), tables)


@pytest.fixture(scope="module")
def whole(tables: evidence.Tables) -> Page:
    return page(manifest.find(ROOT / "problems", "2"), tables)


def by_hand(tables: evidence.Tables, variant: str, region: str) -> float:
    """Return the mean over rounds of the median of a region's settled samples, in ms."""
    rows = tables["samples"].filter(
        pl.col("cell").str.starts_with(f"{CASE}.{variant}.timing"),
        pl.col("region") == region,
        pl.col("metric") == "gpu_time_cold",
        pl.col("mark").fill_null("") != "warm-up",
    )
    medians = rows.group_by("cell").agg(pl.col("value").median())["value"]
    return float(medians.mean())  # type: ignore[arg-type]  # a number column


def test_sizes_are_in_the_order_of_their_numbers(metrics: Metrics) -> None:
    sizes = [int(region[1:]) for region in sweep.sizes(metrics, CASE)]
    assert sizes == sorted(sizes)
    assert {1, 63, 64, 65, 4096} <= set(sizes)
    assert sweep.sizes(metrics, "m1") == []  # one region that is no size


def test_a_row_has_each_variants_time_in_microseconds_and_what_the_last_one_states(
    metrics: Metrics, tables: evidence.Tables
) -> None:
    rows = sweep.table_rows(metrics, "gpu_time_cold", CASE, ["bf16", "w4-fast"], ["kernel"])
    of_64 = next(row for row in rows if row[0] == "64")
    expected = [by_hand(tables, variant, "m64") for variant in ("bf16", "w4-fast")]
    assert [float(cell) for cell in of_64[1:3]] == pytest.approx(
        [1e3 * value for value in expected], rel=1e-3
    )
    kernels = {row[0]: row[3] for row in rows}
    assert (kernels["4"], kernels["63"], kernels["64"]) == ("GEMV_REVSPLITK", "GEMM_SPLITK", "GEMM")


def test_a_share_is_of_whichever_limit_takes_longer(
    metrics: Metrics, tables: evidence.Tables
) -> None:
    best = {
        name: float(rows["value"].max())  # type: ignore[arg-type]
        for (name,), rows in tables["ceilings"].partition_by("name", as_dict=True).items()
    }
    rows = {row[0]: row[1] for row in sweep.share_rows(metrics, tables, CASE, ["bf16"], HOW)}
    memory_ms = (2 * 4096 * 4096 + 2 * (4096 + 4096)) / best["dram_read"] / 1e6
    arithmetic_ms = 2 * 4096**3 / best["bf16"] / 1e9
    small = 100 * memory_ms / by_hand(tables, "bf16", "m1")
    large = 100 * arithmetic_ms / by_hand(tables, "bf16", "m4096")
    assert rows["1"] == f"{small:.0f} % of memory"
    assert rows["4096"] == f"{large:.0f} % of arithmetic"
    assert large < 100


def test_without_ceilings_or_samples_there_is_a_dash(
    metrics: Metrics, tables: evidence.Tables, whole: Page
) -> None:
    bare = tables | {"ceilings": tables["ceilings"].clear()}
    assert {row[1] for row in sweep.share_rows(metrics, bare, CASE, ["bf16"], HOW)} == {"–"}
    assert {row[1] for row in sweep.share_rows(metrics, tables, CASE, ["w4-max"], HOW)} == {"–"}
    rows = sweep.table_rows(metrics, "gpu_time_cold", CASE, ["w4-max"], [])
    assert {row[1] for row in rows} == {"not measured"}
    assert sweep.draw_sweep(whole, "gpu_time_cold", CASE, ["w4-max"]) is None
    svg = sweep.draw_sweep(whole, "gpu_time_cold", CASE, ["bf16"])
    assert svg is not None
    assert "µs" in svg
    assert "NaN" not in svg
