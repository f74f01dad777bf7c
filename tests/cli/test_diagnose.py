"""``harness diagnose``: one joint list of findings, as text of 80 columns and as JSON."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from harness.analysis.diagnose import timeline_view
from harness.cli.app import app
from harness.ground.errors import UsageError
from tests.support import transcripts
from tests.support.paths import DATA, ROOT
from tests.support.programs import MS, Program

STREAMS = ROOT / "tests" / "data" / "nsys" / "streams.sqlite.zst"
TRACE = ROOT / "tests" / "data" / "torch" / "streams.json.gz"
W8_FAST = ROOT / "reports/2-gemlite-autotune/nvidia-h200/captures/m1.w8-fast.trace.sqlite.zst"


def printed(*arguments: object) -> str:
    done = CliRunner().invoke(app, ["diagnose", *map(str, arguments)])
    assert done.exit_code == 0, done.output
    return done.output


def test_a_capture_of_a_slow_launcher_is_host_bound() -> None:
    lines = printed(W8_FAST).splitlines()
    assert max(map(len, lines[2:])) <= 80
    assert " ".join(lines[2:4]) == (
        "NVIDIA H200 · 5 steps of 3.34 ms (step:forward) · GPU busy 7.5 % (7.1 % of the whole"
        " capture) · capture: complete"
    )
    assert lines[5].startswith("1. The GPU waits while the host runs code outside CUDA.")
    assert any(line.strip().startswith("fix: ") for line in lines)


def test_the_json_has_the_same_findings_in_the_same_order() -> None:
    findings = json.loads(printed(STREAMS, "--json"))["findings"]
    assert findings[0]["id"] == "pageable-copy"
    assert findings[0]["evidence"][0].keys() == {"metric", "value", "threshold", "source", "unit"}
    stakes = [each["gain"] for each in findings if each["gain"] is not None]
    assert stakes == sorted(stakes, reverse=True)
    assert all(each["evidence"][0]["source"] == str(STREAMS) for each in findings)


def test_two_profilers_recordings_of_one_program_are_counted_once() -> None:
    alone, joint = (
        json.loads(printed(*files, "--json")) for files in ([STREAMS], [STREAMS, TRACE])
    )
    assert joint["findings"] == alone["findings"]


def test_each_cell_of_a_report_is_diagnosed_by_itself() -> None:
    report = ROOT / "reports" / "2-gemlite-autotune" / "nvidia-h200"
    cells = json.loads(printed(report, "--json"))
    named = {each["label"].rpartition(":")[2]: each["findings"] for each in cells}
    assert named["m1.w8-fast"][0]["id"] == "host-bound"
    assert named["m1.w8-fast"][0]["gain"] > 0.9
    assert "host-bound" not in {each["id"] for each in named["m1.w8-ranked-graph"]}


def test_a_run_beside_another_subject_is_refused() -> None:
    report = ROOT / "reports" / "2-gemlite-autotune" / "nvidia-h200"
    done = CliRunner().invoke(app, ["diagnose", str(report), str(STREAMS)])
    assert "name one of its cells" in str(done.exception)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("nsys/graph_level.sqlite.zst", "nsys/graph_node.sqlite.zst"),
        ("torch/wait_read.json.gz", "torch/wait_lock.json.gz"),
    ],
)
def test_two_recordings_of_one_device_are_no_ranks(first: str, second: str) -> None:
    files = [str(DATA / each) for each in (first, second)]
    done = CliRunner().invoke(app, ["diagnose", *files])
    assert isinstance(done.exception, UsageError)
    assert done.exception.exit_code == 2
    assert "two recordings of one device, and not ranks of one run" in str(done.exception)
    assert all(each in str(done.exception) for each in files)


@pytest.mark.parametrize(
    ("kernel", "devices", "ranks", "may_be"),
    [
        ("gemm", (0, 0), ("", ""), False),
        ("gemm", (0, 1), ("", ""), True),
        ("ncclDevKernel_AllReduce", (0, 0), ("", ""), True),
        ("gemm", (0, 0), ("0 of 2", "1 of 2"), True),
        ("gemm", (0, 1), ("1 of 2", "1 of 2"), False),
    ],
)
def test_ranks_are_told_from_two_runs(
    kernel: str, devices: tuple[int, int], ranks: tuple[str, str], *, may_be: bool
) -> None:
    files = []
    for device, rank in zip(devices, ranks, strict=True):
        program = Program(device)
        program.launch(1 * MS, kernel)
        conditions = {"rank": rank} if rank else {}
        files.append([replace(program.capture(), conditions=conditions)])
    assert (timeline_view.of_two_runs(files) is None) == may_be


@pytest.mark.parametrize("page", [transcripts.DIAGNOSIS, transcripts.MEMORY], ids=lambda p: p.stem)
def test_a_page_s_transcripts_are_what_the_commands_print(
    page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    shown = transcripts.blocks(page.read_text(encoding="utf-8"))
    assert shown
    assert shown == {command: transcripts.printed(command) for command in shown}


def test_the_floor_of_the_step_on_an_amd_gpu_is_that_of_its_products() -> None:
    (text,) = transcripts.blocks(transcripts.DIAGNOSIS.read_text(encoding="utf-8")).values()
    sides = ((4096, 3 * 4096), (4096, 4096), (4096, 11008), (11008, 4096))
    of_forward = sum(2 * 4096 * depth * columns / 1307.4e12 for depth, columns in sides)
    took = 2 * 3 * sum((470, 170, 430, 440)) / 1e6
    assert f"{100 * 2 * 3 * of_forward / took:.1f} %" in text
