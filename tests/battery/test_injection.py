"""Strangers' words in every sink: what a page, a figure or a terminal is made of stays the same."""

import re
import xml.etree.ElementTree as ElementTree
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from harness.cli import judgement, output
from harness.ground.plain import plain
from harness.report import card, index
from harness.report.chart import dark_style, svg
from harness.report.page import Page
from harness.report.worklog import render
from harness.view import document
from tests.support import chromium
from tests.support.battery import Figures, part
from tests.support.hostile_page import hostile_page
from tests.support.payloads import PAYLOADS
from tests.support.programs import US, Program
from tests.support.subjects import subject

TEMPLATE = Path(__file__).parents[1] / "support" / "every_section.j2"
PLAIN = "word"
TRIED = part(PAYLOADS)

FORGE = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
LINKED = re.compile(  # what GFM links, and GitHub mentions, without any mark
    r"(?:https?|ftp)://\w|(?i:\bwww\.\w)|(?i:mailto:|xmpp:)\w|[\w.+-]+@[\w-]+\.\w|(?<!\w)@\w"
    r"|\[\^[^\]]*\]|\$[^$\n]+\$"
)


class Tags(HTMLParser):
    """Counts elements, with their attributes' names, and comments and declarations."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.found: Counter[str] = Counter()
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found[f"<{tag} {' '.join(sorted(name for name, _ in attrs))}>"] += 1

    def handle_endtag(self, tag: str) -> None:
        self.found[f"</{tag}>"] += 1

    def handle_comment(self, data: str) -> None:
        self.found["<!--"] += 1

    def handle_decl(self, decl: str) -> None:
        self.found["<!"] += 1

    def handle_pi(self, data: str) -> None:
        self.found["<?"] += 1


def tags(markdown: str) -> Counter[str]:
    """Return what a page's HTML is made of; in sentences of the manifest code may be marked."""
    found = Tags(FORGE.render(markdown)).found
    return Counter(
        {tag: count for tag, count in found.items() if tag not in ("<code >", "</code>")}
    )


def links(markdown: str) -> int:
    """Return how much of a page's text, outside of code, a forge would link or typeset."""
    without = re.sub(r"```.*?```|`[^`\n]*`|<code>.*?</code>|<[^>]*>", "", markdown, flags=re.DOTALL)
    return len(LINKED.findall(without))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "9-example"
    folder.mkdir()
    (folder / "problem.yaml").write_text("title: A title\n")
    return folder


def rendered(folder: Path, text: str) -> tuple[Page, str]:
    page = hostile_page(text, folder)
    template = folder / "worklog.md.j2"
    known = text.encode("utf-8", "replace").decode()
    literal = "".join(f"\\u{ord(c):04x}" if ord(c) < 0x10000 else c for c in known)
    template.write_text(f'{{% set text = "{literal}" %}}\n{TEMPLATE.read_text()}')
    return page, render(template, page)


def test_a_page_is_made_of_the_same_elements(folder: Path, figures: Figures) -> None:
    _, clean = rendered(folder, PLAIN)
    assert clean.count("not measured on this target") <= 4
    of_clean, linked = tags(clean), links(clean)
    for text in TRIED:
        _, page = rendered(folder, text)
        assert tags(page) == of_clean, text
        assert links(page) == linked, text
        assert all(plain(line) == line for line in page.split("\n")), text
    figures(payloads=len(TRIED), elements=of_clean.total())


def test_the_index_is_made_of_the_same_elements(
    folder: Path, tmp_path: Path, figures: Figures
) -> None:
    def written(text: str) -> str:
        known = text.encode("utf-8", "replace").decode()
        page = hostile_page(text, folder)
        held = [replace(result, verdict="reproduced") for result in page.results]
        page = replace(page, results=held)  # of one process, which would describe
        page.figures["picture.svg"] = "<svg/>"
        safe = re.sub(r"[/\0]", "", known)[:60]
        report = tmp_path / "reports" / f"p{safe}" / f"t{safe}"
        report.mkdir(parents=True)
        card.write(page, report)
        shown = card.read(report)
        assert shown
        assert shown.sentence
        words = dict.fromkeys(("title", "sentence", "number", "figure", "measured"), known)
        worded = shown.model_copy(update=words)
        return index._card([index._Report(worded, f"p{safe}/t{safe}", "cuda", [])])

    of_clean = tags(written(PLAIN))
    for text in TRIED:
        shown = written(text)
        assert tags(shown) == of_clean, text
        assert links(shown) == 0, text
        assert all(plain(line) == line for line in shown.split("\n")), text
    figures(payloads=len(TRIED))


FIGURES = {
    "waterfall": 'w.waterfall("a", "slow", "fast", "small", text)',
    "gpu_timeline": 'w.gpu_timeline("slow", "small", text, against="fast")',
    "timeline": 'w.timeline("b", "slow", "small", text)',
    "region_bars": 'w.region_bars("c", "time", ("slow", "small"), text, [])',
    "variant_bars": 'w.variant_bars("g", "time", "small", ["slow", "fast"], text)',
    "parts": 'w.parts("d", "small", ["slow", "fast"], text, total="time", metrics=["part"],'
    ' beside=["time"])',
    "sweep": 'w.sweep("e", "time", "m", ["small", "large"], ["slow", "fast"], text)',
}


