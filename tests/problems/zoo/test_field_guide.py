"""Problem 6's field guide: a page a finding, which renders with and without measurements."""

import re
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from harness.analysis import claims
from harness.analysis.diagnose.known_findings import kinds
from harness.evidence.tables import Tables
from harness.extract import door
from harness.problem.manifest import find
from harness.problem.model import Problem
from harness.report.page import Page
from harness.report.worklog import render
from tests.support.field_guide import measured
from tests.support.pages import page
from tests.support.paths import DATA, ROOT
from tests.support.small_evidence import tables

pytestmark = pytest.mark.slow

FOLDER = ROOT / "problems" / "6-bottleneck-zoo"
TEMPLATES = sorted(FOLDER.glob("pages/*.md.j2"))
NOT_MEASURED = "not measured on this target"
MOST_WORDS = 350


@pytest.fixture(scope="module")
def problem() -> Problem:
    return find(ROOT / "problems", "6")


@pytest.fixture(scope="module")
def empty(problem: Problem) -> Page:
    return sub_page(problem, tables())


@pytest.fixture(scope="module")
def full(problem: Problem) -> Page:
    return sub_page(problem, measured(problem))


def sub_page(problem: Problem, evidence: Tables) -> Page:
    made = page(problem, evidence)
    results = claims.judge(problem, made.metrics, "cuda")
    return Page(problem, made.metrics, results, made.provenance, made.tables, root="../")


def id_of(template: Path) -> str:
    return template.name.removesuffix(".md.j2")


def test_every_finding_with_a_specimen_has_a_page_and_the_reverse(problem: Problem) -> None:
    planted = {case.params["finding"] for case in problem.cases.values()}
    assert {id_of(template) for template in TEMPLATES} == planted <= kinds().keys()


@pytest.mark.parametrize("template", TEMPLATES, ids=id_of)
def test_a_page_without_measurements_says_so_in_a_line_each(template: Path, empty: Page) -> None:
    text = render(template, empty)
    specimens = text.count("\n## Specimen: ")
    lines = [line for line in text.splitlines() if "not measured" in line.lower()]
    assert specimens >= 1
    assert len(lines) == 2 * specimens
    assert all(re.fullmatch(rf"\*[^*]+: {NOT_MEASURED}\.\*", line) for line in lines)


@pytest.mark.parametrize("template", TEMPLATES, ids=id_of)
def test_a_page_with_measurements_shows_picture_diagnosis_and_gain(
    template: Path, full: Page
) -> None:
    text = render(template, full)
    specimens = text.count("\n## Specimen: ")
    assert NOT_MEASURED not in text
    assert text.count(": 2×. [The claim]") == specimens  # what `measured` makes of every twin
    pictures = text.count("](../figures/") + text.count("| counter, longest launch |")
    assert pictures >= specimens
    assert text.count("`harness diagnose` on the captures") == specimens
    assert len(re.findall(r"^1\. .+ \*\*[a-z0-9-]+\*\*, ", text, re.MULTILINE)) == 2 * specimens


@pytest.mark.parametrize("template", TEMPLATES, ids=id_of)
def test_a_page_is_short(template: Path) -> None:
    prose, _, _ = template.read_text(encoding="utf-8").partition("{% set code")
    assert len(prose.split()) <= MOST_WORDS


@pytest.mark.parametrize("template", TEMPLATES, ids=id_of)
def test_the_findings_that_a_page_names_exist(template: Path) -> None:
    prose, _, _ = template.read_text(encoding="utf-8").partition("{% set code")
    named = set(re.findall(r"`([a-z]+(?:-[a-z0-9]+)+)`", prose)) - {"low-occupancy-…"}
    assert named - kinds().keys() == set()


def test_the_counters_that_pages_show_are_those_of_a_report(problem: Problem) -> None:
    """A misspelt counter would be missing on every GPU, and nobody would notice."""
    report = door.capture(DATA / "ncu" / "small.ncu-rep.zst")  # of ncu --set full
    known = set(report.captures["ncu"].tables["counters"]["metric"].cast(pl.String))
    requested = set(re.findall(r"[a-z0-9_]+__[a-z0-9_.]+", " ".join(problem.captures["ncu"].flags)))
    shown = {
        name
        for template in TEMPLATES
        for name in re.findall(r'^  "([\w.]+)",$', template.read_text("utf-8"), re.MULTILINE)
    }
    assert len(shown) > 20
    assert shown - known - requested == set()


@pytest.mark.parametrize("made", ["empty", "full"])
def test_the_worklog_links_to_every_page(made: str, request: pytest.FixtureRequest) -> None:
    text = render(FOLDER / "worklog.md.j2", replace(request.getfixturevalue(made), figures={}))
    pages = re.findall(r"\]\(\.\./pages/([a-z0-9-]+)\.md\)", text)
    assert sorted(pages) == [id_of(template) for template in TEMPLATES]
