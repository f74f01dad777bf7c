"""Reports: every committed one renders again byte for byte from its evidence."""

import shutil
from pathlib import Path

import pytest

from harness.errors import HarnessError, ManifestError
from harness.extract import run as extraction
from harness.problem import manifest
from harness.report import index, publish
from tests.support.paths import ROOT

REPORTS = index.reports(ROOT / "reports")
COMMITTED = [folder for folder in REPORTS if folder.name != "cpu"]


def test_there_are_committed_reports() -> None:
    assert COMMITTED


@pytest.mark.parametrize(
    "folder", COMMITTED, ids=lambda folder: f"{folder.parent.name}-{folder.name}"
)
def test_a_report_renders_again_byte_for_byte(folder: Path, tmp_path: Path) -> None:
    again = tmp_path / folder.name
    shutil.copytree(folder / "evidence", again / "evidence")
    publish.render(manifest.find(ROOT / "problems", folder.parent.name), again)
    made = {path.relative_to(again) for path in again.rglob("*") if path.is_file()}
    for path in made:
        assert (again / path).read_bytes() == (folder / path).read_bytes(), path
    assert {path for path in made if path.suffix == ".svg"}


@pytest.mark.parametrize(
    "folder", COMMITTED, ids=lambda folder: f"{folder.parent.name}-{folder.name}"
)
def test_what_is_linked_is_there_and_small_enough(folder: Path) -> None:
    import re

    text = (folder / "README.md").read_text()
    for link in re.findall(r"\]\(([^)#][^)]*)\)", text):
        assert link.startswith("https://") or (folder / link).exists(), link
    assert sum(path.stat().st_size for path in (folder / "captures").iterdir()) <= 8_000_000


def test_a_template_that_asks_for_what_is_not_there_is_told(tmp_path: Path) -> None:
    folder = COMMITTED[0]
    copy = tmp_path / folder.parent.name
    shutil.copytree(ROOT / "problems" / folder.parent.name, copy)
    (copy / "worklog.md.j2").write_text('{{ w.m("speed", "bf16-eager", "stack-m1") }}')
    shutil.copytree(folder / "evidence", tmp_path / "report" / "evidence")
    with pytest.raises(HarnessError, match="no metric 'speed'"):
        publish.render(manifest.load(copy), tmp_path / "report")
    (copy / "worklog.md.j2").write_text("{% if %}")
    with pytest.raises(ManifestError, match=r"worklog.md.j2, line 1"):
        publish.render(manifest.load(copy), tmp_path / "report")
    assert not (tmp_path / "report" / "README.md").exists()


def test_every_figure_in_the_evidence_names_its_gpu() -> None:
    for folder in COMMITTED:
        run = extraction.provenance(folder / "evidence")["run"]
        assert run["target"]["device"] == "cuda"
        assert run["target"]["name"] in (folder / "README.md").read_text()
