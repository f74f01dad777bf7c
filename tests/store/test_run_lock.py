"""One harness executes a run; the processes of its cells carry the run's token."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness.ground.errors import StoreError
from harness.store import run_lock
from harness.store.run_folder import Run
from tests.support.origins import origin
from tests.support.paths import ROOT

HOLDS = """
import sys
from pathlib import Path
from harness.store import run_lock
with run_lock.held(Path(sys.argv[1])) as token:
    print(token, flush=True)
    sys.stdin.read()
"""


def test_the_second_harness_is_told_who_executes_the_run(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", HOLDS, str(tmp_path)]
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe, text=True, cwd=ROOT) as first:
        assert first.stdout
        token = first.stdout.readline().strip()
        message = f"{tmp_path}: another harness, process {first.pid}, executes this run"
        with pytest.raises(StoreError, match=message) as error, run_lock.held(tmp_path):
            pass
        assert error.value.exit_code == 2
        first.kill()
    with run_lock.held(tmp_path) as again:
        assert again == token


def test_a_run_keeps_its_token_and_a_copy_has_its_own(tmp_path: Path) -> None:
    first, moved, copy = (tmp_path / name for name in ("first", "moved", "copy"))
    first.mkdir()
    with run_lock.held(first) as token:
        assert len(token) > 32
    first.rename(moved)
    shutil.copytree(moved, copy)
    with run_lock.held(moved) as again, run_lock.held(copy) as other:
        assert again == token != other
    (moved / run_lock.FILE).write_bytes(b"\xff" * 200)
    with run_lock.held(moved) as renewed:
        assert renewed not in (token, other)
    with run_lock.held(moved) as again:
        assert again == renewed


def test_what_cannot_be_locked_is_told(tmp_path: Path) -> None:
    (tmp_path / run_lock.FILE).symlink_to(tmp_path / "elsewhere")
    message = f"{tmp_path / run_lock.FILE}: the run cannot be locked: not a plain file"
    with pytest.raises(StoreError, match=message), run_lock.held(tmp_path):
        pass
    assert not (tmp_path / "elsewhere").exists()


def test_within_one_harness_a_run_is_held_once(tmp_path: Path) -> None:
    run = Run.create(tmp_path, "9-example", origin())
    with run.alone() as token:
        with run.alone() as again:
            assert again == token
        with pytest.raises(StoreError, match="another harness"), Run(run.folder).alone():
            pass
    with Run(run.folder).alone() as again:
        assert again == token
