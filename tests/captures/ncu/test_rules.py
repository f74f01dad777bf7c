"""What ncu's rules estimate, against what follows from the launch itself."""

import polars as pl
import pytest

from harness.captures import sniff
from harness.captures.ncu import read as ncu
from harness.evidence.tables import Tables
from tests.support.paths import DATA


@pytest.fixture(scope="module")
def tables() -> Tables:
    with sniff.opened(DATA / "ncu" / "small.ncu-rep.zst") as plain:
        return ncu.read(plain)


def test_a_small_grid_is_estimated_by_the_multiprocessors_without_a_block(tables: Tables) -> None:
    rules = tables["rules"].cast({"title": pl.String})
    small = rules.filter(pl.col("title") == "Small Grid")
    assert small.height
    counters = tables["counters"].cast({"metric": pl.String})
    for launch, speedup in small.select("launch", "speedup").iter_rows():
        of = dict(counters.filter(launch=launch).select("metric", "value").iter_rows())
        idle = 1 - of["launch__grid_size"] / of["launch__sm_count"]
        assert speedup == pytest.approx(100 * idle)


def test_every_row_has_an_estimate_and_its_launch_has_counters(tables: Tables) -> None:
    rules = tables["rules"]
    assert rules["speedup"].null_count() == 0
    assert rules["speedup"].is_between(0, 100).all()
    launches = tables["counters"].select("launch", "name").unique()
    assert rules.join(launches, on=["launch", "name"], how="anti").is_empty()
