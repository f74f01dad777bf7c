"""A site of strangers' words: its pages are made of the same elements whatever the words are."""

from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from harness.site import build, pages
from tests.support import chromium, planted
from tests.support.hostile_page import hostile_page
from tests.support.paths import ROOT
from tests.support.payloads import PAYLOADS

pytestmark = pytest.mark.slow

HOSTILE = " ".join(text for text in PAYLOADS if text.isprintable() and len(text) < 60)
PLANTED = "<b id=planted>x</b><img src=x onerror=document.body.id='planted'>"


class Elements(HTMLParser):
    """Counts a page's elements, with the names of their attributes; code in a sentence may be."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.found: Counter[str] = Counter()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = " ".join(sorted(name for name, _ in attrs))
        if tag != "code":
            self.found[f"{tag} {names}"] += 1


def built(folder: Path, words: str, worklog: str = "# Worklog") -> Path:
    """Build the site of one report whose captures and manifest hold ``words``."""
    report = folder / "reports" / "9-example" / "gpu"
    report.mkdir(parents=True)
    (report / "evidence").mkdir()
    (report / "README.md").write_text(f"{worklog}\n")
    (folder / "docs").symlink_to(ROOT / "docs")
    study = hostile_page(words, folder / "problems" / "9-example")
    known = study.provenance.cells[0]
    cells = tuple(known.model_copy(update={"cell": name}) for name in study.tables["cells"]["cell"])
    provenance = study.provenance.model_copy(update={"cells": cells})
    # The figure of a memory capture takes long, and tests/battery has it.
    drawn = study.tables["cells"]["capture"] != "memory"
    tables = study.tables | {"cells": study.tables["cells"].filter(drawn)}
    shown = replace(study, folder=report, provenance=provenance, tables=tables)
    build.build(pages.sources(folder, [shown]), folder / "site")
    return folder / "site" / "reports" / "9-example" / "gpu"


def test_words_make_no_elements(tmp_path: Path) -> None:
    clean, hostile = (
        built(tmp_path / name, words) for name, words in (("a", "word"), ("b", HOSTILE))
    )
    names = sorted(page.relative_to(clean) for page in clean.rglob("*.html"))
    assert {name.name for name in names} >= {"claims.html", "kernels.html", "captures.html"}
    for name in names:
        assert Elements(hostile / name).found == Elements(clean / name).found, name


@pytest.mark.skipif(chromium.PROGRAM is None, reason="Chromium is not installed")
def test_a_browser_runs_no_word(tmp_path: Path) -> None:
    folder = built(tmp_path, PLANTED)
    with chromium.opened(folder / "index.html") as page:
        for shown in sorted(folder.rglob("*.html")):
            page.open(shown, 1200, 900)
            assert page.evaluate("document.getElementById('planted')") is None, shown
            assert page.complaints == [], shown
        page.open(folder / "kernels.html", 1200, 900)
        assert PLANTED in page.evaluate("document.body.innerText")


@pytest.mark.skipif(chromium.PROGRAM is None, reason="Chromium is not installed")
def test_markup_of_a_report_does_nothing(tmp_path: Path) -> None:
    """A report's page is Markdown, in which a stranger may write any element."""
    folder = built(tmp_path, "word", f"# Worklog\n\n{planted.MARKUP}")
    html = (folder / "index.html").read_text(encoding="utf-8")
    assert planted.MARKUP.splitlines()[0] in html
    with chromium.opened(folder / "index.html") as page:
        assert planted.acted(page) == set()
        assert all("Content Security Policy" in each for each in page.complaints), page.complaints
        assert page.evaluate("typeof __md_get") == "function", "the theme's own script runs"
