"""The page in a browser: it loads alone, zooms, selects, sorts, searches, and fits its window."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.analysis.kernels import short_name
from harness.extract import door
from harness.view import document
from tests.support import chromium
from tests.support.paths import DATA
from tests.support.programs import US, Program
from tests.support.subjects import subject

HOSTILE = "nvjet_<b id=planted>bold</b>"

HEAD = "document.querySelector('thead').rows[0]"
SEARCH = "document.getElementById('search')"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(chromium.PROGRAM is None, reason="Chromium is not installed"),
]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[chromium.Page]:
    """Three kernels, launched one after another and waited for, and one with a hostile name."""
    made = Program()
    for number in range(30):
        made.launch((number % 3 + 1) * 50 * US, f"kernel_{number % 3}")
        made.synchronise()
        made.work(40 * US)
    made.launch(90 * US, HOSTILE)
    file = tmp_path_factory.mktemp("page") / "view.html"
    file.write_text(document.page([subject("made", made.tables())]))
    with chromium.opened(file) as opened:
        yield opened


def named(page: chromium.Page, column: int = 0) -> list[str]:
    cells = "document.querySelectorAll('tbody')[0].querySelectorAll('tr:not([hidden])')"
    found: list[str] = page.evaluate(f"[...{cells}].map((row) => row.cells[{column}].innerText)")
    return found


def search(page: chromium.Page, text: str) -> None:
    page.evaluate(f"{SEARCH}.value = '{text}', {SEARCH}.dispatchEvent(new Event('input'))")


def test_it_loads_without_complaint_and_asks_for_nothing_else(page: chromium.Page) -> None:
    assert page.complaints == []
    assert [url for url in page.requests if not url.startswith("file:")] == []
    assert page.evaluate("document.querySelectorAll('canvas').length") == 1


def test_a_kernel_of_the_table_is_shown_on_the_timeline(page: chromium.Page) -> None:
    page.evaluate("document.querySelector('tbody button').click()")
    detail = page.evaluate("document.querySelector('.detail').innerText")
    assert detail.startswith("kernel_2")
    assert "from launch to start" in detail
    assert "grid 256,1,1" in detail


def test_a_click_selects_and_escape_forgets(page: chromium.Page) -> None:
    box = page.evaluate(
        "(() => { const box = document.querySelector('canvas').getBoundingClientRect();"
        " return [box.left, box.top, box.width, box.height]; })()"
    )
    page.evaluate("document.querySelector('tbody button').click()")  # brings one to the middle
    page.click(box[0] + 168 + (box[2] - 168) / 2, box[1] + box[3] - 14)
    assert "kernel_2" in page.evaluate("document.querySelector('.detail').innerText")
    page.press("Escape")
    assert "Click on an event" in page.evaluate("document.querySelector('.detail').innerText")


def test_a_table_is_sorted_by_a_click_on_its_head(page: chromium.Page) -> None:
    heads = page.evaluate(f"[...{HEAD}.cells].map((cell) => cell.innerText)")
    place = [head.strip(" ↓↑") for head in heads].index("median")
    page.evaluate(f"{HEAD}.cells[{place}].firstChild.click()")
    assert named(page) == ["kernel_2", "kernel_1", short_name(HOSTILE), "kernel_0"]
    page.evaluate(f"{HEAD}.cells[{place}].firstChild.click()")
    assert named(page) == ["kernel_0", short_name(HOSTILE), "kernel_1", "kernel_2"]


def test_a_search_hides_other_rows_and_counts_events(page: chromium.Page) -> None:
    search(page, "KERNEL_1")
    assert named(page) == ["kernel_1"]
    assert page.evaluate("document.querySelector('output').innerText") == "10 events, 1 ms"
    search(page, "")
    assert len(named(page)) == 4


def test_a_hostile_name_stays_text(page: chromium.Page) -> None:
    search(page, "planted")
    page.evaluate("document.querySelector('tbody tr:not([hidden]) button').click()")
    assert page.evaluate("document.querySelector('.detail h3').innerText") == HOSTILE
    assert page.evaluate("document.querySelector('td[title*=planted]').title") == HOSTILE
    assert page.evaluate("document.getElementById('planted')") is None
    search(page, "")


def test_the_legend_names_the_causes_of_idle_time(page: chromium.Page) -> None:
    assert "idle: after the host waited for the GPU" in page.evaluate(
        "document.querySelector('.legend').innerText"
    )


def detail(page: chromium.Page) -> str:
    text: str = page.evaluate("document.querySelector('.detail').innerText")
    return text


def ruler(page: chromium.Page) -> tuple[float, float]:
    """Return the stretch of time that the timeline shows, by an event that keeps its place."""
    page.evaluate("new Promise(requestAnimationFrame)")
    shown: str = page.evaluate("document.querySelector('canvas').dataset.shown")
    first, last = shown.split(" ")
    return float(first), float(last)


def test_the_timeline_is_moved_zoomed_and_selected_by_keys(page: chromium.Page) -> None:
    page.evaluate("document.querySelector('canvas').focus()")
    page.press("Escape")
    page.press("0")
    whole = ruler(page)
    page.press("+")
    zoomed = ruler(page)
    assert zoomed[1] - zoomed[0] == pytest.approx(0.6 * (whole[1] - whole[0]))
    page.press("ArrowRight")
    moved = ruler(page)
    assert moved[1] - moved[0] == pytest.approx(zoomed[1] - zoomed[0])
    assert moved[0] > zoomed[0]
    page.press("ArrowLeft")
    page.press("-")
    assert ruler(page) == pytest.approx(whole)
    page.press("Enter")
    kernel = detail(page).splitlines()[0]
    assert kernel.startswith("kernel_")
    page.press(".")
    after = detail(page).splitlines()[0]
    assert int(after[-1]) == (int(kernel[-1]) + 1) % 3, "kernels take turns"
    page.press(",")
    assert detail(page).splitlines()[0] == kernel
    page.press("ArrowUp")
    assert detail(page).startswith("idle: ")
    page.press("ArrowDown")
    assert detail(page).startswith("kernel_")
    page.press("Escape")
    assert "press Enter" in detail(page)


def test_tab_goes_through_the_page_in_order_and_shows_where_it_is(page: chromium.Page) -> None:
    page.evaluate("document.getElementById('search').focus()")
    seen = []
    for _ in range(12):
        page.press("Tab")
        seen.append(
            page.evaluate(
                "[document.activeElement.tagName.toLowerCase(),"
                " getComputedStyle(document.activeElement).outlineStyle !== 'none']"
            )
        )
    assert [name for name, _ in seen[:4]] == ["button"] * 4, "the zooms"
    assert "canvas" in [name for name, _ in seen]
    assert all(outlined for _, outlined in seen)


def test_a_table_is_sorted_by_a_key(page: chromium.Page) -> None:
    page.evaluate(f"{HEAD}.cells[0].firstChild.focus()")
    for order in ("descending", "ascending"):
        page.press("Enter")
        assert page.evaluate(f"{HEAD}.cells[0].ariaSort") == order
        names = named(page)
        assert names == sorted(names, reverse=order == "descending")


def test_on_paper_all_is_unfolded_and_light(page: chromium.Page) -> None:
    dark = {"name": "prefers-color-scheme", "value": "dark"}
    shown = "document.querySelector('.tools').checkVisibility()"
    ground = "getComputedStyle(document.body).backgroundColor"
    folded = "document.querySelectorAll('details:not([open])').length"
    page.send("Emulation.setEmulatedMedia", features=[dark])
    before = page.evaluate(folded)
    assert before
    assert page.evaluate(ground) != "rgb(255, 255, 255)"
    with page.printed():
        assert page.evaluate(ground) == "rgb(255, 255, 255)"
        assert not page.evaluate(shown)
        assert page.evaluate(folded) == 0
    assert page.evaluate(folded) == before
    assert page.evaluate(shown)


@pytest.mark.parametrize("width", [380, 1600])
@pytest.mark.parametrize("name", ["nsys/streams.sqlite.zst", "ncu/small.ncu-rep.zst"])
def test_nothing_is_wider_than_the_window(tmp_path: Path, name: str, width: int) -> None:
    subject = door.capture(DATA / name)
    file = tmp_path / "view.html"
    file.write_text(document.page([subject]))
    with chromium.opened(file, width=width) as opened:
        assert opened.evaluate("document.documentElement.scrollWidth") <= width
        assert opened.complaints == []
