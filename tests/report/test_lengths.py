"""A page is as short as its reader's time: a screen for who reads no more, a quarter of an hour."""

import re
from pathlib import Path

import pytest

from tests.support.paths import ROOT
from tests.support.reading import walk, words

PAGES = sorted(ROOT.glob("reports/*/*/README.md"))
MOST_OF_A_SCREEN = 350
MOST_OF_A_WALK = {"8-gemm-any-shape": 2800}
MOST_OF_ANOTHER = 4000
MOST_OF_A_LONG_PAGE = 5000
"""All of study 8's words, with those that are folded away."""
STALE = re.compile(r"\*\*Stale: .*?\*\*")
"""Says that a page is to be measured again; then it goes."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.parents[1].name)
def test_a_page_s_first_screen_and_its_walk_are_short(page: Path) -> None:
    read = walk(STALE.sub("", page.read_text(encoding="utf-8")))
    assert words(read.split("\n## ")[0]) <= MOST_OF_A_SCREEN
    assert words(read) <= MOST_OF_A_WALK.get(page.parents[1].name, MOST_OF_ANOTHER)


def test_the_page_of_the_most_shapes_is_short_with_all_that_it_folds_away() -> None:
    (page,) = (each for each in PAGES if each.parents[1].name == "8-gemm-any-shape")
    assert words(page.read_text(encoding="utf-8")) <= MOST_OF_A_LONG_PAGE


def test_there_are_pages() -> None:
    assert len(PAGES) > 10
