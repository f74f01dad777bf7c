"""Pages under a worklog: rendered, linked, kept and replaced together with it."""

import re
import shutil
from pathlib import Path

import pytest

from harness.ground.errors import HarnessError, ManifestError
from harness.problem import manifest
from harness.problem.model import Problem
from harness.report import publish
from harness.report.escape import Markdown
from harness.report.page import Page
from harness.report.sections import SECTIONS
from tests.support.manifests import GOOD, written
from tests.support.reports import KEPT

FIGURE = '{{ w.ceilings() }}\n\n{{ w.source("problem.yaml", 1, 2) }}\n'


@pytest.fixture
def problem(tmp_path: Path) -> Problem:
    folder = written(tmp_path, GOOD)
    (folder / "worklog.md.j2").write_text("[step](pages/01-step.md)\n", encoding="utf-8")
    (folder / "pages").mkdir()
    (folder / "pages" / "01-step.md.j2").write_text("[back](../README.md)\n" + FIGURE)
    return manifest.load(folder)


@pytest.fixture
def report(tmp_path: Path) -> Path:
    folder = tmp_path / "reports" / "9-example" / "gpu"
    shutil.copytree(KEPT / "evidence", folder / "evidence")
    return folder


def test_a_page_stands_under_its_worklog_and_its_links_lead_back(
    problem: Problem, report: Path
) -> None:
    texts = publish.render(problem, report)
    assert set(texts) == {"README.md", "pages/01-step.md"}
    for name, text in texts.items():
        assert (report / name).read_text() == text
        for link in re.findall(r"\]\(([^)#]+)", text):
            target = ((report / name).parent / link).resolve()
            assert target.exists() or target.name == "problem.yaml", link
    assert "measured" in texts["pages/01-step.md"]


def drawn(page: Page, name: str, text: str) -> Markdown:
    """A section that draws its text."""
    return page.figure(name, "a figure", f"<svg>{text}</svg>", "caption")


def test_a_page_s_figure_stands_with_the_worklog_s(
    problem: Problem, report: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SECTIONS, "drawn", drawn)
    worklog, page = problem.folder / "worklog.md.j2", problem.folder / "pages" / "01-step.md.j2"
    for template in (worklog, page):
        template.write_text('{{ w.drawn("same", "a") }}\n')
    texts = publish.render(problem, report)
    assert "(figures/same.svg)" in texts["README.md"]
    assert "(../figures/same.svg)" in texts["pages/01-step.md"]
    assert [path.name for path in (report / "figures").iterdir()] == ["same.svg"]
    page.write_text('{{ w.drawn("same", "b") }}\n')
    with pytest.raises(ManifestError, match="two figures are called 'same'"):
        publish.render(problem, report)


def test_a_page_whose_template_went_goes_and_others_stay(problem: Problem, report: Path) -> None:
    (problem.folder / "pages" / "02-more.md.j2").write_text("more\n")
    publish.render(problem, report)
    (problem.folder / "pages" / "01-step.md.j2").unlink()
    publish.render(problem, report)
    assert [path.name for path in (report / "pages").iterdir()] == ["02-more.md"]
    (problem.folder / "pages" / "02-more.md.j2").unlink()
    publish.render(problem, report)
    assert not (report / "pages").exists()


def test_a_page_s_mistake_is_told_with_its_file_and_nothing_is_written(
    problem: Problem, report: Path
) -> None:
    (problem.folder / "pages" / "01-step.md.j2").write_text("{{ w.nothing() }}")
    with pytest.raises(ManifestError, match=r"01-step\.md\.j2"):
        publish.render(problem, report)
    assert not (report / "README.md").exists()
    assert not (report / "pages").exists()


def test_pages_lie_in_the_problem_s_folder(problem: Problem, report: Path, tmp_path: Path) -> None:
    pages = problem.folder / "pages"
    pages.rename(tmp_path / "elsewhere")
    pages.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ManifestError, match="pages: is a link"):
        publish.render(problem, report)
    assert not (report / "README.md").exists()


@pytest.mark.parametrize("name", ["-x", "a b", "..x", "x\n", "é"])
def test_a_page_s_name_is_one_of_a_file_everywhere(
    name: str, problem: Problem, report: Path
) -> None:
    (problem.folder / "pages" / f"{name}.md.j2").write_text("text")
    with pytest.raises(HarnessError, match="cannot be a file name"):
        publish.render(problem, report)
    assert not (report / "README.md").exists()
