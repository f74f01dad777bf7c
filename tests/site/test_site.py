"""The site of the committed reports in a browser, opened from files.

For a change the site of some problems, and of another one each day; `make battery` has all.
"""

from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import pytest

from harness.analysis.diagnose.known_findings import kinds
from tests.support import chromium, findings_page, sites
from tests.support.battery import WHOLE, part
from tests.support.paths import ROOT
from tests.support.reports import COMMITTED, REPORTS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(chromium.PROGRAM is None, reason="Chromium is not installed"),
]

SHOWN = ("1", "3", "4", "5")
"""Problems whose reports have every kind of page, and take the least time."""

SLOWEST = "6"
"""Takes as long as all others. Without it, of the pages of findings the site has the text alone."""

TIMELINES = 4
"""Of each report, for a change: the first cells, some of which a figure shows side by side."""

REPORT = "reports/1-torchao-float8/nvidia-h200"
PHONE, LARGE_PHONE, LAPTOP, DESK = 380, 400, 1100, 1600
AXE = (resources.files("axe_core_python") / "axe.min.js").read_text(encoding="utf-8")


AUDITED = [
    *("index.html", "docs/index.html"),
    *(f"docs/{file.stem}.html" for file in sorted((ROOT / "docs").glob("[!R]*.md"))),
    *(f"{REPORT}/{name}.html" for name in ("index", "kernels", "captures")),
    f"{REPORT}/timelines/stack-m1.f8-0.13.0-eager.and.bf16-eager.html",
    "reports/3-cudagraph-memory/nvidia-h200/claims.html",
]
"""The pages that axe looks at: all of the documentation, and one of each other kind."""
LAID_OUT = "runOnly: ['landmark-unique', 'scrollable-region-focusable']"
"""The rules whose outcome varies with the window's width."""
_TWO_FRAMES = (
    "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))"
)
COLOURED = "runOnly: ['color-contrast']"
ALIKE = (
    "{include: Object.values(Object.groupBy([...document.querySelectorAll('body *')].filter((each)"
    " => each.checkVisibility() && [...each.childNodes].some((node) => node.data?.trim())),"
    " (each) => { const path = [];"
    " for (let at = each; at && path.length < 8; at = at.parentElement)"
    " path.push(at.tagName, at.className); return path.join(); }))"
    ".flatMap((alike) => alike.slice(0, 2))}"
)
"""Two elements with text of each kind: by tag and class, with those of their next ancestors."""
COLOURS = {"default": "__palette_1", "slate": "__palette_2"}
"""The theme's names of the light and the dark colours, and the switch to each."""


class Site(NamedTuple):
    """A built site, what its building said on stderr, and a browser that shows its pages."""

    folder: Path
    told: str
    page: chromium.Page

    def open(self, path: str, width: int = DESK) -> chromium.Page:
        self.page.complaints.clear()
        self.page.requests.clear()
        self.page.open(self.folder / path, width, 900)
        return self.page

    def pages(self) -> list[str]:
        found = self.folder.rglob("*.html")
        return sorted(page.relative_to(self.folder).as_posix() for page in found)


def number_of(report: Path) -> str:
    return report.parent.name.partition("-")[0]


def numbers() -> set[str]:
    """Return the numbers of the problems whose reports the site shows."""
    others = sorted({number_of(report) for report in COMMITTED} - {*SHOWN, SLOWEST})
    return {*SHOWN, *part(others)} | ({SLOWEST} if WHOLE else set())


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("browse") / "site"
    told = sites.built(folder, numbers(), 0 if WHOLE else TIMELINES)
    with chromium.opened(folder / "index.html") as page:
        yield Site(folder, told, page)


def test_it_is_built_without_a_complaint(site: Site) -> None:
    assert site.told == ""
    assert len(site.pages()) > 60


def test_no_link_is_broken(site: Site) -> None:
    broken = {page: sites.broken(site.folder / page) for page in site.pages() if page != "404.html"}
    assert {page: links for page, links in broken.items() if links} == {}


def test_a_problem_with_several_reports_has_a_page_gpu_by_gpu(site: Site) -> None:
    page = site.open("index.html")
    shown = "[...document.querySelectorAll('nav a')].map((link) => link.innerText)"
    named = [text.strip() for text in page.evaluate(shown)]
    compared = {text.split(" · ")[0] for text in named if text.endswith("GPU by GPU")}
    several = {number_of(page) for page in REPORTS.glob("*/README.md")} & numbers()
    assert compared == several


def settled_width(page: chromium.Page, window: int) -> int:
    """Return a page's width, once that is no more than the window's, or a second has passed."""
    width: int = page.evaluate(
        "new Promise((done) => { const start = performance.now(); const look = () => {"
        " const width = document.documentElement.scrollWidth;"
        f" if (width <= {window} || performance.now() > start + 1000) done(width);"
        " else requestAnimationFrame(look); }; look(); })"
    )
    return width


