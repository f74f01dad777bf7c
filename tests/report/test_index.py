"""reports/README.md: a card a report, with its sentence only where the evidence bears it out."""

import shutil
from html import unescape
from pathlib import Path

import pytest

from harness.evidence import provenance
from harness.ground import files
from harness.problem import manifest, plan
from harness.problem.model import Bound, Card, Problem
from harness.report import card, index, publish
from tests.support.paths import ROOT
from tests.support.reports import KEPT, copied, kept_study


def with_card(problem: Problem, bound: Bound, tmp_path: Path) -> None:
    """Render the kept report with a card whose claim has that bound."""
    folder = copied(KEPT, tmp_path)
    (claim,) = problem.claims
    shown = Card(sentence="Float8 is <slow>.\n", claim=claim.id, number="the time of bf16")
    bounded = claim.model_copy(update={"bound": bound})
    marked = problem.model_copy(update={"card": shown, "claims": [bounded]})
    marked.lie_in(problem.folder)
    publish.render(marked, folder)


@pytest.fixture(scope="module")
def problem() -> Problem:
    return kept_study()


def test_a_sentence_stands_with_its_number_where_its_claim_is_reproduced(
    problem: Problem, tmp_path: Path
) -> None:
    with_card(problem, Bound(above=1), tmp_path)
    index.write(tmp_path, {})
    text = (tmp_path / "README.md").read_text()
    assert "<slow>" not in text
    assert "Float8 is <slow>. **" in unescape(text)
    assert " the time of bf16.**" in text
    assert "NVIDIA H200" in text


def test_a_sentence_whose_claim_is_refuted_is_not_shown(problem: Problem, tmp_path: Path) -> None:
    with_card(problem, Bound(above=100), tmp_path)
    index.write(tmp_path, {})
    text = (tmp_path / "README.md").read_text()
    assert "Float8 is" not in text
    assert "the time of bf16" not in text
    assert "refuted" in text


def test_a_report_of_other_scripts_is_stale(problem: Problem, tmp_path: Path) -> None:
    folder = copied(KEPT, tmp_path)
    publish.render(problem, folder)
    run = provenance.load(folder / "evidence").run
    used = {call.sources_sha256 for call in run.origins}
    assert len(used) == 1
    index.write(tmp_path, {problem.folder.name: str(used.pop())})
    assert "stale" not in (tmp_path / "README.md").read_text()
    index.write(tmp_path, {problem.folder.name: "0" * 64})
    assert (
        "**stale: the problem's scripts changed after this run**"
        in (tmp_path / "README.md").read_text()
    )


def test_a_report_of_unknown_scripts_is_not_called_stale(problem: Problem, tmp_path: Path) -> None:
    folder = copied(KEPT, tmp_path)
    publish.render(problem, folder)
    made = card.read(folder)
    assert made
    unknown = made.model_copy(update={"sources": ("", *made.sources)})
    files.write_json(folder / card.NAME, unknown.as_json())
    assert index.write(tmp_path, {problem.folder.name: "0" * 64}) == []
    text = (tmp_path / "README.md").read_text()
    assert "NVIDIA H200" in text
    assert "stale" not in text


def test_the_committed_index_is_what_the_committed_reports_say(tmp_path: Path) -> None:
    copy = tmp_path / "reports"
    shutil.copytree(ROOT / "reports", copy, ignore=shutil.ignore_patterns("captures", "*.parquet"))
    studies = [manifest.load(path.parent) for path in (ROOT / "problems").glob("*/problem.yaml")]
    index.write(copy, {study.folder.name: plan.source_hash(study) for study in studies})
    assert (copy / "README.md").read_text() == (ROOT / "reports" / "README.md").read_text()
