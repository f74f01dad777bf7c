"""reports/README.md: a card a report, with its sentence only where the evidence bears it out."""

import shutil
from html import unescape
from pathlib import Path

import pytest

from harness.evidence import provenance
from harness.problem import manifest, plan
from harness.problem.model import Bound, BoundClaim, Card, Problem
from harness.report import index, publish
from tests.support.paths import ROOT
from tests.support.reports import committed, copied

STUDY = "3-cudagraph-memory"


def with_card(problem: Problem, bound: Bound, tmp_path: Path) -> None:
    """Render a copied report with a card whose claim is measured and has that bound."""
    folder = report_in(tmp_path)
    claim = next(
        result.claim
        for result in publish.page_of(problem, folder).results
        if isinstance(result.claim, BoundClaim) and result.measured.value is not None
    )
    bounded = claim.model_copy(update={"bound": bound, "otherwise": ""})
    shown = Card(sentence="Graphs keep <memory>.", claim=claim.id, number="of what bf16 takes")
    claims = [bounded if other is claim else other for other in problem.claims]
    marked = problem.model_copy(update={"card": shown, "claims": claims})
    marked.lie_in(problem.folder)
    publish.render(marked, folder)


def report_in(tmp_path: Path) -> Path:
    """A copy of the committed report."""
    folder = copied(STUDY, tmp_path)
    shutil.copytree(committed(STUDY) / "captures", folder / "captures")
    return folder


@pytest.fixture(scope="module")
def problem() -> Problem:
    return manifest.find(ROOT / "problems", STUDY)


def test_a_sentence_stands_with_its_number_where_its_claim_is_reproduced(
    problem: Problem, tmp_path: Path
) -> None:
    with_card(problem, Bound(above=-1e30), tmp_path)
    index.write(tmp_path, {})
    text = (tmp_path / "README.md").read_text()
    assert "<memory>" not in text
    assert "Graphs keep <memory>." in unescape(text)
    assert " of what bf16 takes.**" in text
    assert "NVIDIA H200" in text


def test_a_sentence_whose_claim_is_refuted_is_not_shown(problem: Problem, tmp_path: Path) -> None:
    with_card(problem, Bound(above=1e30), tmp_path)
    index.write(tmp_path, {})
    text = (tmp_path / "README.md").read_text()
    assert "Graphs keep" not in text
    assert "of what bf16 takes" not in text
    assert "refuted" in text


def test_a_report_of_other_scripts_is_stale(problem: Problem, tmp_path: Path) -> None:
    folder = report_in(tmp_path)
    publish.render(problem, folder)
    run = provenance.load(folder / "evidence").run
    used = {call.sources_sha256 for call in run.origins}
    assert len(used) == 1
    index.write(tmp_path, {STUDY: str(used.pop())})
    assert "stale" not in (tmp_path / "README.md").read_text()
    index.write(tmp_path, {STUDY: "0" * 64})
    assert (
        "**stale: the problem's scripts changed after this run**"
        in (tmp_path / "README.md").read_text()
    )


def test_the_committed_index_is_what_the_committed_reports_say(tmp_path: Path) -> None:
    copy = tmp_path / "reports"
    shutil.copytree(ROOT / "reports", copy, ignore=shutil.ignore_patterns("captures", "*.parquet"))
    studies = [manifest.load(path.parent) for path in (ROOT / "problems").glob("*/problem.yaml")]
    index.write(copy, {study.folder.name: plan.source_hash(study) for study in studies})
    assert (copy / "README.md").read_text() == (ROOT / "reports" / "README.md").read_text()
