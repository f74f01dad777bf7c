"""Nsight Compute's counters of two captures, by hand and on real reports."""

import math

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.analysis.counters import per_kernel
from harness.analysis.diff import counters
from harness.analysis.diff.counters import KernelCounters, slowest
from harness.evidence import tables as evidence
from harness.evidence.tables import Tables, frame
from harness.extract import door
from tests.support import reports
from tests.support.paths import ROOT

REPORT = reports.KEPT / "evidence"
TIME, READ, WRITE = "gpu__time_duration.sum", "dram__bytes_read.sum", "dram__bytes_write.sum"
IPC, CLOCK = "sm__inst_executed.avg.per_cycle_elapsed", "gpc__cycles_elapsed.avg.per_second"
OCCUPANCY = "sm__warps_active.avg.pct_of_peak_sustained_active"
UNITS = {TIME: "ns", READ: "byte", WRITE: "byte", OCCUPANCY: "%", CLOCK: "hz", IPC: "inst/cycle"}
Launch = tuple[str, dict[str, float]]


def report(*launches: Launch) -> Tables:
    """Return counters of launches: a kernel's name, and its metrics."""
    rows = [
        (number, name, metric, UNITS.get(metric, ""), value)
        for number, (name, metrics) in enumerate(launches)
        for metric, value in metrics.items()
    ]
    columns = ("launch", "name", "metric", "unit", "value")
    return {"counters": frame("counters", dict(zip(columns, zip(*rows, strict=True), strict=True)))}


def only(a: Tables, b: Tables) -> KernelCounters:
    (found,) = counters.compare(a, b)
    return found


def changes(found: KernelCounters) -> dict[str, tuple[float, float]]:
    return {one.metric: (one.a, one.b) for one in found.metrics}


def test_bytes_and_instructions_divide_to_the_time() -> None:
    known = {READ: 900.0, WRITE: 100.0, IPC: 2.0, CLOCK: 1e9}
    a = report(("k", {TIME: 100.0, **known}))
    b = report(("k", {TIME: 150.0, **known, READ: 2900.0, IPC: 1.0, CLOCK: 2e9}))
    found = only(a, b)
    moved, issued = found.factors
    # Thrice the bytes in one and a half times the time: twice the bandwidth.
    assert (moved.amount_ratio, moved.rate_ratio) == pytest.approx((3, 2))
    # As many instructions per second for half as long again: half as many instructions more.
    assert (issued.amount_ratio, issued.rate_ratio) == pytest.approx((1.5, 1))
    assert found.time_ns == (100, 150)


positive = st.floats(1e-3, 1e9)


@given(*[st.fixed_dictionaries(dict.fromkeys((TIME, READ, WRITE, IPC, CLOCK), positive))] * 2)
def test_factors_multiply_out_to_the_time_ratio(a: dict[str, float], b: dict[str, float]) -> None:
    found = only(report(("k", a)), report(("k", b)))
    assert len(found.factors) == 2
    for one in found.factors:
        assert one.amount_ratio / one.rate_ratio == pytest.approx(b[TIME] / a[TIME])


@pytest.mark.parametrize("lacking", [TIME, READ, IPC, CLOCK])
def test_a_factor_needs_both_of_its_sides(lacking: str) -> None:
    whole = {TIME: 5.0, READ: 7.0, WRITE: 1.0, IPC: 2.0, CLOCK: 1e9}
    less = {name: value for name, value in whole.items() if name != lacking}
    found = only(report(("k", whole)), report(("k", less)))
    assert len(found.factors) == {TIME: 0}.get(lacking, 1)
    nothing_moved = whole | {READ: 0.0, WRITE: 0.0}
    assert len(only(report(("k", nothing_moved)), report(("k", whole))).factors) == 1


def test_what_limits_a_kernel_comes_first_then_what_changed_most() -> None:
    a = {TIME: 100.0, OCCUPANCY: 50.0, "ratio": 4.0, "same": 7.0, "zero": 0.0, "loss": 8.0}
    b = {TIME: 100.0, OCCUPANCY: 51.0, "ratio": 5.0, "same": 7.0, "zero": 1.0, "loss": 1.0}
    assert OCCUPANCY in counters.LIMITS
    found = only(report(("k", a)), report(("k", b)))
    # 8 to 1: log 8 = 2.08; from zero: 1; 4 to 5: log 1.25 = 0.22.
    assert [one.metric for one in found.metrics] == [OCCUPANCY, "loss", "zero", "ratio"]
    assert [-one.rank[1] for one in found.metrics] == pytest.approx(
        [0.01, math.log(8), 1, math.log(1.25)]
    )


