"""What a run's evidence keeps of a report: what pages and findings read, and not the rest."""

from pathlib import Path

import polars as pl
import pytest

from harness.captures import sniff
from harness.captures.ncu.keep import keep
from harness.captures.ncu.read import read
from harness.evidence.tables import Tables
from tests.support.paths import DATA


@pytest.fixture(scope="module")
def tables() -> Tables:
    with sniff.opened(Path(DATA / "ncu/small.ncu-rep.zst")) as plain:
        return read(plain)


def metrics(tables: Tables) -> set[str]:
    return set(tables["counters"]["metric"].cast(pl.String))


def test_every_launch_keeps_the_same_sixth_of_its_metrics(tables: Tables) -> None:
    kept = keep(tables)
    assert 6 * kept["counters"].height <= tables["counters"].height
    by_launch = kept["counters"].group_by("launch").len()
    assert by_launch["launch"].sort().to_list() == [0, 1, 2, 3]
    assert kept["instructions"].equals(tables["instructions"])


@pytest.mark.parametrize(
    "metric",
    [
        "sm__cycles_active.max",
        "lts__d_atomic_input_cycles_active.max.pct_of_peak_sustained_elapsed",
        "sass__inst_executed_register_spilling",
        "memory_l1_wavefronts_shared_ideal",
        "smsp__sass_inst_executed_op_local_ld.sum",
        "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum.per_cycle_elapsed",
    ],
)
def test_what_a_diagnosis_needs_is_kept(tables: Tables, metric: str) -> None:
    assert metric in metrics(keep(tables))


def test_other_roll_ups_of_a_counter_are_left_out(tables: Tables) -> None:
    left_out = metrics(tables) - metrics(keep(tables))
    assert {"sm__warps_active.min.per_cycle_active", "device__attribute_max_pitch"} <= left_out
