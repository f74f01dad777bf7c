"""The interpreter with torch that the local engine builds for a CPU."""

import os
import subprocess

import pytest

from tests.support.paths import ROOT

PYTHON = next(ROOT.glob(".envs/torch-cpu-*/bin/python"), None)
needs_torch = pytest.mark.skipif(
    PYTHON is None, reason="needs the CPU interpreter of the local engine (.envs)"
)

HAS_TRITON = PYTHON is not None and any(PYTHON.parents[1].glob("lib/*/site-packages/triton/"))
"""Torch's build for a CPU comes without Triton."""


def run(code: str, *arguments: str) -> None:
    """Run code on one core in problems/, with that interpreter; it has to end well."""
    done = subprocess.run(
        [str(PYTHON), "-c", code, *arguments],
        cwd=ROOT / "problems",
        env=os.environ | {"OMP_NUM_THREADS": "1"},  # the other cores run other tests
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