def test_a_metric_seen_once_is_shown_if_it_differs_at_all_and_often_only_if_clearly() -> None:
    once = only(report(("k", {TIME: 1.0, "m": 10.0})), report(("k", {TIME: 1.0, "m": 10.1})))
    assert changes(once) == {"m": (10.0, 10.1)}
    assert once.metrics[0].difference is None

    def often(*values: float) -> Tables:
        return report(*(("k", {TIME: 1.0, "m": value}) for value in values))

    assert changes(only(often(9, 10, 11, 10), often(9.1, 10.1, 11.1, 10.1))) == {}
    clear = only(often(9.9, 10, 10.1, 10), often(14.9, 15, 15.1, 15))
    assert changes(clear) == {"m": (10, 15)}
    assert clear.metrics[0].difference is not None
    assert clear.launches == (4, 4)


def test_metrics_of_one_side_and_what_is_no_number_are_left_out() -> None:
    a = report(("k", {TIME: 1.0, "mine": 3.0, "nan": 1.0}))
    b = report(("k", {TIME: 1.0, "yours": 3.0, "nan": math.nan}))
    assert changes(only(a, b)) == {}


def test_shapes_and_properties_of_the_device_are_not_metrics_of_the_kernel() -> None:
    names = ("launch__grid_dim_x", "launch__block_dim_y", "device__attribute_l2_cache_size")
    a, b = (report(("k", {TIME: 1.0, **dict.fromkeys(names, value)})) for value in (1.0, 2.0))
    assert changes(only(a, b)) == {}


def test_kernels_of_one_side_and_the_largest_change_of_time_first() -> None:
    a = report(("same", {TIME: 50.0}), ("gone", {TIME: 10.0}), ("gone", {TIME: 15.0}))
    b = report(("same", {TIME: 60.0}), ("new", {TIME: 70.0}), ("late", {TIME: 1.0}))
    found = counters.compare(a, b)
    assert [(one.a, one.b, one.time_ns) for one in found] == [
        ((), ("new",), (0, 70)),
        (("gone",), (), (25, 0)),
        (("same",), ("same",), (50, 60)),
        ((), ("late",), (0, 1)),
    ]
    assert [one.launches for one in found] == [(0, 1), (2, 0), (1, 1), (0, 1)]
    # A hundredth of A's 75 ns is 0.75 ns, so all are shown; the number is limited.
    assert slowest(found, 2) == found[:2]
    assert slowest(found, 9) == found
    assert slowest([one for one in found if one.a == one.b], 9) == [found[2]]
    still = counters.compare(a, a)
    assert slowest(still, 9) == []


def real() -> dict[str, Tables]:
    path = ROOT / "tests" / "data" / "ncu" / "small.ncu-rep.zst"
    found = {path.name: door.capture(path).captures["ncu"].tables}
    rows = evidence.load(REPORT)["counters"]
    for cell in rows["cell"].unique().sort():
        found[cell] = {"counters": rows.filter(pl.col("cell") == cell)}
    return found


def test_real_reports_do_not_differ_from_themselves_and_keep_every_launch() -> None:
    known = real()
    assert len(known) > 5
    for name, tables in known.items():
        found = counters.compare(tables, tables)
        assert all(one.a == one.b for one in found), name
        assert [one.metrics for one in found] == [()] * len(found), name
        ratios = {
            ratio for one in found for f in one.factors for ratio in (f.amount_ratio, f.rate_ratio)
        }
        assert ratios == {1.0}, name
    first, second = list(known.values())[1:3]
    both = counters.compare(first, second)
    for side, tables in enumerate((first, second)):
        times = per_kernel(tables["counters"])["time_ns"]
        assert sum(one.launches[side] for one in both) == times.len()
        assert sum(one.time_ns[side] for one in both) == pytest.approx(times.sum())