def test_a_figures_words_can_be_read_on_a_phone(site: Site) -> None:
    page = site.open(f"{REPORT}/index.html", PHONE)
    looked_at = (
        "[...document.querySelectorAll('article p > img[src$=\".svg\"]')].filter((each) =>"
        " !each.closest('details')).map((each) => [each.width / each.naturalWidth,"
        " each.parentElement.clientWidth, each.parentElement.tabIndex])"
    )
    page.wait_for(f"{looked_at}.every(([scale, , place]) => scale > 0 && place === 0)")
    figures = page.evaluate(looked_at)
    assert figures
    assert all(14 * scale >= 12 for scale, _, _ in figures)  # figures have words of 14 px
    assert all(width <= PHONE for _, width, _ in figures)
    page.resize(DESK, 900)
    page.wait_for(f"{looked_at}.every(([, , place]) => place === -1)")


@pytest.mark.parametrize("width", [PHONE, LAPTOP, DESK])
def test_the_words_of_a_cards_figure_can_be_read(site: Site, width: int) -> None:
    """A picture is as wide as its card or wider, and what it is higher than the card is cut off."""
    page = site.open("index.html", width)
    drawn = (
        "[...document.querySelectorAll('.card img')]"
        ".map((each) => Math.max(each.width / each.naturalWidth, each.height / each.naturalHeight))"
    )
    page.wait_for(f"{drawn}.length > 0 && {drawn}.every((scale) => 14 * scale >= 11.5)")


def too_wide(page: chromium.Page) -> list[tuple[int, int]]:
    """Return the windows that a page does not fit, with the page's width in each."""
    found = []
    for window in (PHONE, LARGE_PHONE, LAPTOP, DESK):
        page.resize(window, 900)
        found.append((window, settled_width(page, window)))
    return [(window, width) for window, width in found if width > window]


def test_every_page_loads_alone_and_fits_a_phone_and_a_desk(site: Site) -> None:
    """For a change a quarter of them, another one each day; of texts of files, all alike, less."""
    pages = [path for path in site.pages() if path not in ("404.html", *AUDITED)]
    texts = [path for path in pages if (ROOT / path.removesuffix(".html")).is_file()]
    others = [path for path in pages if path not in texts]
    wrong = {}
    for path in [*part(others, least=0.25), *part(texts)]:
        page = site.open(path, PHONE)
        faults = [*too_wide(page), *page.complaints, *foreign(page)]
        if faults:
            wrong[path] = faults
    assert wrong == {}


def foreign(page: chromium.Page) -> list[str]:
    return [url for url in page.requests if not url.startswith(("file:", "data:", "blob:"))]


def test_a_search_finds_a_page_without_a_server(site: Site) -> None:
    page = site.open("index.html")
    page.evaluate("document.querySelector('.md-search__input').focus()")
    page.wait_for("document.querySelector('.md-search-result__meta').innerText.startsWith('Type')")
    page.send("Input.insertText", text="dequantisation")
    page.press("Shift")
    links = "[...document.querySelectorAll('.md-search-result__link')].map((link) => link.href)"
    found = page.wait_for(f"({links}).join()")
    assert REPORT in found


def column(page: chromium.Page, place: int) -> list[str]:
    rows = "[...document.querySelectorAll('.sortable tbody tr:not([hidden])')]"
    found: list[str] = page.evaluate(f"{rows}.map((row) => row.cells[{place}].innerText)")
    return found


def test_a_table_is_sorted_by_number_and_filtered_by_words(site: Site) -> None:
    page = site.open(f"{REPORT}/kernels.html")
    heads = page.evaluate(
        "[...document.querySelectorAll('.sortable th')].map((th) => th.innerText)"
    )
    place = heads.index("median, µs")
    for order in ("ascending", "descending"):
        page.evaluate(f"document.querySelectorAll('.sortable th button')[{place}].click()")
        shown = [float(text) for text in column(page, place)]
        assert shown == sorted(shown, reverse=order == "descending")
        sort = page.evaluate(f"document.querySelectorAll('.sortable th')[{place}].ariaSort")
        assert sort == order
    every = column(page, 2)
    page.evaluate("document.querySelector('.tools input').focus()")
    page.send("Input.insertText", text="SPLITK bf16-eager")
    kept = column(page, 2)
    assert 0 < len(kept) < len(every)
    assert all("splitk" in name.lower() for name in kept)
    assert set(column(page, 1)) == {"bf16-eager"}


