"""Measurements that a test plants in place of a run's, and the page of a study on them."""

from collections.abc import Mapping, Sequence

from harness.analysis.claims import judge
from harness.analysis.metrics import Metrics
from harness.evidence.tables import Tables
from harness.problem.model import Problem
from harness.problem.plan import Cell
from harness.report.page import Page
from tests.support import reports
from tests.support.small_evidence import Row


def cell(planned: Cell) -> Row:
    """Return the row of ``cells`` of a cell that ran well, at one clock."""
    known = {key: getattr(planned, key) for key in ("variant", "case", "capture", "round")}
    seen = {"sm_mhz": 1755.0, "sm_mhz_min": 1755.0, "sm_mhz_max": 1755.0}
    well = {"status": "ok", "doubt": "", "retried": ""}
    return {"cell": planned.name, **known, **well, **seen}


def samples(planned: Cell, region: str, metric: str, values: Sequence[float]) -> list[Row]:
    """Return the rows of ``samples`` of one metric of a region."""
    about = {"cell": planned.name, "region": region, "metric": metric, "mark": ""}
    return [about | {"index": at, "value": value} for at, value in enumerate(values)]


def facts(planned: Cell, values: Mapping[str, float]) -> list[Row]:
    """Return the rows of ``facts`` that a cell states."""
    return [{"cell": planned.name, "name": name, "value": value} for name, value in values.items()]


def page_of(problem: Problem, evidence: Tables) -> Page:
    """Return the page of a study on a GPU, of scripts that are not known."""
    metrics = Metrics(problem, evidence)
    judged = judge(problem, metrics, "cuda")
    return Page(problem, metrics, judged, reports.of_unknown_scripts(), evidence)
