"""Tools on PATH that lie, linger, shout or die: each cell gets the right status, in time."""

import os
import re
import time
from dataclasses import replace
from pathlib import Path

import pytest

from harness.engines.options import Options
from harness.extract import run as extraction
from harness.ground import process
from harness.ground.errors import ToolError
from harness.machine import gpu_lock
from harness.machine.target import Target
from harness.run import attempt
from tests.support import nsys_exports
from tests.support.battery import Figures
from tests.support.lying_tools import DEADLINE_S, NSYS, Tool, executed, on_path, problem

SH = Options(python=Path("/bin/sh"))
STAYS = "trap '' TERM HUP INT; while :; do sleep 60; done"
HIDDEN = f'(setsid env -i sh -c "{STAYS}" &)'
WELL = "workload && report"
COPY = 'cp "$0.sqlite" "$out"'
MISSING = "exited well but left no"

TOOLS = {
    "honest": Tool(WELL, COPY, "ok", ""),
    "no report": Tool("workload", COPY, "failed", f"{MISSING} trace.nsys-rep"),
    "an empty report": Tool('workload; : > "$out"', COPY, "failed", f"{MISSING} trace.nsys-rep"),
    "a folder for a report": Tool('workload; mkdir "$out"', COPY, "failed", "trace.nsys-rep"),
    "no workload": Tool("report", COPY, "failed", f"{MISSING} workload.json"),
    "no export": Tool(WELL, "true", "failed", f"{MISSING} trace.sqlite"),
    "an empty export": Tool(WELL, ': > "$out"', "failed", f"{MISSING} trace.sqlite"),
    "an export without kernels": Tool(WELL, COPY, "unusable", "no GPU work although steps ran"),
    "an export of half": Tool(WELL, 'head -c 20000 "$0.sqlite" > "$out"', "unusable", ""),
    "an export that fails": Tool(WELL, "echo no licence; exit 3", "failed", "no licence"),
    "an export that stays": Tool(WELL, STAYS, "failed", "export timeout"),
    "TERM ignored": Tool(STAYS, COPY, "timeout", ""),
    "stopped": Tool("kill -STOP $$", COPY, "timeout", ""),
    "grandchildren": Tool(f"{WELL}; {HIDDEN}; ({STAYS}) &", COPY, "ok", ""),
    "grandchildren that respawn": Tool(
        "f() { (trap '' TERM; sleep 0.01; f) & }; f; sleep 60", COPY, "timeout", ""
    ),
    "1 GB of log": Tool(f"{WELL}; head -c 1000000000 /dev/zero", COPY, "ok", ""),
    "a log that never ends": Tool("exec cat /dev/zero", COPY, "timeout", ""),
    "invalid UTF-8": Tool(r"printf 'b\377d \033[31mred\n'; exit 1", COPY, "failed", "b\ufffdd red"),
    "a signal": Tool("kill -SEGV $$", COPY, "failed", ""),
    "one long line": Tool("head -c 99999 /dev/zero | tr '\\0' x; exit 1", COPY, "failed", "x{300}"),
    "no rights": Tool("chmod -x $0; exit 126", COPY, "failed", ""),
}


@pytest.fixture(autouse=True)
def quiet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tools come first on PATH, and the locks lie in the test's folder."""
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setattr(gpu_lock, "FOLDER", tmp_path)
    monkeypatch.setattr(attempt, "_EXPORT_DEADLINE_S", DEADLINE_S)


