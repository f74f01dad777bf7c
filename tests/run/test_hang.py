"""A cell that runs out of time says where it stood."""

import json
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from harness.run.hang import stood
from tests.support.bench import WELL, Bench
from tests.support.paths import ROOT
from tests.support.torch_cpu import PYTHON, needs_torch

HANGS = """\
import faulthandler, signal, threading, time

def exchange():
    time.sleep(60)

def beside():
    threading.Event().wait()

faulthandler.register(signal.SIGTERM, chain=True)
threading.Thread(target=beside, daemon=True).start()
exchange()
"""
WHERE = "it stood at hangs.py:4, in exchange"

CELL = """\
import sys, time
from harness.probe.cell import Cell

def imports(params):
    print("ready", flush=True)
    time.sleep(60)

Cell.load(imports)
"""


@pytest.mark.usefixtures("a_lock_of_our_own")
def test_the_reason_of_a_timeout_is_the_call_that_did_not_return(tmp_path: Path) -> None:
    program = tmp_path / "hangs.py"
    program.write_text(HANGS)
    bench = Bench(tmp_path, slow=f"exec {sys.executable} {program}", fast=WELL)
    bench.cells = [replace(cell, deadline_s=2.0) for cell in bench.cells]
    assert bench.execute() == {"slow": "timeout", "fast": "ok"}
    record = next(record for _, record in bench.run.records() if record.variant == "slow")
    assert (record.reason, record.returncode) == (WHERE, -signal.SIGTERM)


@pytest.mark.parametrize(
    ("log", "where"),
    [
        ("", ""),
        ("it is (most recent call first):\n  nothing", ""),
        (
            "Current thread 0x1 [python] (most recent call first):\n"
            '  File "/w/a.py", line 3 in <module>\n',
            "it stood at a.py:3, in <module>",
        ),
        (
            "Thread 0x2 (most recent call first):\n"
            '  File "/w/other.py", line 9 in pump\n\n'
            "Current thread 0x1 (most recent call first):\n"
            '  File "/opt/lib/python3.12/site-packages/torch/cuda/streams.py", line 1 in wait\n'
            '  File "/w/world.py", line 75 in timed\n'
            '  File "/w/study.py", line 140 in in_turn\n',
            "it stood at world.py:75, in timed",
        ),
        (
            "Thread 0x1 (most recent call first):\n"
            '  File "/usr/lib/python3.12/runpy.py", line 8 in run\n',
            "it stood at runpy.py:8, in run",
        ),
    ],
)
def test_the_innermost_call_that_is_no_library_s_is_named(log: str, where: str) -> None:
    assert stood(log) == where


@pytest.mark.slow
@needs_torch
def test_a_cell_s_process_says_where_it_stands_when_it_is_ended(tmp_path: Path) -> None:
    program = tmp_path / "hangs.py"
    program.write_text(CELL)
    with subprocess.Popen(
        [str(PYTHON), str(program)],
        env={"PYTHONPATH": str(ROOT), "HARNESS_CELL": json.dumps({"params": {}})},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.2)
        process.terminate()
        _, log = process.communicate(timeout=30)
    assert process.returncode == -signal.SIGTERM
    assert stood(log) == "it stood at hangs.py:6, in imports"
