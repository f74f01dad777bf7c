"""The page on adding to the harness: its Python, put where the page says, does what it says."""

import importlib
import re
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import cast

import pytest

from harness import lint
from harness.analysis.diagnose import conclude, known_findings
from harness.analysis.diagnose.families import FindingModule
from harness.analysis.diagnose.timeline_view import TimelineView
from harness.evidence.capture import Capture
from harness.lint.study import Study
from harness.problem import manifest
from harness.problem.model import Problem
from harness.report.sections import SECTIONS
from harness.report.worklog import render
from tests.support.manifests import GOOD, written
from tests.support.pages import page
from tests.support.paths import ROOT
from tests.support.small_evidence import cell, samples, tables
from tests.support.timelines import Op
from tests.support.timelines import timeline as made

PAGE = (ROOT / "docs" / "extend.md").read_text(encoding="utf-8")
FILES: dict[str, str] = dict(
    re.findall(r"^`(\S+\.py)`:\n\n```python\n(.*?)^```$", PAGE, re.M | re.S)
)


def placed(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Write a file of the page into a folder that is searched for modules; return its module."""
    (path,) = (path for path in FILES if Path(path).stem == name)
    (folder / f"{name}.py").write_text(FILES[path])
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, name, raising=False)
    return importlib.import_module(name)


def test_the_section_is_on_a_page(
    example: Problem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SECTIONS, "warming", placed("warming", tmp_path, monkeypatch).warming)
    slow, fast = cell("slow"), cell("fast")
    rows = [*samples(slow, "wall_time", 6.0, 2.0), *samples(fast, "wall_time", 1.0, 1.0)]
    template = tmp_path / "worklog.md.j2"
    template.write_text('{{ w.warming("time", "small") }}')
    text = render(template, page(example, tables(cells=[slow, fast], samples=rows)))
    assert "| slow | 3.00× |" in text
    assert "| fast | 1.00× |" in text


@pytest.mark.parametrize(("fill_ns", "found"), [(300_000, True), (10_000, False)])
def test_the_finding_is_concluded_where_fills_take_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fill_ns: int, found: bool
) -> None:
    module = cast("FindingModule[TimelineView]", placed("many_memsets", tmp_path, monkeypatch))
    alone = replace(known_findings.TIMELINE, findings=(module,))
    monkeypatch.setattr(known_findings, "TIMELINE", alone)
    step = [Op("zero", fill_ns, kind="memset"), Op("gemm", 400_000)]
    findings = conclude.diagnose([Capture("made", made([step] * 5), {})]).findings
    assert ("many-memsets" in {each.id for each in findings}) is found
    if found:
        assert findings[0].share == pytest.approx(0.42, abs=0.03)


@pytest.mark.parametrize(("rounds", "told"), [(1, True), (3, False)])
def test_the_rule_remarks_on_a_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rounds: int, told: bool
) -> None:
    module = placed("samples", tmp_path, monkeypatch)
    monkeypatch.setitem(lint.RULES, "few-rounds", module.few_rounds)
    folder = written(tmp_path, GOOD.replace("timing: {}", f"timing: {{rounds: {rounds}}}"))
    remarks = lint.review(Study.read(manifest.load(folder)))
    assert ("few-rounds" in {remark.rule for remark in remarks}) is told


def test_every_file_of_the_page_is_run() -> None:
    assert {Path(path).stem for path in FILES} == {"warming", "many_memsets", "samples"}
    assert PAGE.count("```python") == len(FILES)
