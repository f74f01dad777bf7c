"""A lock is one process's at a time, every user's, and nothing but a plain file."""

import contextlib
import os
import select
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.ground import locks
from tests.support.paths import ROOT

TAKES = """
import sys
from pathlib import Path
from harness.ground import locks
print("free" if locks.take(Path(sys.argv[1]), 0o666) else "held")
"""


@contextlib.contextmanager
def user(number: int) -> Iterator[None]:
    """Act as another user, whose files have no rights for others."""
    umask = os.umask(0o077)
    os.seteuid(number)
    try:
        yield
    finally:
        os.seteuid(0)
        os.umask(umask)


def taken_by_another(path: Path) -> str:
    argv = [sys.executable, "-c", TAKES, str(path)]
    return subprocess.run(argv, check=True, text=True, capture_output=True, cwd=ROOT).stdout.strip()


def test_one_process_holds_a_lock_and_its_name_is_told(tmp_path: Path) -> None:
    path = tmp_path / "gpu.lock"
    assert locks.holder(path) is None
    lock = locks.take(path)
    assert lock is not None
    assert taken_by_another(path) == "held"
    assert locks.holder(path) == os.getpid()
    locks.free(lock)
    assert locks.holder(path) is None
    assert taken_by_another(path) == "free"
    assert [entry.name for entry in tmp_path.iterdir()] == ["gpu.lock"]


def test_a_process_that_we_started_does_not_keep_a_lock_that_we_freed(tmp_path: Path) -> None:
    path = tmp_path / "gpu.lock"
    lock = locks.take(path)
    assert lock is not None
    child = subprocess.Popen(["sleep", "60"], pass_fds=[lock])
    locks.free(lock)
    assert taken_by_another(path) == "free"
    child.kill()
    child.wait()


@pytest.mark.parametrize(
    ("device", "others", "known"),
    [
        ("{device}", ("99:99",), True),
        ("00:99", (), True),  # btrfs
        ("00:99", ("99:99",), False),
    ],
)
def test_the_holder_is_told_only_if_it_is_certain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, device: str, others: tuple[str], known: bool
) -> None:
    path, table = tmp_path / "gpu.lock", tmp_path / "locks"
    path.touch()
    file = path.stat()
    here = f"{os.major(file.st_dev):02x}:{os.minor(file.st_dev):02x}"
    rows = [
        f"1: POSIX  ADVISORY  WRITE 1 {here}:{file.st_ino} 0 EOF",
        *(f"2: FLOCK  ADVISORY  WRITE 1 {other}:{file.st_ino} 0 EOF" for other in others),
        f"3: FLOCK  ADVISORY  WRITE {os.getpid()} {device.format(device=here)}:{file.st_ino} 0 EOF",
        f"3: -> FLOCK  ADVISORY  WRITE 1 {here}:{file.st_ino} 0 EOF",
        f"4: FLOCK  ADVISORY  WRITE 1 {here}:1{file.st_ino} 0 EOF",
    ]
    table.write_text("\n".join(rows) + "\n")
    monkeypatch.setattr(locks, "_LOCKS", table)
    assert locks.holder(path) == (os.getpid() if known else None)


def test_a_lock_that_is_there_is_not_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # In /tmp, fs.protected_regular refuses O_CREAT for a file of another user, even to root.
    path, opened, flags = tmp_path / "gpu.lock", os.open, []

    def watched(name: Path, asked: int, *more: int) -> int:
        flags.append(asked)
        return opened(name, asked, *more)

    path.touch()
    monkeypatch.setattr(os, "open", watched)
    lock = locks.take(path)
    assert lock is not None
    locks.free(lock)
    assert len(flags) == 1
    assert not flags[0] & (os.O_CREAT | os.O_TRUNC)


WAITS = """
import sys
from pathlib import Path
from harness.ground import locks
print("waiting", flush=True)
lock = locks.wait_for(Path(sys.argv[1]))
print("has it", flush=True)
"""


