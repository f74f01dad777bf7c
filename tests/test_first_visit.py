"""The page of a first visit: what stands there is what the commands print, one after another."""

from pathlib import Path

import pytest

from tests.support import transcripts, visit

BLOCKS = transcripts.blocks(visit.PAGE.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return visit.transcript(tmp_path_factory.mktemp("visit").resolve(), list(BLOCKS))


@pytest.mark.parametrize("command", BLOCKS)
def test_the_page_shows_what_a_visitor_sees(shown: dict[str, str], command: str) -> None:
    why = "write the page anew: python -m tests.support.transcripts"
    assert visit.steady(BLOCKS[command]) == visit.steady(shown[command]), why
    assert max(map(len, shown[command].splitlines())) <= 80


def test_the_visit_leads_from_a_draft_to_the_page_of_a_capture() -> None:
    words = [command.split()[0] if command else "" for command in BLOCKS]
    assert words == ["", "new", "lint", "run", "inspect", "diagnose", "view"]


def test_the_draft_lies_where_the_page_says(tmp_path: Path) -> None:
    shown = visit.transcript(tmp_path, ["new slow-softmax"])
    assert (tmp_path / "problems" / "1-slow-softmax" / "problem.yaml").is_file()
    assert str(tmp_path) not in shown["new slow-softmax"]
