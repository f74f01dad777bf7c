"""A new section is one file and one line: from a template that asks for it to the rendered page."""

import importlib
import sys
from pathlib import Path

import pytest

from harness.ground.errors import ManifestError
from harness.problem.model import Problem
from harness.report.sections import SECTIONS
from harness.report.worklog import render
from tests.support.pages import page
from tests.support.small_evidence import cell, samples, tables

TOY = '''\
"""How much slower a variant's first sample is than its last."""

from harness.report.escape import Markdown, table
from harness.report.page import Page


def warming(page: Page, name: str, metric: str, case: str) -> Markdown:
    rows = []
    for variant in page.problem.variants:
        values = page.metrics.samples(metric, variant, case)[0]
        rows.append([variant, f"{values[0] / values[-1]:g}×"])
    figure = page.figure(name, "warming", f"<svg>{len(rows)}</svg>", "slower at first")
    return Markdown(f"{figure}\\n\\n{table(['', ''], rows)}")
'''


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one file, and the one line of the registry."""
    (tmp_path / "toy_section.py").write_text(TOY)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "toy_section", raising=False)
    monkeypatch.setitem(SECTIONS, "warming", importlib.import_module("toy_section").warming)


@pytest.mark.usefixtures("toy")
def test_a_section_of_one_file_and_one_line_is_rendered(example: Problem, tmp_path: Path) -> None:
    slow, fast = cell("slow"), cell("fast")
    rows = [*samples(slow, "wall_time", 6.0, 2.0), *samples(fast, "wall_time", 1.0, 1.0)]
    toy_page = page(example, tables(cells=[slow, fast], samples=rows))
    template = tmp_path / "worklog.md.j2"
    template.write_text('# {{ problem.title }}\n\n{{ w.warming("toy", "time", "small") }}\n')
    text = render(template, toy_page)
    assert "| slow | 3× |" in text
    assert "![warming](figures/toy.svg)" in text
    assert toy_page.figures == {"toy.svg": "<svg>2</svg>"}


def test_without_its_line_a_section_is_unknown(example: Problem, tmp_path: Path) -> None:
    template = tmp_path / "worklog.md.j2"
    template.write_text('{{ w.warming("toy", "time", "small") }}')
    with pytest.raises(ManifestError, match="warming") as raised:
        render(template, page(example, tables()))
    assert str(raised.value).startswith(f"{template}, line 1: ")
    assert "harness/report/sections/__init__.py" in str(raised.value)


@pytest.mark.parametrize("name", SECTIONS)
def test_every_section_has_a_description(name: str) -> None:
    assert SECTIONS[name].__doc__
