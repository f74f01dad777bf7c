"""Pages under a worklog: rendered, linked, kept and replaced together with it."""

import re
import shutil
from pathlib import Path

import pytest

from harness.errors import ManifestError
from harness.problem import manifest
from harness.problem.model import Problem
from harness.report import publish
from tests.support.manifests import GOOD, written
from tests.support.reports import committed

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
    shutil.copytree(committed("2-gemlite-autotune") / "evidence", folder / "evidence")
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


def test_a_page_s_figure_stands_with_the_worklog_s(problem: Problem, report: Path) -> None:
    study = manifest.find(Path(__file__).parents[2] / "problems", "2")
    figure = '{{ w.sweep("by-size", "gpu_time_cold", "sweep-4096", ["bf16"], "c") }}\n'
    copy = problem.folder.parent / "2-gemlite-autotune"
    shutil.copytree(study.folder, copy)
    shutil.copytree(study.shared, copy.parent / "workloads")
    shutil.rmtree(copy / "pages", ignore_errors=True)
    (copy / "pages").mkdir()
    (copy / "pages" / "deep.md.j2").write_text(figure)
    (copy / "worklog.md.j2").write_text(figure)
    texts = publish.render(manifest.load(copy), report)
    assert "(figures/by-size.svg)" in texts["README.md"]
    assert "(../figures/by-size.svg)" in texts["pages/deep.md"]
    assert [path.name for path in (report / "figures").iterdir()] == ["by-size.svg"]
    (copy / "pages" / "deep.md.j2").write_text(figure.replace("4096", "14336"))
    with pytest.raises(ManifestError, match="two figures are called 'by-size'"):
        publish.render(manifest.load(copy), report)


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