def test_who_waits_has_the_lock_when_it_is_free(tmp_path: Path) -> None:
    path = tmp_path / "install.lock"
    lock = locks.wait_for(path)
    argv = [sys.executable, "-c", WAITS, str(path)]
    with subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout
        assert other.stdout.readline() == "waiting\n"
        assert not select.select([other.stdout], [], [], 0.3)[0]
        locks.free(lock)
        assert other.stdout.readline() == "has it\n"


RUNS = """
import sys
from pathlib import Path
from harness.ground import locks, process
locks.take(Path(sys.argv[1]), lasting=True)
out = Path(sys.argv[2])
script = f"trap '' TERM; ls -l /proc/self/fd > {out}/files; mv {out}/files {out}/ready; sleep 60"
process.run(
    ["bash", "-c", script], cwd=out, env=process.environment({}), log=out / "log", deadline_s=60
)
"""


def test_a_lasting_lock_holds_until_a_killed_harness_s_programs_have_ended(tmp_path: Path) -> None:
    path = tmp_path / "gpu.lock"
    with subprocess.Popen([sys.executable, "-c", RUNS, path, tmp_path], cwd=ROOT) as harness:
        while not (tmp_path / "ready").exists():
            time.sleep(0.01)
        assert locks.holder(path) == harness.pid
        assert str(path) not in (tmp_path / "ready").read_text()  # the program has not got it
        (warden,) = children(harness.pid)
        (program,) = children(warden)
        os.kill(warden, signal.SIGSTOP)
        harness.kill()
    assert taken_by_another(path) == "held"
    assert locks.holder(path) is None
    os.kill(warden, signal.SIGCONT)
    while taken_by_another(path) == "held":
        time.sleep(0.01)
    assert not Path(f"/proc/{program}").exists()


GUARDED = """
import sys, time
from pathlib import Path
from harness.ground import locks, process
locks.take(Path(sys.argv[1]), lasting=True)
undoes = ["bash", "-c", "cat; echo undoing >> $0; read < $1", *sys.argv[2:]]
guardian = process.guardian(undoes, cwd=Path(), env=process.environment({}))
time.sleep(60)
"""


def test_a_lasting_lock_holds_until_the_guardian_has_undone_its_work(tmp_path: Path) -> None:
    path, log, gate = tmp_path / "gpu.lock", tmp_path / "log", tmp_path / "gate"
    os.mkfifo(gate)
    with subprocess.Popen([sys.executable, "-c", GUARDED, path, log, gate], cwd=ROOT) as harness:
        while not children(harness.pid):
            time.sleep(0.01)
        harness.kill()
    while not log.exists():
        time.sleep(0.01)
    assert taken_by_another(path) == "held"
    gate.write_text("go\n")
    while taken_by_another(path) == "held":
        time.sleep(0.01)


def children(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for task in tasks for child in task.read_text().split()]


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be two users")
@pytest.mark.parametrize(("first", "second"), [(0, 65534), (65534, 0), (65533, 65534)])
def test_every_user_takes_the_same_lock(first: int, second: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o1777)
        path = Path(folder, "gpu.lock")
        with user(first):
            lock = locks.take(path, 0o666)
        assert lock is not None
        assert stat.S_IMODE(path.stat().st_mode) == 0o666
        with user(second):
            assert locks.take(path, 0o666) is None
        locks.free(lock)
        with user(second):
            lock = locks.take(path, 0o666)
        assert lock is not None
        locks.free(lock)


@pytest.mark.parametrize("kind", ["link", "fifo", "folder", "device"])
def test_nothing_but_a_plain_file_is_a_lock(tmp_path: Path, kind: str) -> None:
    path, target = tmp_path / "gpu.lock", tmp_path / "target"
    if kind == "link":
        path.symlink_to(target)
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path = Path("/dev/null")
    with pytest.raises(OSError, match="not a plain file"):
        locks.take(path)
    assert not target.exists()


def test_a_lock_whose_file_was_removed_is_taken_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "gpu.lock"
    opened = locks._opened

    def removed_once(file: Path, mode: int) -> int:
        descriptor = opened(file, mode)
        monkeypatch.setattr(locks, "_opened", opened)
        file.unlink()
        return descriptor

    monkeypatch.setattr(locks, "_opened", removed_once)
    assert locks.take(path) is not None
    assert taken_by_another(path) == "held"
