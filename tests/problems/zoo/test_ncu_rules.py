"""How rules of Nsight Compute rank, and which findings its title leads to."""

import polars as pl
import pytest

from harness.analysis.diagnose.known_findings import kinds
from harness.evidence.tables import frame
from tests.support.exams import ZOO
from tests.support.paths import ROOT

ncu_rules = ZOO.ncu_rules
COUNTERS = {"metric": ["gpu__time_duration.sum"] * 2, "launch": [0, 1], "value": [9.0, 70.0]}


@pytest.mark.parametrize(
    ("rules", "ranked"),
    [
        (
            [(0, "Small Grid", 90.0), (1, "Tail Effect", 20.0), (1, "Wait Stalls", 30.0)],
            ["Wait Stalls", "Tail Effect"],
        ),
        # as ncu lists them
        ([(1, "Tail Effect", 2.0), (1, "Wait Stalls", 2.0)], ["Tail Effect", "Wait Stalls"]),
        ([(0, "Small Grid", 90.0)], []),  # says nothing of the longest launch
        ([(1, "Tail Effect", None)], []),
        ([], []),
    ],
)
def test_rules_of_the_longest_launch_rank_by_what_they_estimate(
    rules: list[tuple[int, str, float | None]], ranked: list[str]
) -> None:
    launch, titles, speedup = (
        (list(column) for column in zip(*rules, strict=True)) if rules else ([],) * 3
    )
    columns = {"launch": launch, "title": titles, "speedup": speedup}
    tables = {"rules": frame("rules", columns), "counters": frame("counters", COUNTERS)}
    assert ncu_rules.ranked(tables) == ranked


def test_titles_lead_to_findings_there_are() -> None:
    assert frozenset().union(*ncu_rules.NAMED.values()) <= set(kinds())
    assert ncu_rules.names("Small Grid", "too-few-blocks")
    assert not ncu_rules.names("Small Grid", "tail-effect")
    assert not ncu_rules.names("L1 Slices Workload Imbalance", "too-few-blocks")


def test_titles_of_the_published_reports_are_known() -> None:
    titles = {
        title
        for path in sorted(ROOT.glob("reports/*/*/evidence/rules.parquet"))
        for title in pl.read_parquet(path)["title"].cast(pl.String)
    }
    names_no_finding = {"Imc Miss Stalls", "L1 Slices Workload Imbalance"}
    assert titles - set(ncu_rules.NAMED) <= names_no_finding
    assert len(titles) > 10