def running(folder: Path) -> list[bytes]:
    """Return the words of each process that works in ``folder`` or below."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if (entry / "cwd").readlink().is_relative_to(folder):
                found.append((entry / "cmdline").read_bytes())
        except OSError:
            continue
    return found


@pytest.mark.parametrize("name", TOOLS)
def test_a_profiler(tmp_path: Path, with_gpu: Target, figures: Figures, name: str) -> None:
    tool = TOOLS[name]
    script = NSYS.replace("PROFILE", tool.profile).replace("EXPORT", tool.export)
    program = on_path(tmp_path / "bin", "nsys", script)
    statements = ["DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL"] if "without kernels" in name else []
    template = nsys_exports.altered("graph_node", tmp_path, *statements)
    template.rename(f"{program}.sqlite")
    asked = problem(tmp_path)
    start = time.monotonic()
    deadline_s = 60 if "GB" in name else DEADLINE_S
    runs = tmp_path / "runs"
    run, record = executed(asked, "local", SH, with_gpu, "nsys", runs, deadline_s)
    took = time.monotonic() - start
    status, reason = record.status, record.reason
    if record.ok:
        (row,) = extraction.extract(run, tmp_path / "evidence")["cells"].to_dicts()
        status, reason = row["status"], row["reason"]
    assert status == tool.status, reason
    assert re.search(tool.reason, reason), reason
    assert not running(tmp_path)
    assert record.wall_s < deadline_s + 5
    log = next(runs.rglob("log.txt"))
    assert log.stat().st_size < 17 << 20
    figures(status_right=1, seconds=round(took, 1))


DOCKER = """\
#!/bin/sh
case $1 in
build) echo --secret ;;
image) echo sha256:1 ;;
version) echo 1 ;;
context) ;;
run) RUN ;;
rm) REMOVE ;;
esac
"""
DOWN = "echo 'Cannot connect to the Docker daemon at unix:///x' >&2; exit 1"
GONE = "echo 'Error: No such container' >&2; exit 1"
DUE = r"its container did not end in time: \S+/docker rm --force worklogs-\S+"

ENGINES = {
    "nothing done": ("exit 0", GONE, "failed", f"{MISSING} workload.json"),
    "down": (DOWN, DOWN, "failed", r"the engine does not answer \(start it"),
    "client killed": ("kill -KILL $$", GONE, "failed", ""),
    "a run that stays": (STAYS, GONE, "timeout", ""),
    "a kill that hangs": (STAYS, STAYS, "timeout", DUE),
    "a kill that hangs after a failure": ("exit 3", "sleep 60", "failed", DUE),
    "a kill that is refused": (STAYS, "echo denied >&2; exit 1", "timeout", "docker: denied"),
    "a run with grandchildren": (f"({STAYS}) & {HIDDEN}; exit 1", GONE, "failed", ""),
}


@pytest.mark.parametrize("name", ENGINES)
def test_an_engine(tmp_path: Path, with_gpu: Target, figures: Figures, name: str) -> None:
    runs, removing, status, reason = ENGINES[name]
    script = DOCKER.replace("RUN", runs).replace("REMOVE", removing)
    on_path(tmp_path / "bin", "docker", script)
    asked = problem(tmp_path)
    cpu = replace(with_gpu, gpu=None)
    start = time.monotonic()
    options = Options(image="an image")
    _, record = executed(asked, "docker", options, cpu, "timing", tmp_path / "runs")
    took = time.monotonic() - start
    assert record.status == status, record.reason
    assert re.search(reason, record.reason), record.reason
    assert record.wall_s < DEADLINE_S + 5
    assert not running(tmp_path)
    figures(status_right=1, seconds=round(took, 1))


QUERIES = {
    "a GB": ("head -c 1000000000 /dev/zero", None),
    "not text": (r"printf '\377\376'", None),
    "silence": ("exec sleep 60", "no answer within 1 s"),
    "TERM ignored": (STAYS, "no answer within 1 s"),
    "a child that holds the output": ("sleep 60 & echo done", None),
    "failure": ("echo why >&2; exit 1", "why"),
    "failure without a word": ("exit 7", "exit 7"),
    "death": ("kill -KILL $$", "exit -9"),
}


@pytest.mark.parametrize("name", QUERIES)
def test_a_query(tmp_path: Path, figures: Figures, name: str) -> None:
    script, trouble = QUERIES[name]
    on_path(tmp_path / "bin", "git", f"#!/bin/sh\n{script}\n")
    start = time.monotonic()
    deadline_s = 1 if trouble else 60
    if trouble:
        with pytest.raises(ToolError, match=trouble):
            process.output(["git"], deadline_s=deadline_s, cwd=tmp_path)
    else:
        assert len(process.output(["git"], deadline_s=deadline_s, cwd=tmp_path)) < 17 << 20
    took = time.monotonic() - start
    assert took < deadline_s + 5
    assert not running(tmp_path)
    figures(status_right=1, seconds=round(took, 1))
