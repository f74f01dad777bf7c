"""No page asserts what the evidence refutes: flip a verdict, and its sentences are gone."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import cycle
from pathlib import Path

import pytest

from harness.analysis.verdict import Verdict
from harness.lint.sentences import concluding
from harness.problem import manifest
from harness.report import publish
from harness.report.page import Page
from harness.report.sections import SECTIONS
from harness.report.worklog import render
from tests.support import conclusions
from tests.support.battery import SEED, WHOLE
from tests.support.paths import ROOT
from tests.support.reports import COMMITTED

pytestmark = pytest.mark.slow

VERDICTS: tuple[Verdict, ...] = ("refuted", "tie", "undecided", "not measured")
"""The opposites of "reproduced": for a change each claim gets one, `make battery` gives it all.

A claim that is described leaves its sentence where what was measured bears it out.
"""

REAL = ("m", "ratio", "has", "says", "repeats", "verdict_line", "claims", "advice", "holds")


def templates(report: Path) -> list[Path]:
    problem = ROOT / "problems" / report.parent.name
    return [problem / "worklog.md.j2", *sorted((problem / "pages").glob("*.md.j2"))]


PAGES = [
    pytest.param(report, template, id=f"{report.parent.name}-{template.name.partition('.')[0]}")
    for report in COMMITTED
    if any("w.concludes(" in path.read_text() for path in templates(report))
    for template in templates(report)
]


@pytest.fixture(autouse=True)
def only_words(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Render no figures and tables, and note every block that concludes."""
    for name in SECTIONS:
        if name not in REAL:
            monkeypatch.setitem(SECTIONS, name, conclusions.silent)
    monkeypatch.setitem(SECTIONS, "concludes", conclusions.recorded)
    conclusions.draw_once(monkeypatch)
    yield
    conclusions.RENDERED.clear()


@cache
def page_of(report: Path) -> Page:
    """The committed evidence, with every claim reproduced."""
    problem = manifest.find(ROOT / "problems", report.parent.name)
    page = publish.page_of(problem, report)
    return replace(page, results=[replace(one, verdict="reproduced") for one in page.results])


def rendered(page: Page, template: Path) -> tuple[str, list[conclusions.Block]]:
    conclusions.RENDERED.clear()
    text = render(template, page)
    return text, [block for block in conclusions.RENDERED if block.body]


@pytest.mark.parametrize(("report", "template"), PAGES)
def test_no_sentence_asserts_a_claim_that_is_refuted(report: Path, template: Path) -> None:
    page = page_of(report)
    text, blocks = rendered(page, template)
    for block in blocks:
        assert block.body in text
    others = cycle(VERDICTS[SEED % 4 :] + VERDICTS[: SEED % 4])
    for claim in {claim for block in blocks for claim in block.ids}:
        for verdict in VERDICTS if WHOLE else (next(others),):
            text, _ = rendered(conclusions.turned(page, claim, verdict), template)
            for block in blocks:
                assert (block.body in text) == (claim not in block.ids), (claim, block.body)


@pytest.mark.parametrize("template", [pytest.param(page.values[1], id=page.id) for page in PAGES])
def test_a_sentence_that_concludes_rests_on_a_claim(template: Path) -> None:
    text = template.read_text(encoding="utf-8")
    assert list(concluding(text)) == [], "harness lint says what to do"
