"""``harness doctor --clean`` with engines that are absent, empty, or do not answer."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT

DOCKER = """\
#!/bin/sh
case "$*" in *"build --help"*) echo --secret; exit ;; esac
{answer}
"""
DOWN = "echo 'Cannot connect to the Docker daemon at unix:///var/run/docker.sock.' >&2; exit 1"
NO_ANSWER = "docker: the engine does not answer (start it, for example: systemctl start docker)"


def clean(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "harness", "doctor", "--clean", *options]
    env = {"PATH": f"{folder}", "PYTHONPATH": str(ROOT)}
    return subprocess.run(argv, cwd=ROOT, env=env, check=False, capture_output=True, text=True)


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder that is all of PATH, with the programs that a stand-in for an engine needs."""
    for name in ("env", "sh", "sleep"):
        (tmp_path / name).symlink_to(f"/usr/bin/{name}")
    return tmp_path


def put(programs: Path, answer: str) -> None:
    program = programs / "docker"
    program.write_text(DOCKER.format(answer=answer))
    program.chmod(0o755)


def test_without_an_engine_there_is_nothing(programs: Path) -> None:
    done = clean(programs)
    assert (done.returncode, done.stdout, done.stderr) == (0, "nothing to clean\n", "")


def test_an_engine_without_containers_has_nothing(programs: Path) -> None:
    put(programs, "exit 0")
    done = clean(programs)
    assert (done.returncode, done.stdout) == (0, "nothing to clean\n")


def test_an_engine_that_is_down_may_have_containers(programs: Path) -> None:
    put(programs, DOWN)
    done = clean(programs)
    assert (done.returncode, done.stdout) == (1, f"cannot tell: {NO_ANSWER}\n")
    done = clean(programs, "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout) == {"removed": [], "still_there": [], "cannot_tell": [NO_ANSWER]}
