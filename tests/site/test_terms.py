"""The terms that the site explains: of the glossary and of all findings."""

from harness.analysis.diagnose.known_findings import kinds
from harness.site.terms import terms
from harness.site.tree import Tree
from tests.support.paths import ROOT

FOUND = terms(
    Tree(ROOT, pages={"docs/glossary.md": (ROOT / "docs" / "glossary.md").read_text()}),
    {"leak": "reports/6-zoo/gpu/pages/leak.md"},
)


def test_a_concept_is_explained_in_sentences_and_a_metric_as_code() -> None:
    meaning, page = FOUND["words"]["PDL"]
    assert meaning.startswith("programmatic dependent launch")
    assert page == "docs/glossary.html#concepts"
    assert FOUND["codes"]["wall_time"][1] == "docs/glossary.html#samples"
    assert FOUND["codes"]["harness diagnose"][1] == "docs/glossary.html#commands"
    assert "wall_time" not in FOUND["words"]


def test_words_of_everyday_are_left_alone() -> None:
    assert FOUND["words"].keys().isdisjoint({"run", "share", "cell", "word"})
    assert FOUND["codes"].keys().isdisjoint({"part", "torch", "---"})


def test_meanings_hold_no_markup() -> None:
    meanings = [meaning for places in FOUND.values() for meaning, _ in places.values()]
    assert [meaning for meaning in meanings if "`" in meaning or "](" in meaning] == []


def test_every_finding_leads_somewhere() -> None:
    assert FOUND["findings"].keys() == kinds().keys()
    assert FOUND["findings"]["leak"][1] == "reports/6-zoo/gpu/pages/leak.html"
    assert FOUND["findings"]["straggler"][1] == "docs/findings.html#straggler"
