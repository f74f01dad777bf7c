"""docs/findings.md: what it says of each finding is what the finding says of itself."""

import re

import pytest

from harness.analysis.diagnose.known_findings import kinds
from harness.report.escape import escape
from harness.report.numbers import number
from tests.support import figures, findings_page
from tests.support.finding_signs import capture_of, signs
from tests.support.paths import ROOT

ENTRIES = dict(
    re.findall(
        r"^### `([a-z0-9-]+)`\n(.+?)(?=^### |\Z)",
        findings_page.PAGE.read_text(encoding="utf-8"),
        re.MULTILINE | re.DOTALL,
    )
)
MEASURED = {id_ for id_ in kinds() if (ROOT / findings_page.REPORT / f"{id_}.md").exists()}
DRAWN = {
    "grid-barrier": "busiest part: issue slots",
    "l1-bound": "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed",
    "small-tiles": "tensor pipe",
    "frequent-barriers": "warps' cycles: barrier",
    "global-sums": "memory busy or waited for",
}
"""Evidence of a launch that its picture has as a bar."""


def test_the_page_is_what_the_findings_say() -> None:
    written = findings_page.PAGE.read_text(encoding="utf-8")
    assert written == findings_page.text(), "run: python -m tests.support.findings_page"


def test_every_finding_is_listed_once_with_its_sentence() -> None:
    written = findings_page.PAGE.read_text(encoding="utf-8")
    listed = re.findall(r"^\| \[`([a-z0-9-]+)`\]\([^)]+\) \| (.+) \|$", written, re.MULTILINE)
    assert sorted(listed) == sorted((kind.id, kind.title) for kind in kinds().values())


def test_every_finding_has_a_page_that_measures_it_or_an_entry() -> None:
    assert kinds().keys() == MEASURED | ENTRIES.keys()
    assert MEASURED.isdisjoint(ENTRIES)


@pytest.mark.parametrize("id_", kinds())
def test_page_and_entry_say_where_to_look_what_to_do_and_what_looks_alike(id_: str) -> None:
    page = ROOT / findings_page.REPORT / f"{id_}.md"
    text = page.read_text(encoding="utf-8") if id_ in MEASURED else ENTRIES[id_]
    assert "**Where to look.** " in text
    assert "**Its neighbours.** " in text
    assert all(escape(fix) in text for fix in kinds()[id_].fix)
    neighbours = text.partition("**Its neighbours.** ")[2].partition("\n")[0]
    assert set(re.findall(r"`([a-z0-9]+(?:-[a-z0-9]+)*)`", neighbours)) & (kinds().keys() - {id_})


@pytest.mark.parametrize("id_", ENTRIES)
def test_an_entry_has_the_numbers_of_its_capture_and_a_picture(id_: str) -> None:
    shown = ENTRIES[id_].partition("**What the diagnosis sees** in ")[2].partition("![")[0]
    numbers = re.findall(r"^- .+: (\S+)", shown, re.MULTILINE)
    assert len(numbers) == len(findings_page.found(id_).evidence) > 1
    assert f"](pictures/findings/{id_}.svg)" in ENTRIES[id_]


def test_constants_stand_as_values() -> None:
    assert re.findall(r"\b_?[A-Z]{3,}_[A-Z]+\b", "".join(ENTRIES.values())) == []


@pytest.mark.slow
def test_the_pictures_are_those_of_the_captures() -> None:
    kept = {path.name: path.read_text("utf-8") for path in findings_page.PICTURES.iterdir()}
    assert kept == findings_page.pictures(), "run: python -m tests.support.findings_page"


@pytest.mark.parametrize(("id_", "metric"), DRAWN.items())
def test_a_launch_s_picture_has_the_number_of_its_evidence(id_: str, metric: str) -> None:
    evidence = {each.metric: each.value for each in findings_page.found(id_).evidence}
    drawn = signs()[id_].draw(capture_of(id_)) or ""
    assert number(evidence[metric]) in {label.text for label in figures.labels(drawn)}
