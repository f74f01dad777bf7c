"""What a run's cells say of the conditions: doubts of a metric, notes for the reader."""

from typing import Any

import polars as pl
import pytest

from harness.analysis import reliability
from harness.evidence import tables as evidence


def cells(*rows: dict[str, Any]) -> pl.DataFrame:
    rows_of_cells: list[dict[str, Any]] = [
        {
            "cell": f"small.{row.get('variant', 'a')}.timing.r{number}",
            "variant": "a",
            "case": "small",
            "capture": "timing",
            "round": number,
            "status": "ok",
            "doubt": "",
            "retried": "",
            "sm_mhz": 1980.0,
            "idle_s": 0.1,
        }
        | row
        for number, row in enumerate(rows)
    ]
    columns = {key: [row.get(key) for row in rows_of_cells] for key in evidence.SCHEMAS["cells"]}
    names = pl.Series("cell", [row["cell"] for row in rows_of_cells])
    return evidence.frame("cells", columns).insert_column(0, names)


def samples(values: dict[tuple[str, str], float]) -> pl.DataFrame:
    rows = list(values.items())
    columns = {
        "metric": [metric for (_, metric), _ in rows],
        "value": [value for _, value in rows],
        "mark": ["" for _ in rows],
    }
    names = pl.Series("cell", [cell for (cell, _), _ in rows], dtype=pl.String)
    return evidence.frame("samples", columns).insert_column(0, names)


def notes(rows: pl.DataFrame, values: dict[tuple[str, str], float] | None = None) -> list[str]:
    return reliability.notes({"cells": rows, "samples": samples(values or {})})


def test_quiet_rounds_have_no_doubt_and_no_note() -> None:
    rows = cells({}, {"sm_mhz": 1965.0}, {})
    assert reliability.doubt(rows) == ""
    assert notes(rows) == []


def test_a_doubtful_round_makes_the_metric_doubtful() -> None:
    rows = cells({}, {"doubt": "power cap in 9 of 10 looks"}, {})
    assert reliability.doubt(rows) == "power cap in 9 of 10 looks"
    assert notes(rows) == ["small.a.timing.r1 doubtful: power cap in 9 of 10 looks"]


def test_doubts_of_several_rounds_are_one() -> None:
    capped = "power cap in 9 of 10 looks"
    drifted = "sm clock drifted from 1980 to 1755 MHz"
    rows = cells(
        {"doubt": f"{capped}; {drifted}"}, {"doubt": capped}, {"doubt": "power cap in 4 of 7 looks"}
    )
    assert reliability.doubt(rows) == f"power cap in 3 of 3 rounds; {drifted}"


def test_clocks_that_differ_between_rounds_are_told() -> None:
    assert reliability.doubt(cells({}, {"sm_mhz": 1755.0})) == (
        "SM clock between rounds from 1755 to 1980 MHz"
    )


def test_a_pause_a_retry_and_an_unwatched_cell_are_noted() -> None:
    rows = cells({"idle_s": None}, {"idle_s": 31.2}, {"retried": "x on the GPU"}, {"doubt": None})
    assert notes(rows) == [
        "1 of 4 timing cells were not watched while they measured",
        "small.a.timing.r2 run again, doubtful at first: x on the GPU",
        "no cell ran for 31 s before small.a.timing.r1",
    ]
    assert reliability.doubt(rows) == ""


def test_a_variant_whose_gpu_waits_for_the_host_is_noted() -> None:
    rows = cells({"variant": "a"}, {"variant": "b"})
    a, b = "small.a.timing.r0", "small.b.timing.r1"
    lines = notes(
        rows,
        {(a, "wall_time"): 3.0, (a, "gpu_time"): 1.0, (b, "wall_time"): 1.1, (b, "gpu_time"): 1.0},
    )
    assert lines == ["a in small is host-bound: 3.0 times its GPU time"]


@pytest.mark.parametrize("region", ["m4096", "prefill-by-ring", "2048", "below-0.05"])
def test_a_doubt_about_one_region_is_none_about_another(region: str) -> None:
    both = f"{region}: power cap in 9 of 9 looks; on the GPU, too: other"
    rows = cells({"doubt": both}, {})
    assert reliability.doubt(rows) == both
    assert reliability.doubt(rows, region) == both
    assert reliability.doubt(rows, "m1") == "on the GPU, too: other"


def test_a_note_counts_the_regions_of_a_doubt() -> None:
    capped = [f"by-{way}: power cap in {looks} of 9 looks" for looks, way in enumerate("abc", 7)]
    drifted = "by-c: sm clock drifted from 1800 to 1700 MHz"
    assert notes(cells({"doubt": f"{'; '.join(capped)}; {drifted}; on the GPU, too: other"})) == [
        f"small.a.timing.r0 doubtful: power cap in 3 regions; {drifted}; on the GPU, too: other"
    ]