def test_a_missing_number_is_sorted_last(site: Site) -> None:
    page = site.open(f"{REPORT}/kernels.html")
    place = page.evaluate(
        "[...document.querySelectorAll('.sortable th')].findIndex((th) => th.innerText === 'SM, %')"
    )
    for _ in range(2):
        page.evaluate(f"document.querySelectorAll('.sortable th button')[{place}].click()")
        gaps = [text == "–" for text in column(page, place)]
        assert gaps == sorted(gaps)
        assert {True, False} == set(gaps)


def test_a_claim_of_the_worklog_opens_to_its_evidence(site: Site) -> None:
    page = site.open(f"{REPORT}/index.html")
    link = page.evaluate("document.querySelector('a[href=\"claims.html#slow-eager\"]')?.href")
    assert link
    page.send("Page.navigate", url=link)
    page.wait_for("document.getElementById('slow-eager')?.open")
    assert page.evaluate("document.querySelectorAll('#slow-eager .dots').length") > 1


def test_a_figure_of_timelines_leads_to_them(site: Site) -> None:
    page = site.open(f"{REPORT}/index.html")
    figure = "img[src='figures/timeline-stack-m1-f8-0.13.0-eager-bf16-eager.svg']"
    links = f"[...document.querySelector(\"{figure}\").closest('p').nextElementSibling.children]"
    assert page.evaluate(f"{links}.map((link) => link.getAttribute('href'))") == [
        "timelines/stack-m1.f8-0.13.0-eager.html",
        "timelines/stack-m1.bf16-eager.html",
        "timelines/stack-m1.f8-0.13.0-eager.and.bf16-eager.html",
    ]
    page = site.open(f"{REPORT}/timelines/stack-m1.f8-0.13.0-eager.and.bf16-eager.html")
    assert page.evaluate("document.querySelectorAll('canvas').length") == 2
    assert page.evaluate("document.querySelectorAll('.difference tbody tr').length") > 3
    back = page.evaluate("document.querySelector('.place a').href")
    assert Path(unquote(urlsplit(back).path)) == site.folder / REPORT / "captures.html"


def test_a_share_of_the_roof_leads_to_the_kernels_point(site: Site) -> None:
    page = site.open(f"{REPORT}/kernels.html")
    row = "[...document.querySelectorAll('.sortable tr')].find((row) => row.cells[9].dataset.value)"
    name, link = page.evaluate(
        f"(() => {{ const row = {row}; const link = row.lastElementChild.firstElementChild;"
        " link.click(); return [row.cells[2].innerText, link.hash.slice(1)]; })()"
    )
    page.wait_for("document.querySelector('.roofline .point:target')?.closest('details').open")
    told = page.evaluate("document.querySelector('.point:target title').textContent")
    assert told.startswith(name[:12])
    assert "(measured on this GPU)" in told
    assert link.startswith("roofline-stack-m1.")
    gone = "[...document.querySelectorAll('.sortable td:last-child')].filter((cell) => !cell.title)"
    assert page.evaluate(f"{gone}.length") == 0, "a dash says why"


def test_each_capture_tells_what_opens_it(site: Site) -> None:
    page = site.open(f"{REPORT}/captures.html")
    told = page.evaluate(
        "Object.fromEntries([...document.querySelectorAll('.sortable tbody tr')].map((row) =>"
        " [row.cells[0].textContent, [...row.querySelectorAll('pre')].map((each) =>"
        " each.textContent)]))"
    )
    file = "stack-m1.bf16-eager.counters.ncu-rep"
    copied, opened = told[f"{file}.zst"][0].split("\n")  # it is not in git
    assert copied.startswith("cp .captures/*/")
    assert opened == f"zstd -d {file}.zst && ncu-ui {file}"
    for name, commands in told.items():
        assert commands, name
        assert all(name.removesuffix(".zst") in command for command in commands), name


def test_a_table_is_sorted_by_a_key(site: Site) -> None:
    page = site.open(f"{REPORT}/claims.html")
    page.evaluate("document.querySelector('.sortable th button').focus()")
    for order in ("ascending", "descending"):
        page.press("Enter")
        names = column(page, 0)
        assert names == sorted(names, reverse=order == "descending")
        assert page.evaluate("document.querySelector('.sortable th').ariaSort") == order


def test_a_page_prints_unfolded_light_and_without_navigation(site: Site) -> None:
    scheme = {"name": "prefers-color-scheme", "value": "dark"}
    site.page.send("Emulation.setEmulatedMedia", features=[scheme])
    page = site.open("reports/3-cudagraph-memory/nvidia-h200/claims.html")
    ground = "getComputedStyle(document.body).backgroundColor"
    ink = "getComputedStyle(document.querySelector('.md-typeset')).color"
    assert page.evaluate(ground) != "rgb(255, 255, 255)"
    with page.printed():
        assert page.evaluate(ground) == "rgb(255, 255, 255)"
        red, green, blue = page.evaluate(f"{ink}.match(/\\d+/g).slice(0, 3).map(Number)")
        assert max(red, green, blue) < 80
        for part in (".md-header", ".md-sidebar--primary", ".md-footer", ".tools"):
            assert not page.evaluate(f"document.querySelector('{part}')?.checkVisibility()"), part
        assert page.evaluate("document.querySelectorAll('details:not([open])').length") == 0
    assert page.evaluate("document.querySelectorAll('details:not([open])').length") > 0
    site.page.send("Emulation.setEmulatedMedia", features=[])


