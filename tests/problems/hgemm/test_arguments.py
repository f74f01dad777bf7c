"""Wrong input to the scripts: one line that says what is wrong, exit code 2, nothing written."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from tests.support.hgemm import FOLDER

TIMED = {"kind": "time", "shape": [64, 64, 64], "us": [1.0], "step": "torch"}


def refused(*argv: str) -> str:
    """Run a script that refuses its arguments; return its last line."""
    before = (FOLDER / "choices.json").read_bytes()
    script, *rest = argv
    done = subprocess.run(
        [sys.executable, str(FOLDER / script), *rest], check=False, capture_output=True, text=True
    )
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert (FOLDER / "choices.json").read_bytes() == before
    return done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["build.py", "nope"], "no step 'nope'; there are: p0_wmma, "),
        (["sanitize.py", "--steps", "nope"], "no step 'nope'; there are: p0_wmma, "),
        (["sanitize.py", "--steps", "clocks"], "no step 'clocks'"),  # it computes no product
        (["sanitize.py", "--steps"], "expected at least one argument"),
        (["check_and_time.py", "--steps", "h6", "x9"], "no step begins with 'x9'"),
        (["check_and_time.py", "--shapes", "12x0x4"], "'12x0x4' is no shape: MxNxK, or suite"),
        (["check_and_time.py", "--shapes", "12x4"], "'12x4' is no shape"),
        (["dispatch.py"], "required: sweeps"),
        (["dispatch.py", "/nowhere/sweep.jsonl"], "not read: "),
    ],
)
def test_wrong_arguments(argv: list[str], told: str) -> None:
    assert told in refused(*argv)


def test_what_is_built_besides_the_steps_has_a_name(module: Callable[[str], ModuleType]) -> None:
    assert module("build")._buildable("clocks") == module("steps").COUNTERS.name


def test_the_short_name_of_a_step_is_that_step_alone(module: Callable[[str], ModuleType]) -> None:
    steps = module("steps")
    assert steps.beginning("h1") == "h1_larger_tile"
    assert steps.beginning("h") == "h"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "not read: "),
        (json.dumps({"kind": "check"}), "no configuration was timed there"),
        (json.dumps(TIMED), "no configuration was timed there"),
        ("\n".join([json.dumps(TIMED)] * 2), "timed twice in one file"),
        (json.dumps({"kind": "time", "step": "torch"}), "not read: 'shape'"),
    ],
)
def test_a_sweep_that_says_nothing(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "sweep.jsonl"
    path.write_text(text)
    assert told in refused("dispatch.py", str(path))
