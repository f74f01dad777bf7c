"""The first counters of a launch, from tables made by hand and from ncu's own CSV."""

import csv
import gzip
from typing import Any

import pytest

from harness.analysis.counters import by_kernel, of_longest_kernel, per_kernel
from harness.analysis.derived import thread_instructions
from harness.evidence.tables import empty, frame
from tests.support.paths import DATA

NCU = DATA / "ncu"


def counters(*rows: Any) -> Any:
    """Make counters of (launch, metric, unit, value)."""
    columns = zip(*rows, strict=True)
    return frame("counters", dict(zip(("launch", "metric", "unit", "value"), columns, strict=True)))


def real_counters() -> Any:
    """Read ncu's own raw page: a row of names, a row of units, a row a launch."""
    with gzip.open(NCU / "small.csv.gz", "rt", newline="") as file:
        head, units, *launches = csv.reader(file)
    rows = []
    for launch, values in enumerate(launches):
        for metric, unit, value in zip(head, units, values, strict=True):
            if "__" in metric and value.replace(",", "").replace(".", "").isdigit():
                rows.append((launch, metric, unit, float(value.replace(",", ""))))
    return counters(*rows)


def test_a_real_gemm_copy_reduction_and_softmax() -> None:
    found = per_kernel(real_counters())
    assert found["time_ns"].to_list() == [25312, 13536, 10304, 41440]
    assert found["dram_bytes"].to_list() == [16_952_576, 8_442_112, 16_839_936, 8_438_272]
    assert found["dram_pct"].to_list() == [13.94, 12.99, 34.08, 4.23]
    assert found["sm_pct"].to_list() == [72.02, 47.98, 23.13, 45.08]
    assert found["tensor_pct"].to_list() == [82.58, 0.0, 0.67, 0.68]
    assert found["occupancy_pct"].to_list() == [14.15, 84.85, 90.21, 21.46]
    assert found["registers"].to_list() == [168, 32, 32, 80]
    assert found["waves"].to_list() == [0.97, 3.88, 0.97, 0.65]


@pytest.mark.parametrize(
    ("unit", "factor"), [("ns", 1), ("us", 1e3), ("usecond", 1e3), ("msecond", 1e6), ("s", 1e9)]
)
def test_times_become_nanoseconds(unit: str, factor: float) -> None:
    found = per_kernel(counters((0, "gpu__time_duration.sum", unit, 1.5)))
    assert found["time_ns"].to_list() == [1.5 * factor]


def test_bytes_of_different_scales_are_added_as_bytes() -> None:
    found = per_kernel(
        counters(
            (0, "dram__bytes_read.sum", "Mbyte", 2.5), (0, "dram__bytes_write.sum", "Kbyte", 3.0)
        )
    )
    assert found["dram_bytes"].to_list() == [2_503_000]


def test_what_was_not_measured_is_null() -> None:
    found = per_kernel(
        counters(
            (3, "dram__bytes_read.sum", "byte", 7.0),
            (3, "gpu__time_duration.sum", "fortnight", 1.0),
            (1, "some__other_metric", "", 1.0),
        )
    )
    assert found["launch"].to_list() == [1, 3]
    assert found["dram_read_bytes"].to_list() == [None, 7]
    assert found["dram_bytes"].to_list() == [None, None]
    assert found["time_ns"].to_list() == [None, None]
    assert per_kernel(empty("counters")).is_empty()


def test_a_counter_is_of_the_longest_kernel() -> None:
    """Launch 3 takes 41.44 µs of the four; its figures are ncu's own."""
    values = of_longest_kernel(real_counters())
    assert values["launch__waves_per_multiprocessor"] == 0.65
    assert values["launch__registers_per_thread"] == 80
    assert "no__such_metric" not in values
    assert of_longest_kernel(empty("counters")) == {}


def test_a_counter_of_kernels_without_a_time_or_that_is_no_number_is_not_measured() -> None:
    untimed = counters((0, "gpu__time_duration.sum", "ns", 5.0), (1, "a", "", 1.0))
    assert of_longest_kernel(untimed) == {}
    broken = counters((0, "gpu__time_duration.sum", "ns", 5.0), (0, "a", "", float("nan")))
    assert of_longest_kernel(broken) == {"gpu__time_duration.sum": 5.0}


def test_launches_of_a_kernel_are_one_row_with_the_range_of_their_times() -> None:
    times, occupancies = [3.0, 1.0, 2.0, 50.0], [30.0, None, 10.0, 80.0]
    names = ["a", "a", "a", "b"]
    rows = frame(
        "counters",
        {
            "launch": [0, 1, 2, 3, 0, 2, 3],
            "name": [*names, "a", "a", "b"],
            "metric": ["gpu__time_duration.sum"] * 4
            + ["sm__warps_active.avg.pct_of_peak_sustained_active"] * 3,
            "unit": ["us"] * 4 + ["%"] * 3,
            "value": [*times, *[value for value in occupancies if value is not None]],
        },
    )
    b, a = by_kernel(per_kernel(rows)).iter_rows(named=True)
    assert (a["name"], a["launches"], a["total_ns"]) == ("a", 3, 6000.0)
    assert (a["min_ns"], a["median_ns"], a["max_ns"]) == (1000.0, 2000.0, 3000.0)
    assert (a["occupancy_pct"], a["dram_pct"]) == (20.0, None)
    assert (b["name"], b["median_ns"], b["occupancy_pct"]) == ("b", 50_000.0, 80.0)


def test_a_kernel_without_times_has_no_total() -> None:
    (row,) = by_kernel(per_kernel(counters((0, "launch__waves_per_multiprocessor", "", 2.0)))).rows(
        named=True
    )
    assert (row["total_ns"], row["median_ns"], row["waves"]) == (None, None, 2.0)


def test_threads_execute_what_ncu_counts_in_the_longest_kernel() -> None:
    with gzip.open(NCU / "small.csv.gz", "rt", newline="") as file:
        head, _, *launches = csv.reader(file)
    softmax = launches[3][head.index("thread_inst_executed")]  # 41 µs, the longest of four
    found = thread_instructions({"counters": real_counters()})
    assert found == pytest.approx(float(softmax.replace(",", "")), rel=1e-3)
    assert (
        thread_instructions({"counters": counters((0, "gpu__time_duration.sum", "ns", 5))}) is None
    )


def test_what_is_below_zero_is_not_measured() -> None:
    rows = counters((0, "gpu__time_duration.sum", "ns", -5.0), (0, "dram__bytes_read.sum", "", 1.0))
    (found,) = per_kernel(rows).rows(named=True)
    assert (found["time_ns"], found["dram_bytes"]) == (None, None)
