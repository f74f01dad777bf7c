"""Counters of two reports as text: the sentence names the cause, the table holds its time."""

import pytest

from harness.analysis.diff import counters
from harness.evidence.tables import Tables, frame
from harness.report.kernel_difference import kernels

TIME, CLOCK = "gpu__time_duration.sum", "gpc__cycles_elapsed.avg.per_second"
CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"
Launch = tuple[str, dict[str, float]]
BASE = {TIME: 100_000.0, CLOCK: 2e9, "device__attribute_multiprocessor_count": 132.0}


def report(*launches: Launch) -> Tables:
    rows = [
        (number, name, metric, "ns" if metric == TIME else "", value)
        for number, (name, metrics) in enumerate(launches)
        for metric, value in metrics.items()
    ]
    columns = ("launch", "name", "metric", "unit", "value")
    return {"counters": frame("counters", dict(zip(columns, zip(*rows, strict=True), strict=True)))}


def test_one_kernel_is_explained_by_its_cause() -> None:
    a = report(("padded", BASE | {CONFLICTS: 26.4e6}))
    b = report(("plain", BASE | {CONFLICTS: 0.0, TIME: 40_000.0}))
    (section,) = kernels(counters.compare(a, b))
    assert section.title == "Counters: padded → plain"
    assert section.lead == (
        "A launch of padded → plain takes 0.4× as long (100 → 40 µs): shared memory's bank"
        " conflicts 26,400,000 → 0, which cost 100 µs less."
    )
    assert section.rows == [
        ["shared memory's bank conflicts", "26,400,000", "0", "100", "0", "\N{MINUS SIGN}100"]
    ]
    assert section.notes == [f"shared memory's bank conflicts: {CONFLICTS}"]


def test_several_kernels_are_listed_and_sum() -> None:
    a = report(("k", BASE), ("k", BASE), ("same", BASE), ("old", BASE | {TIME: 5_000.0}))
    b = report(("k", BASE | {TIME: 300_000.0}), ("same", BASE), ("same", BASE))
    section = kernels(counters.compare(a, b))[0]
    assert section.title == "Profiled kernels"
    assert {row[0]: row[1:] for row in section.rows} == {
        "k": ["2", "1", "200.0", "300.0", "+100.0"],
        "same": ["1", "2", "100.0", "200.0", "+100.0"],
        "old (gone)": ["1", "0", "5.0", "0.0", "\N{MINUS SIGN}5.0"],
        "all": ["4", "3", "305.0", "500.0", "+195.0"],
    }
    assert section.lead.startswith("The profiled kernels take 1.64× as long (305 → 500 µs)")
    assert sum(float(row[4]) for row in section.rows[:-1]) == pytest.approx(500)


def test_a_change_that_no_counter_explains_says_so() -> None:
    a, b = report(("k", BASE)), report(("k", BASE | {TIME: 150_000.0}))
    (section,) = kernels(counters.compare(a, b))
    assert section.lead.endswith("no counter of both reports explains it.")
    (same,) = kernels(counters.compare(a, a))
    assert same.lines[0].startswith("No kernel's time under Nsight Compute changed")
    assert kernels([]) == []