def test_a_kernel_of_the_table_is_selected_on_its_timeline(site: Site) -> None:
    page = site.open(f"{REPORT}/kernels.html")
    first = "document.querySelector('.sortable td a')"
    link, name = page.evaluate(f"[{first}.href, {first}.title]")
    page.send("Page.navigate", url=link)
    page.wait_for("document.documentElement?.dataset.ready")
    assert page.evaluate("document.querySelector('.detail h3').innerText") == name


def test_each_finding_leads_to_a_page_that_shows_it(site: Site) -> None:
    page = site.open("docs/findings.html")
    links = page.evaluate(
        "Object.fromEntries([...document.querySelectorAll('code a.term, td a:has(code)')]"
        ".map((link) => [link.innerText, link.href]))"
    )
    assert kinds().keys() <= links.keys()
    ending = "html" if SLOWEST in numbers() else "md.html"  # the page, or its text
    planted = [id_ for id_ in kinds() if (ROOT / findings_page.REPORT / f"{id_}.md").exists()]
    wrong = [id_ for id_ in planted if not links[id_].endswith(f"/pages/{id_}.{ending}")]
    assert wrong == []


def test_a_finding_of_a_timeline_leads_to_its_page(site: Site) -> None:
    page = site.open(f"{REPORT}/timelines/stack-m1.f8-0.13.0-eager.html")
    links = page.evaluate("[...document.querySelectorAll('.findings a')].map((link) => link.href)")
    assert links
    assert all(Path(unquote(urlsplit(link).path)).is_file() for link in links)


def test_a_word_of_the_glossary_tells_its_meaning(site: Site) -> None:
    page = site.open("reports/4-custom-hgemm/nvidia-h200/index.html")
    meaning = page.evaluate(
        "[...document.querySelectorAll('a.term')].find((link) => link.textContent === 'PDL')?.title"
        " ?? ''"
    )
    told = page.evaluate("[...document.querySelectorAll('.term')].map((link) => link.textContent)")
    assert len(told) == len(set(told)) > 0
    assert "programmatic dependent launch" in meaning


@pytest.fixture(scope="module")
def by_hand(site: Site) -> Iterator[Site]:
    """The site whose colours the reader switches; afterwards it follows the system's again."""
    site.page.send("Animation.enable")  # no text is read while its colour changes
    site.page.send("Animation.setPlaybackRate", playbackRate=1e6)
    yield site
    site.open("index.html")
    site.page.evaluate("document.getElementById('__palette_0').click()")


def switched(page: chromium.Page, colours: str) -> None:
    page.evaluate(f"document.getElementById('{COLOURS[colours]}').click()")
    page.wait_for(f"document.body.dataset.mdColorScheme === '{colours}'")


def axe(page: chromium.Page, rules: str = "", where: str = "document") -> list[list[str]]:
    """Return what axe finds: of each rule that the page breaks, its name and three elements."""
    found: list[list[str]] = page.evaluate(
        f"axe.run({where}, {{resultTypes: ['violations'], {rules}}}).then((result) =>"
        " result.violations.map(({id, nodes}) =>"
        " [id, ...nodes.slice(0, 3).map((node) => node.html)]))"
    )
    return found


@pytest.mark.parametrize("path", AUDITED)
def test_axe_finds_no_fault(by_hand: Site, path: str) -> None:
    """What a width or a colour can break; the other rules, for a change, on a quarter of them."""
    page = by_hand.open(path, PHONE)
    assert [*too_wide(page), *page.complaints, *foreign(page)] == []
    page.evaluate(f"{AXE};0")
    page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    found = {"every rule": axe(page)} if path in part(AUDITED, least=0.25) else {}
    themed = page.evaluate("!!document.getElementById('__palette_0')")
    for width in (PHONE, LAPTOP, DESK):
        page.resize(width, 900)
        page.evaluate(_TWO_FRAMES)  # the page's observers of sizes are called between frames
        found[f"{width} px"] = axe(page, LAID_OUT)
        for colours in COLOURS if themed else ():
            switched(page, colours)
            found[f"{width} px, {colours}"] = axe(page, COLOURED, ALIKE)
    assert {where: each for where, each in found.items() if each} == {}
