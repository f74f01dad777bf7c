"""A part of a plan in a process of its own, as a job has it, on a machine with its own locks."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

from harness.machine import gpu_lock
from harness.run.cluster.job import JobPart
from harness.run.cluster.session import OnCluster
from harness.run.cluster.submission import Submission
from tests.support.paths import ROOT

PYTHON = """#!/bin/sh
out=$(echo "$HARNESS_CELL" | sed 's/.*"out": "\\([^"]*\\)".*/\\1/')
echo "$out" >> "${0%/*}/executed"
echo '{"samples": [{"region": "r", "metric": "wall_time", "unit": "ms", "index": 0, "value": 2.0}],
 "facts": [], "declared": {}, "packages": {}}' > "$out/workload.json"
"""
"""A program in the interpreter's place, which notes each cell that it runs beside itself."""


def carried(asked: OnCluster) -> list[JobPart]:
    """Submit a plan to nobody: return its parts as jobs would get them."""
    run = asked.run()
    submission = Submission.create(run, [[cell.id for cell in part] for part in asked.parts])
    return [
        JobPart(
            run.folder,
            submission.folder,
            number,
            asked.request,
            None,
            {cell.id: cell.name for cell in part},
        )
        for number, part in enumerate(asked.parts)
    ]


def started(part: JobPart, own: Path) -> subprocess.Popen[bytes]:
    """Start a job with a part; ``own`` is the folder of its node's locks and temporary files."""
    own.mkdir(exist_ok=True)
    (own / "part").write_bytes(pickle.dumps(part))
    argv = [sys.executable, "-m", __spec__.name, str(own)]
    with (own / "log.txt").open("ab") as log:
        environment = os.environ | {"TMPDIR": str(own)}
        return subprocess.Popen(argv, stdout=log, stderr=log, cwd=ROOT, env=environment)


def main() -> None:
    """Carry out the part that ``started`` left in its folder."""
    own = Path(sys.argv[1])
    gpu_lock.FOLDER = own
    pickle.loads((own / "part").read_bytes())()  # noqa: S301 - our own


if __name__ == "__main__":
    main()
