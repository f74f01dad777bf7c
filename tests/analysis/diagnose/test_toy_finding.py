"""The door for findings: one file and one line in a registry, and `diagnose` returns it."""

import importlib
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from harness.analysis.diagnose import conclude, known_findings
from harness.analysis.diagnose.finding import as_json
from harness.evidence import tables as evidence
from harness.evidence.capture import Capture
from tests.support.paths import ROOT
from tests.support.timelines import Op, rows
from tests.support.timelines import timeline as made

FAMILIES = ("SERVING", "TIMELINE", "KERNEL", "MEMORY")
TOY = """
from harness.analysis.diagnose.finding import Evidence, FindingKind

KIND = FindingKind("toy", "timeline", "The toy finds what it is told to find.", fix=("play less",))


def found(view):
    number = Evidence("toys", 2.0, 1.0, "made", "toys")
    for gain in (0.2, 0.4):
        kernel = f"{view.name} at {gain}" if hasattr(view, "name") else None
        yield KIND.finding(f"at {gain}", (number,), gain=gain, kernel=kernel)
"""


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "toy.py").write_text(TOY)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "toy", raising=False)
    alone = (importlib.import_module("toy"),)
    for name in FAMILIES:
        family = getattr(known_findings, name)
        monkeypatch.setattr(known_findings, name, replace(family, findings=alone))


def timeline_capture() -> Capture:
    return Capture("made", made([[Op("gemm", 500)]]), {})


def capture(label: str, table: str, records: list[dict[str, object]]) -> Capture:
    tables = {name: evidence.empty(name) for name in evidence.SCHEMAS}
    return Capture(label, tables | {table: rows(table, records)}, {})


def ncu_capture() -> Capture:
    launches: list[dict[str, object]] = [
        {"launch": launch, "name": name, "metric": "gpu__time_duration.sum", "value": time}
        for launch, (name, time) in enumerate((("a", 20.0), ("a", 10.0), ("b", 10.0)))
    ]
    return capture("ncu", "counters", launches)


def memory_capture() -> Capture:
    pool: dict[str, object] = {"pool": "default", "allocated_bytes": 1, "reserved_bytes": 2}
    return capture("snapshot", "memory_pools", [pool])


@pytest.mark.usefixtures("toy")
@pytest.mark.parametrize("subject", [timeline_capture(), memory_capture()], ids=lambda c: c.label)
def test_a_finding_of_one_file_and_one_line_is_concluded(subject: Capture) -> None:
    diagnosis = conclude.diagnose([subject])
    assert [(each.id, each.where) for each in diagnosis.findings] == [
        ("toy", "at 0.4"),
        ("toy", "at 0.2"),
    ]


@pytest.mark.usefixtures("toy")
def test_findings_of_a_launch_count_by_its_share_of_the_time() -> None:
    diagnosis = conclude.diagnose([ncu_capture()])
    assert [each.launch for each in diagnosis.kernels] == [0, 1, 2]
    assert [each.gain for each in diagnosis.kernels[1].findings] == [0.4, 0.2]
    assert [each.gain for each in diagnosis.findings] == pytest.approx([0.3, 0.15, 0.1, 0.05])


def test_without_a_cause_the_subject_is_healthy_or_undecided() -> None:
    empty = Capture("none", {name: evidence.empty(name) for name in evidence.SCHEMAS}, {})
    for subject in (empty, timeline_capture(), ncu_capture(), memory_capture()):
        first = conclude.diagnose([subject]).findings[0]
        assert first.id in ("healthy", "abstain")


@pytest.mark.usefixtures("toy")
def test_the_json_has_the_keys_that_programs_read() -> None:
    document = as_json(conclude.diagnose([ncu_capture()]))
    finding = {"id", "level", "where", "kernel", "share", "gain", "confidence", "evidence"}
    assert document.keys() == {"recording", "step", "findings", "kernels"}
    assert finding | {"fix", "next", "parts"} == document["findings"][0].keys()
    assert {"metric", "value", "threshold", "source"} <= document["findings"][0]["evidence"][
        0
    ].keys()
    assert document["kernels"][0].keys() == {"name", "launch", "findings"}


@pytest.mark.parametrize("name", FAMILIES)
def test_a_file_of_a_family_finds_the_id_of_its_name(name: str) -> None:
    family = getattr(known_findings, name)
    folder = ROOT / "harness" / "analysis" / "diagnose" / family.name
    files = {path.stem for path in folder.glob("*.py")} - {"__init__", "healthy", "abstain"}
    assert {id_.replace("-", "_") for id_ in family.kinds()} == files
    assert len(family.findings) == len(files)
