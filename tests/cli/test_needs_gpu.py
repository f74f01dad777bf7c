"""What needs a GPU, where there is none: one clear line, and the right exit code."""

import os
import subprocess
import sys

import pytest

from tests.support.paths import ROOT


def harness(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run it with every GPU hidden, and messages neither wrapped nor coloured."""
    env = {"PATH": os.environ["PATH"], "CUDA_VISIBLE_DEVICES": "", "COLUMNS": "200"}
    argv = [sys.executable, "-m", "harness", *arguments]
    return subprocess.run(
        argv, cwd=ROOT, env=env, check=False, capture_output=True, text=True, timeout=60
    )


# An interpreter that does not exist: should the GPU's absence go unnoticed, nothing is installed.
NOWHERE = ("--engine", "local", "--python", "/nowhere/python")
NO_CEILINGS = "no GPU here, so it has no ceilings (see harness doctor)"


@pytest.mark.parametrize(
    ("arguments", "message", "code"),
    [
        (("doctor", "--calibrate"), NO_CEILINGS, 1),
        (("doctor", "--calibrate", "--json"), NO_CEILINGS, 1),
        (("run", "1", "--lock-clocks", "1500"), "--lock-clocks needs a GPU (leave it out", 2),
        (("run", "1", "--lock-clocks", "1500", "--dry-run"), "--lock-clocks needs a GPU", 2),
    ],
)
def test_without_a_gpu_it_is_one_line(arguments: tuple[str, ...], message: str, code: int) -> None:
    done = harness(*arguments, *NOWHERE)
    assert (done.returncode, done.stdout) == (code, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"harness: {message}")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("0", "Invalid value for '--lock-clocks'"),
        ("-1500", "Invalid value for '--lock-clocks'"),
        ("1500.5", "Invalid value for '--lock-clocks'"),
        ("fast", "Invalid value for '--lock-clocks'"),
        (None, "Option '--lock-clocks' requires an argument"),
    ],
)
def test_a_clock_that_is_no_clock_is_refused(value: str | None, message: str) -> None:
    done = harness("run", "1", *NOWHERE, "--lock-clocks", *([value] if value else []))
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"harness: {message}")
    assert line.endswith("--help)")
