"""``harness audit``: its table fits a terminal, and an incomplete attribution is an error."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from harness.cli.app import app
from harness.ground.errors import UnattributedError, UsageError
from tests.support.paths import DATA, ROOT
from tests.support.training_trace import Kernel, Layer, Step, events, write
from tests.support.transcripts import blocks, printed

STEP = Step(
    [
        Layer(
            "Linear_3",
            "aten::addmm",
            "AddmmBackward0",
            [Kernel("void cutlass::Kernel2<cutlass_80_tensorop_s16816gemm_tn_align2>(Params)", 40)],
            [Kernel("ampere_gemm", 30)],
        )
    ]
)


def test_a_user_s_trace_alone_gives_time_and_says_what_it_cannot(tmp_path: Path) -> None:
    trace = write(tmp_path / "trace.json", events(STEP))
    shown = CliRunner().invoke(app, ["audit", str(trace)])
    assert shown.exit_code == 0
    assert max(map(len, shown.output.splitlines()[1:])) <= 80
    assert "forward: Linear_*, aten::addmm" in shown.output
    assert "pad the sizes to a multiple of 8" in shown.output
    assert "No hardware counters" in shown.output
    assert "unattributed 0" in shown.output


def test_json_has_every_row(tmp_path: Path) -> None:
    trace = write(tmp_path / "trace.json", events(STEP))
    shown = CliRunner().invoke(app, ["audit", "--json", str(trace)])
    document = json.loads(shown.output)
    assert [row["phase"] for row in document["rows"]] == ["forward", "backward", "optimizer"]
    assert document["floor_ms"] is None


def test_the_table_is_printed_before_an_incomplete_one_is_refused(tmp_path: Path) -> None:
    strayed = replace(STEP, strays=[Kernel("stray", 20)])
    trace = write(tmp_path / "trace.json", events(strayed))
    shown = CliRunner().invoke(app, ["audit", str(trace)])
    assert isinstance(shown.exception, UnattributedError)
    assert shown.exception.exit_code == 1
    assert "unattributed 0.02 ms" in shown.output


def test_a_snapshot_is_told_from_a_trace() -> None:
    shown = CliRunner().invoke(app, ["audit", str(DATA / "memory/graph.pickle.zst")])
    assert isinstance(shown.exception, UsageError)
    assert "a memory snapshot, which times nothing on the GPU (name a" in str(shown.exception)


def test_counts_have_three_digits() -> None:
    shown = CliRunner().invoke(app, ["audit", str(DATA / "torch" / "cudnn_benchmark.json.gz")])
    assert "   37.7\n" in shown.output
    assert "   1.33\n" in shown.output


def test_a_whole_report_holds_many_programs() -> None:
    folder = ROOT / "reports" / "3-cudagraph-memory" / "nvidia-h200"
    shown = CliRunner().invoke(app, ["audit", str(folder)])
    assert isinstance(shown.exception, UsageError)
    with pytest.raises(UsageError, match=r"FOLDER:CASE\.VARIANT"):
        raise shown.exception


def test_the_transcript_is_what_the_command_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    shown = blocks((ROOT / "docs" / "audit.md").read_text(encoding="utf-8"))
    assert shown == {command: printed(command) for command in shown}
    assert len(shown) == 3
