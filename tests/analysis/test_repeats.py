"""Numbered ranges as series, and what each of a series' ranges ran."""

import pytest

from harness.analysis import repeats
from tests.support.programs import US, Program


@pytest.mark.parametrize(
    ("name", "series"),
    [
        ("step3", "stepN"),
        ("ProfilerStep#12", "ProfilerStep#N"),
        ("aten::add, op_id = 17", "aten::add, op_id = N"),
        ("aten::add, seq = 4, op_id = 17", "aten::add, seq = N, op_id = N"),
        ("layer 7", "layer N"),
        ("step:forward", "step:forward"),
        ("sm_90", "sm_N"),
        ("17", "17"),
    ],
)
def test_a_number_at_the_end_makes_a_series(name: str, series: str) -> None:
    assert repeats.series(name) == series


@pytest.mark.parametrize(
    ("series", "name"),
    [("step N", "step"), ("stepN", "step"), ("layer_N", "layer"), ("a = N", "a")],
)
def test_a_series_is_called_by_what_its_names_share(series: str, name: str) -> None:
    assert repeats.without_number(series) == name


def test_ranges_of_a_series_are_counted_and_timed_together() -> None:
    program = Program()
    for turn in range(4):
        with program.marked(f"step{turn}"):
            program.launch((10 + turn) * US)
            program.launch(10 * US)
            program.synchronise()
    with program.marked("once1"):
        program.launch(10 * US)
    tables = program.tables()
    (row,) = repeats.series_table(tables).iter_rows(named=True)
    assert (row["name"], row["count"], row["kernels"]) == ("stepN", 4, 2.0)
    assert (row["busy_min_ns"], row["busy_ns"], row["busy_max_ns"]) == (20_000, 21_500, 23_000)
    named = repeats.with_series(tables["ranges"])["name"].to_list()
    assert named == ["stepN"] * 4 + ["once1"]
