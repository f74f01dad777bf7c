"""Hostile and broken templates: each makes a page or one line, within its bounds."""

import random
import re
import time

import pytest

from harness.ground.errors import ManifestError
from harness.report.page import Page
from harness.report.sandbox import MOST_CHARACTERS
from harness.report.worklog import render
from tests.support import hostile_templates as hostile
from tests.support.battery import WHOLE, Figures, rounds, seeded
from tests.support.hostile_page import hostile_page
from tests.support.paths import ROOT

SEED = seeded(20)
LATE_S = 120
"""Far more than a page may take, on a machine that does other work."""

WRITTEN = [
    *(path.read_text() for path in sorted((ROOT / "problems").glob("*/worklog.md.j2"))),
    *(path.read_text() for path in sorted((ROOT / "problems").glob("*/pages/*.j2"))),
    (ROOT / "tests" / "support" / "every_section.j2").read_text(),
]
PIECES = [
    *(piece for text in WRITTEN for piece in re.findall(r"\{[{%].*?[%}]\}", text)),
    *hostile.OUT_OF_THE_SANDBOX,
    *hostile.FILES,
    *hostile.MISTAKES,
]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Page:
    folder = tmp_path_factory.mktemp("problems") / "9-example"
    folder.mkdir()
    (folder / "problem.yaml").write_text("title: A title\n")
    return hostile_page("", folder)


def told(page: Page, text: str) -> str:
    """Return the line that a template gives, "" if it makes a page."""
    template = page.problem.folder / "worklog.md.j2"
    template.write_text(text, encoding="utf-8")
    page.figures.clear()
    started = time.monotonic()
    try:
        made = render(template, page)
        assert len(made) < 2 * MOST_CHARACTERS
        return ""
    except ManifestError as error:
        line = str(error)
        assert "\n" not in line
        assert "Traceback" not in line
        assert line.startswith(str(page.problem.folder))
        return line
    finally:
        assert time.monotonic() - started < LATE_S


def test_each_hostile_template_gives_its_line(page: Page, figures: Figures) -> None:
    tried = hostile.OUT_OF_THE_SANDBOX | hostile.MISTAKES
    for text, line in tried.items():
        assert line in told(page, text).replace(" 9-example", "")
    figures(templates=len(tried))


@pytest.mark.parametrize("text", [*hostile.TOO_MUCH, *hostile.ENDLESS])
def test_no_template_takes_more_than_a_page_may(text: str, page: Page) -> None:
    line = told(page, text)
    expected = (hostile.TOO_MUCH | hostile.ENDLESS)[text]
    assert expected in line
    assert bool(line) or not expected


def test_a_mutated_template_is_a_page_or_one_line(page: Page, figures: Figures) -> None:
    chance = random.Random(SEED)
    count, pages = rounds(1500), 0
    for _ in range(count):
        pages += not told(page, _mutated(chance))
    assert pages < count
    assert pages or not WHOLE
    figures(templates=count, pages=pages)


def _mutated(chance: random.Random) -> str:
    """Return a few pieces of real and hostile templates, with some of their characters changed."""
    text = "\n".join(chance.sample(PIECES, chance.randint(1, 4)))
    for _ in range(chance.randint(0, 4)):
        at = chance.randrange(len(text) + 1)
        end = min(len(text), at + chance.randint(0, 6))
        text = text[:at] + chance.choice(_CHARACTERS) + text[end:]
    return text


_CHARACTERS = [
    *"{}%#()[]'\"|~.,:*-+/\\<>= _0aw",
    *("{{", "}}", "{%", "%}", "{#", "#}", "w.", " | ", "__class__", "\ufeff", "\u202e", "é", "\n"),
    *("range(9)", "w.claims()", "problem", "none", "-1", "1e9", "''", "[]", "{}", " if ", " for "),
]
