"""A part of a plan in a process of its own, as a job has it, on a machine with its own locks."""

import multiprocessing
import os
import pickle
from multiprocessing.process import BaseProcess
from pathlib import Path

from harness.batch.job import Part
from harness.batch.session import Asked
from harness.batch.submission import Submission
from harness.machine import gpu_lock

_PROCESSES = multiprocessing.get_context("forkserver")

PYTHON = """#!/bin/sh
out=$(echo "$HARNESS_CELL" | sed 's/.*"out": "\\([^"]*\\)".*/\\1/')
echo "$out" >> "${0%/*}/executed"
echo '{"samples": [{"region": "r", "metric": "wall_time", "unit": "ms", "index": 0, "value": 2.0}],
 "facts": [], "declared": {}, "packages": {}}' > "$out/workload.json"
"""
"""A program in the interpreter's place, which notes each cell that it runs beside itself."""


def carried(asked: Asked) -> list[Part]:
    """Submit a plan to nobody: return its parts as jobs would get them."""
    run = asked.run()
    submission = Submission.create(run, [[cell.id for cell in part] for part in asked.parts])
    return [
        Part(
            run.folder,
            submission.folder,
            number,
            asked.request,
            None,
            {cell.id: cell.name for cell in part},
        )
        for number, part in enumerate(asked.parts)
    ]


def started(part: Part, own: Path) -> BaseProcess:
    """Start a job with a part; ``own`` is the folder of its node's locks and temporary files."""
    own.mkdir(exist_ok=True)
    process = _PROCESSES.Process(target=_execute, args=(pickle.dumps(part), own))
    process.start()
    return process


def _execute(part: bytes, own: Path) -> None:
    gpu_lock.FOLDER = own
    os.environ["TMPDIR"] = str(own)
    log = os.open(own / "log.txt", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    pickle.loads(part)()  # noqa: S301 - our own
