"""reports/README.md: a card per study, with its sentence only where the evidence bears it out."""

import shutil
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from harness.evidence import provenance
from harness.problem import manifest
from harness.problem.model import Bound, Card, Problem
from harness.problem.started import started
from harness.problem.state import state
from harness.report import card, index, publish
from tests.support.origins import utc
from tests.support.paths import ROOT
from tests.support.reports import KEPT, copied, kept_study


def with_card(problem: Problem, bound: Bound, tmp_path: Path, *, before: bool = True) -> None:
    """Render the kept report with a card whose claim got that bound before the run, or since."""
    folder = copied(KEPT, tmp_path)
    (claim,) = problem.claims
    shown = Card(sentence="Float8 is <slow>.\n", claim=claim.id, number="the time of bf16")
    bounded = claim.model_copy(update={"bound": bound})
    marked = problem.model_copy(update={"card": shown, "claims": [bounded]})
    marked.lie_in(problem.folder)
    if before:
        known = provenance.load(folder / "evidence")
        begun = known.run.model_copy(update={"claims": started(marked), "resumed": ()})
        provenance.save(folder / "evidence", begun, list(known.cells), known.tables)
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


def test_in_place_of_a_sentence_whose_claim_is_refuted_stands_the_summarys_first(
    problem: Problem, tmp_path: Path
) -> None:
    problem = problem.model_copy(update={"summary": "torchao 0.13.0 is slow.\nWhy?\n"})
    with_card(problem, Bound(above=100), tmp_path)
    index.write(tmp_path, {})
    text = (tmp_path / "README.md").read_text()
    assert "Float8 is" not in text
    assert "\n\ntorchao 0.13.0 is slow.\n\n" in text
    assert "the time of bf16" not in text
    assert "1 refuted" in text


def test_a_sentence_whose_bound_moved_after_the_run_is_called_described(
    problem: Problem, tmp_path: Path
) -> None:
    with_card(problem, Bound(above=1.01), tmp_path, before=False)
    index.write(tmp_path, {})
    text = (tmp_path / "README.md").read_text()
    assert "Float8 is" in text
    assert " the time of bf16 (described).**" in text
    assert "no claim tested; 1 described" in text


def test_a_described_claim_that_is_not_borne_out_gets_no_sentence(
    problem: Problem, tmp_path: Path
) -> None:
    with_card(problem, Bound(above=100), tmp_path, before=False)
    index.write(tmp_path, {})
    assert "Float8 is" not in (tmp_path / "README.md").read_text()


def indexed(problem: Problem, folder: Path, state: dict[str, str] | None, **more: Any) -> str:
    """Return the index over the kept report, whose run recorded that state and ``more``."""
    report = copied(KEPT, folder)
    known = provenance.load(report / "evidence")
    recorded = {"sources_sha256": None, "state": state, "resumed": ()} | more
    run = known.run.model_copy(update=recorded)
    provenance.save(report / "evidence", run, list(known.cells), known.tables)
    publish.render(problem, report)
    assert index.write(folder, {problem.folder.name: problem}) == []
    return (folder / "README.md").read_text()


def test_a_report_says_what_changed_since_its_run(problem: Problem, tmp_path: Path) -> None:
    now = state(problem)
    assert "stale" not in indexed(problem, tmp_path / "as now", now)
    before = now | {"repro.py": "0" * 16, "capture nsys": "0" * 16}
    text = indexed(problem, tmp_path / "before", before)
    assert " · **stale: since this run repro.py and capture nsys changed**" in text


@pytest.mark.parametrize(("late_s", "is_stale"), [(-1, False), (1, True)])
def test_a_call_whose_cells_all_ran_again_makes_no_report_stale(
    problem: Problem, late_s: int, is_stale: bool, tmp_path: Path
) -> None:
    now = state(problem)
    known = provenance.load(KEPT / "evidence")
    first = int(min(cell.started for cell in known.cells))
    again = known.run.origins[0].model_copy(
        update={"state": now, "sources_sha256": None, "started": utc(first + late_s)}
    )
    before = now | {"repro.py": "0" * 16}
    calls = {"started": utc(first - 1000), "resumed": (again,)}
    assert ("stale" in indexed(problem, tmp_path, before, **calls)) == is_stale


def test_a_report_of_an_unknown_state_is_not_called_stale(problem: Problem, tmp_path: Path) -> None:
    text = indexed(problem, tmp_path, None)
    assert "NVIDIA H200" in text
    assert "stale" not in text


def test_the_committed_index_is_what_the_committed_reports_say(tmp_path: Path) -> None:
    copy = tmp_path / "reports"
    shutil.copytree(ROOT / "reports", copy, ignore=shutil.ignore_patterns("captures", "*.parquet"))
    studies = [manifest.load(path.parent) for path in (ROOT / "problems").glob("*/problem.yaml")]
    index.write(copy, {study.folder.name: study for study in studies})
    assert (copy / "README.md").read_text() == (ROOT / "reports" / "README.md").read_text()


def test_a_study_has_one_card_of_the_report_that_stands_and_links_to_the_others() -> None:
    shown = card.read(ROOT / "reports" / "8-gemm-any-shape" / "nvidia-h200")
    assert shown
    older = shown.model_copy(update={"gpus": ("Older",), "measured": "2001-01-01"})
    stale = shown.model_copy(update={"gpus": ("Stale",), "measured": "2999-01-01"})
    made = [
        index._Report(stale, "8/stale", "cuda", ["**stale**"]),
        index._Report(older, "8/older", "cuda", []),
        index._Report(shown, "8/newer", "cuda", []),
    ]
    made.sort(key=index._Report.standing, reverse=True)
    text = index._card(made)
    assert text.count("## ") == text.count("<img") == 1
    assert text.startswith(f"## [{shown.title}](8/newer/README.md)")
    assert "Also on [Older](8/older/README.md) · " in text
    assert (
        text.index("[Older]") < text.index("[Stale](8/stale/README.md)") < text.index("**stale**")
    )
    assert "[GPU by GPU](8/README.md)" in text
