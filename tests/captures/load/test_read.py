"""A recording is read as it was driven; what contradicts itself is refused."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from harness.analysis import serving
from harness.captures.load.kind import KIND
from harness.cli.app import app
from harness.evidence.kind import Counts
from harness.extract import door
from harness.ground.errors import CaptureError
from harness.probe.load.driver import Recording, Slo
from tests.support.serving import SAMPLE, sample, tables


def test_what_was_driven_is_what_is_read(tmp_path: Path) -> None:
    recording = sample()
    found = tables(recording, tmp_path, Slo(1000, 50))
    lives = list(recording.lives.values())
    rows = found["load_requests"].to_dicts()
    assert [row["first_ns"] for row in rows] == [life.tokens[0] for life in lives]
    assert [row["ended_ns"] for row in rows] == [life.ended for life in lives]
    assert [row["prompt_tokens"] for row in rows] == [len(life.request.prompt) for life in lives]
    assert [row["output_tokens"] for row in rows] == [life.request.most_new for life in lives]
    assert found["load_tokens"]["time_ns"].to_list() == [t for life in lives for t in life.tokens]
    pauses = [pause for life in lives for pause in life.preempted]
    assert found["load_pauses"].select("start_ns", "end_ns").rows() == pauses
    assert set(found["load_steps"]["host_ns"].to_list()) == {None, 300_000}
    assert found["load_runs"].row(0)[:1] == ("a load",)


def test_a_file_says_what_its_load_was() -> None:
    capture = door.capture(SAMPLE).captures["load"]
    assert capture.conditions == {"load": "poisson, 2/s, azure-conversation-2023, seed 1"}


def test_a_file_is_shown_at_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(SAMPLE.parent)
    shown = CliRunner().invoke(app, ["inspect", SAMPLE.name]).stdout
    assert max(map(len, shown.splitlines())) <= 80
    capture = door.capture(SAMPLE).captures["load"]
    between = serving.MEASURES["itl_p99_ms"](capture.tables)
    (row,) = (line.split() for line in shown.splitlines() if "time between tokens" in line)
    assert row[-2] == f"{between:.2f}"
    assert "first token in 1000 ms" in shown


def test_a_cell_without_any_token_is_unusable(tmp_path: Path) -> None:
    found = tables(Recording([]), tmp_path)
    with pytest.raises(CaptureError, match="holds no token although requests were sent"):
        KIND.check(Counts({}, {}), found, tmp_path)
    KIND.check(Counts({}, {}), KIND.read(SAMPLE), SAMPLE)
