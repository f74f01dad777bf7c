"""The door for findings: one file and one line in the registry, and `diagnose` returns it."""

from pathlib import Path

import pytest

from harness.analysis import diagnose
from tests.support.timelines import Op, timeline

TOY = """
from harness.analysis.diagnose import Finding


def find(tables):
    copies = tables["gpu_ops"].filter(tables["gpu_ops"]["kind"] == "copy")
    if copies.height:
        total = copies["duration_ns"].sum()
        yield Finding("The GPU copies.", (f"gpu_ops: {total} ns of copies",), "Keep it there.")
"""


@pytest.fixture
def toy_copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "toy_copies.py").write_text(TOY)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(diagnose, "RULES", (*diagnose.RULES, "toy_copies:find"))


@pytest.mark.usefixtures("toy_copies")
def test_a_rule_of_one_file_and_one_line_finds_what_the_evidence_bears_out() -> None:
    kernel = Op("gemm", 500)
    copies = [Op("copy", 200, kind="copy"), Op("copy", 300, kind="copy")]
    (finding,) = diagnose.diagnose(timeline([[kernel, *copies]]))
    assert finding.evidence == ("gpu_ops: 500 ns of copies",)
    assert diagnose.diagnose(timeline([[kernel]])) == []


def test_every_registered_rule_can_be_run() -> None:
    for finding in diagnose.diagnose(timeline([[Op("gemm", 500)]])):
        assert finding.evidence
