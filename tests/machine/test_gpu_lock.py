"""The lock of a GPU is one for the whole machine."""

import errno
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.ground import locks
from harness.ground.errors import ToolError
from harness.machine import gpu_lock
from tests.support.paths import ROOT

HOLDS = """
import sys
from harness.machine import gpu_lock
with gpu_lock.held(sys.argv[1]):
    print("held")
"""


@pytest.fixture
def name() -> Iterator[str]:
    """A GPU that no machine has."""
    name = f"test-{uuid.uuid4()}"
    yield name
    (gpu_lock.FOLDER / f"harness-{name}.lock").unlink()


def held_by_another(name: str, **env: str) -> tuple[int, str]:
    argv = [sys.executable, "-c", HOLDS, name]
    done = subprocess.run(
        argv, check=False, capture_output=True, text=True, cwd=ROOT, env={**os.environ, **env}
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("temporary", ["", ".", "/nowhere"])
def test_it_is_the_same_whatever_a_user_s_temporary_folder(
    tmp_path: Path, name: str, temporary: str
) -> None:
    folder = str(tmp_path) if temporary == "." else temporary
    with gpu_lock.held(name):
        status, told = held_by_another(name, TMPDIR=folder)
        assert status == 1
        assert f"BusyError: another run, process {os.getpid()}, holds {name} (" in told
    assert held_by_another(name, TMPDIR=folder) == (0, "held\n")


@pytest.mark.usefixtures("a_lock_of_our_own")
def test_the_wardens_of_a_run_keep_its_gpu() -> None:
    with gpu_lock.held("cpu"):
        assert len(locks.lasting()) == 1
    assert locks.lasting() == ()


LEAVES = """
import subprocess, sys
from pathlib import Path
from harness.ground import locks
lock = locks.take(Path(sys.argv[1]))
subprocess.Popen(["sleep", "1"], pass_fds=[lock])
"""


@pytest.mark.usefixtures("a_lock_of_our_own")
@pytest.mark.parametrize("patience_s", [0.0, 20.0])
def test_what_a_killed_harness_left_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, patience_s: float
) -> None:
    argv = [sys.executable, "-c", LEAVES, str(tmp_path / "harness-cpu.lock")]
    subprocess.run(argv, check=True, cwd=ROOT)
    monkeypatch.setattr(gpu_lock, "_ENDED_WITHIN_S", patience_s)
    if patience_s:
        with gpu_lock.held("cpu"):
            pass
    else:
        message = r"^another run holds cpu \(wait"
        with pytest.raises(ToolError, match=message), gpu_lock.held("cpu"):
            pass


@pytest.mark.usefixtures("a_lock_of_our_own")
def test_a_lock_that_cannot_be_taken_says_how_it_can(tmp_path: Path) -> None:
    (tmp_path / "harness-cpu.lock").symlink_to("elsewhere")
    with pytest.raises(ToolError) as error, gpu_lock.held("cpu"):
        pass
    path = tmp_path / "harness-cpu.lock"
    assert error.value.exit_code == 1
    assert str(error.value) == (
        f"{path}: the lock of cpu cannot be taken: not a plain file "
        f"(as root, while no run goes on: rm -f {path}; install -d -m 1777 {tmp_path})"
    )


@pytest.mark.usefixtures("a_lock_of_our_own")
def test_without_room_for_a_lock_that_is_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("tempfile.mkstemp", full)
    message = r"taken: No space left on device \(free some room there\)$"
    with pytest.raises(ToolError, match=message), gpu_lock.held("cpu"):
        pass
