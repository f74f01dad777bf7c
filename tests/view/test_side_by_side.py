"""Two variants of a report on one page: one time scale, what changed, and a kernel's counters."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.analysis.diff import compare
from harness.evidence.subject import Subject
from harness.extract import door
from harness.view import document
from tests.support import chromium
from tests.support.paths import ROOT

REPORT = ROOT / "reports" / "1-torchao-float8" / "nvidia-h200"
GEMM = "nvjet_sm90_tst_64x8_64x16_2x1_v_bz_splitK_TNT"
ROWS = "document.querySelectorAll('.difference tbody tr')"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(chromium.PROGRAM is None, reason="Chromium is not installed"),
]


@pytest.fixture(scope="module")
def sides() -> list[Subject]:
    opened = [
        door.opened(f"{REPORT}:stack-m1.{variant}") for variant in ("f8-0.13.0-eager", "bf16-eager")
    ]
    return [each for each in opened if isinstance(each, Subject)]


@pytest.fixture(scope="module")
def page(sides: list[Subject], tmp_path_factory: pytest.TempPathFactory) -> Iterator[chromium.Page]:
    file = tmp_path_factory.mktemp("both") / "view.html"
    file.write_text(document.page(sides))
    with chromium.opened(file, width=1600) as opened:
        yield opened


def cells(page: chromium.Page, place: int) -> list[str]:
    found: list[str] = page.evaluate(f"[...{ROWS}].map((row) => row.cells[{place}].innerText)")
    return found


def choose(page: chromium.Page, label: str) -> None:
    buttons = "[...document.querySelectorAll('.difference tbody button')]"
    page.evaluate(f"{buttons}.find((button) => button.innerText.startsWith('{label}')).click()")
    page.evaluate("new Promise(requestAnimationFrame)")


def details(page: chromium.Page) -> list[str]:
    found: list[str] = page.evaluate(
        "[...document.querySelectorAll('.detail')].map((each) => each.innerText)"
    )
    return found


def test_it_lies_between_two_timelines_of_one_scale(page: chromium.Page) -> None:
    assert page.complaints == []
    order = page.evaluate(
        "[...document.querySelectorAll('canvas, .difference')].map((each) => each.tagName)"
    )
    assert order == ["CANVAS", "SECTION", "CANVAS"]
    page.evaluate("document.querySelectorAll('canvas')[1].focus()")
    page.press("+")
    page.evaluate("new Promise(requestAnimationFrame)")
    shown = page.evaluate(
        "[...document.querySelectorAll('canvas')].map((each) => each.dataset.shown)"
    )
    assert shown[0] == shown[1]


def test_its_rows_are_the_parts_that_changed_most_first(
    page: chromium.Page, sides: list[Subject]
) -> None:
    diff = compare.compare(sides[0], sides[1]).gpu
    assert diff
    ranked = sorted(diff.rows, key=lambda row: -abs(diff.change_ns(row)))
    shown = cells(page, 1)
    assert len(shown) == len(ranked)
    for row, text in zip(ranked, shown, strict=True):
        number, unit = text.replace("\N{MINUS SIGN}", "-").replace(",", "").split(" ")
        scale = {"ns": 1.0, "µs": 1e3, "ms": 1e6}[unit]
        assert float(number) * scale == pytest.approx(diff.change_ns(row), rel=1e-3)


def test_a_row_selects_its_kernel_on_both_sides(page: chromium.Page) -> None:
    choose(page, "nvjet")
    assert [text.splitlines()[0] for text in details(page)] == [GEMM, GEMM]
    told = page.evaluate("document.querySelector('.difference output').innerText")
    assert told.startswith("A: 32 operations, ")
    assert " · B: 32 operations, " in told


def test_a_kernel_that_is_gone_is_selected_where_it_ran(page: chromium.Page) -> None:
    choose(page, "vectorized_elementwise_kernel<MulFunctor>")
    a, b = details(page)
    assert "MulFunctor" in a.splitlines()[0]
    assert b == "", "nothing is selected where it did not run"


def test_a_row_without_operations_is_no_button(page: chromium.Page) -> None:
    labels, buttons = (
        cells(page, 0),
        page.evaluate(f"[...{ROWS}].map((row) => row.querySelectorAll('button').length)"),
    )
    for label, count in zip(labels, buttons, strict=True):
        assert count == (0 if label.startswith(("idle", "operations at")) else 1), label


def test_a_kernel_shows_its_counters_and_its_point_under_the_roof(page: chromium.Page) -> None:
    choose(page, "nvjet")
    chosen = page.evaluate(
        "[...document.querySelectorAll('.detail .chosen')]"
        ".map((point) => point.firstElementChild.textContent)"
    )
    assert len(chosen) == 2
    assert all(text.startswith(GEMM) for text in chosen)
    for text in details(page):
        assert "Under Nsight Compute" in text
        assert "DRAM" in text
        assert "% of what memory allows (measured on this GPU)" in text


def test_a_kernel_without_counters_says_so(tmp_path: Path, sides: list[Subject]) -> None:
    bare = Subject("bare", {"nsys": sides[0].captures["nsys"]})
    file = tmp_path / "view.html"
    file.write_text(document.page([bare]))
    with chromium.opened(file) as opened:
        opened.evaluate("document.querySelector('tbody button').click()")
        (text,) = details(opened)
    assert "No hardware counters: Nsight Compute recorded none" in text