def drawn(folder: Path, text: str, call: str) -> tuple[str, str]:
    page = replace(hostile_page(text, folder), figures={})
    template = folder / "figure.md.j2"
    template.write_text(f"{{% set text = problem.title %}}\n{{{{ {call} }}}}\n")
    markdown = render(template, page)
    (svg,) = page.figures.values()
    return markdown, svg


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_drawn_of_the_same_elements(name: str, folder: Path, figures: Figures) -> None:
    def kinds(drawing: str) -> set[str]:
        return {
            f"{element.tag} {attribute}"
            for element in ElementTree.fromstring(drawing).iter()  # noqa: S314 - our own
            for attribute in ("", *element.attrib)
        }

    markdown, svg = drawn(folder, PLAIN, FIGURES[name])
    of_clean, shape = tags(markdown), kinds(svg)
    tried = TRIED[list(FIGURES).index(name) :: 4 * len(FIGURES)]  # a figure takes its time
    for text in tried:
        markdown, svg = drawn(folder, text, FIGURES[name])
        assert tags(markdown) == of_clean, text
        assert kinds(svg) <= shape | _LAYOUT, text
    figures(payloads=len(tried))


SVG = "{http://www.w3.org/2000/svg}"
_LAYOUT = {
    f"{SVG}{name}" for name in ("tspan ", "tspan dy", "tspan x", "text opacity", "line opacity")
}
"""What the number of a label's lines and its room decide."""


def test_titles_and_labels_are_drawn_as_they_are(figures: Figures) -> None:
    import altair as alt

    for text in [*TRIED, '"', "\\", '\\" + datum + "', '" + format(1, "") + "']:
        rows = [{"label": text, "size": 1}, {"label": f"{text} more", "size": 2}]
        data = alt.Data(values=rows)  # type: ignore[no-untyped-call]
        x, y, colour = (alt.X("size:Q", title=text), alt.Y("label:N"), alt.Color("label:N"))
        drawn = svg(alt.Chart(data).mark_bar().encode(x=x, y=y, color=colour))
        elements = list(ElementTree.fromstring(drawn).iter())  # noqa: S314 - our own
        found = {element.tag for element in elements}
        names = ("svg", "g", "path", "rect", "text", "line", "style")
        assert found <= {f"{SVG}{name}" for name in names}
        (style,) = (element.text for element in elements if element.tag == f"{SVG}style")
        assert style == dark_style()
    figures(payloads=len(TRIED))


@pytest.mark.skipif(chromium.PROGRAM is None, reason="Chromium is not installed")
def test_a_browser_runs_no_word_even_as_markup(tmp_path: Path, figures: Figures) -> None:
    """Each word as the name of a kernel, and a second time as if nothing had escaped it."""
    file = tmp_path / "view.html"
    file.write_text("<html data-ready=1>")
    with chromium.opened(file) as page:
        for text in TRIED:
            word = text.encode("utf-8", "replace").decode()
            word = word.replace("alert(1)", "document.documentElement.dataset.ran=1")
            made = Program()
            for _ in range(3):
                made.launch(50 * US, word)
            html = document.page([subject("made", made.tables())])
            file.write_text(html.replace("</body>", f"{word}</body>"), encoding="utf-8")
            page.open(file, 1200, 900)
            assert page.evaluate("document.documentElement.dataset.ran") is None, text
            assert page.evaluate("document.querySelectorAll('canvas').length") == 1, text
            refused = [each for each in page.complaints if "Content Security Policy" in each]
            assert refused == page.complaints, text
    figures(payloads=len(TRIED))


def test_a_terminal_is_not_steered(
    folder: Path, figures: Figures, capsys: pytest.CaptureFixture[str]
) -> None:
    from harness.analysis.diagnose import conclude
    from harness.analysis.scope import scope
    from harness.evidence.capture import Capture
    from harness.evidence.subject import Folder
    from harness.report import finding_text

    for text in TRIED:
        page = hostile_page(text, folder)
        run = page.provenance.run
        of = scope(page.problem, page.results, run)
        evidence = Folder(text, page.tables, page.provenance)
        judgement.show(page.problem, of, evidence)
        output.table([text, text], [[text, text]], text)
        for kind in ("nsys", "memory"):
            captured = page.metrics.capture_of(kind, "slow", "small")
            assert captured
            named = Capture(text, captured, {}, kind)
            for line in finding_text.lines(conclude.diagnose([named])):
                output.say(line)
        output.say(text)
        output.say(text, to_stderr=True)
        shown = capsys.readouterr()
        for line in [*shown.out.split("\n"), *shown.err.split("\n")]:
            assert plain(line) == line, text
    figures(payloads=len(TRIED))
