"""Runs a program for the harness, and ends all that it started even if the harness is killed.

    python -I -S warden.py FILE_BYTES COUNT REMOVAL... PROGRAM ARGUMENT...

No file that the program writes grows past FILE_BYTES, if that is not 0. REMOVAL are COUNT words: a
command that removes what the program leaves outside its own processes, a container for example. It
runs unless the program exits with 0. stdin is a socket to the harness:

    to the harness    "+" once the program runs, or "-" and the errno of its start;
                      its wait status when it has ended; "left" if REMOVAL takes too long
    from the harness  anything: end the program. Its end of file: the harness is gone

The warden has a session of its own, and whatever the program starts becomes its child when orphaned
(PR_SET_CHILD_SUBREAPER), so nothing hides. If the warden is killed, the kernel kills the program
(PR_SET_PDEATHSIG). A lock that the warden inherits holds until it ends. It imports little, as a
warden starts for each program.
"""

import contextlib
import ctypes
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Sequence

GRACE_S = 4.0
"""From TERM to KILL; also for REMOVAL."""
LAST_S = 0.8
"""For KILL to take effect: within a system call it may not."""
_LOOK_S = 0.02
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36  # linux/prctl.h
_HARNESS = 0  # the socket, as a file descriptor
_TERMINALS = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)
"""Signals of a terminal, which are the harness's to judge."""


def main(words: Sequence[str]) -> None:
    """Run a program until it ends, the harness asks for its end, or the harness is gone."""
    for name in os.listdir("/dev/fd"):  # noqa: PTH208 - pathlib is slow to load
        with contextlib.suppress(OSError):  # the folder's own, closed by now
            os.set_inheritable(int(name), int(name) < 3)  # the program gets none of our locks
    file_bytes, count = map(int, words[:2])
    removal, argv = words[2 : 2 + count], words[2 + count :]
    if file_bytes:
        _bound(file_bytes)
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    ignored = [number for number in _TERMINALS if signal.getsignal(number) == signal.SIG_IGN]
    for number in _TERMINALS:
        signal.signal(number, signal.SIG_IGN)
    woken = _woken_by(signal.SIGCHLD, signal.SIGTERM)
    program, trouble = _start(argv, ignored)
    _tell(f"-{trouble}" if trouble else "+")
    children = _Children(program)
    asked = children.wait(woken)
    removing = _start(removal, ignored)[0] if removal and children.status != 0 else None
    left = children.end(removing, gently=asked)
    if left:
        _tell("left")


class _Children:
    """All that runs below us; ``status`` is the program's wait status once it has ended."""

    def __init__(self, program: int) -> None:
        self._program = program
        self._ended: set[int] = set()
        self.status: int | None = None

    def wait(self, woken: int) -> bool:
        """Wait until the program ends; return at once, and True, when the harness asks for it."""
        while self.status is None:
            ready, _, _ = select.select([_HARNESS, woken], [], [])
            terminated = woken in ready and signal.SIGTERM in os.read(woken, 4096)
            self._reap()
            if terminated:
                return False
            if self.status is None and _HARNESS in ready:
                return _asked()
        return False

    def end(self, removing: int | None, *, gently: bool) -> bool:
        """End everybody, ``gently`` with TERM first; return whether ``removing`` took too long."""
        if gently:
            _signal(_below(without=removing), signal.SIGTERM)
        start, left = time.monotonic(), False
        while self._reap():
            passed = time.monotonic() - start
            if passed > GRACE_S + LAST_S:
                break
            if passed > GRACE_S:
                left = left or (removing is not None and removing not in self._ended)
                _signal(_below(), signal.SIGKILL)
            elif not gently or self.status is not None:
                _signal(_below(without=removing), signal.SIGKILL)
            time.sleep(_LOOK_S)
        return left

    def _reap(self) -> bool:
        """Collect those that have ended; return whether anybody is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            self._ended.add(pid)
            if pid == self._program:
                self.status = status
                _tell(str(status))


def _start(argv: Sequence[str], ignored: Sequence[int]) -> tuple[int, str]:
    """Start a program that dies with us; return its pid, and the errno if it cannot start."""
    reading, writing = os.pipe()
    warden = os.getpid()
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            for number in (*_TERMINALS, signal.SIGPIPE, signal.SIGXFSZ):
                if number not in ignored:
                    signal.signal(number, signal.SIG_DFL)
            os.dup2(os.open(os.devnull, os.O_RDONLY), _HARNESS)
            if os.getppid() == warden:
                os.execvp(argv[0], list(argv))  # noqa: S606 - words, and no shell
        except OSError as error:
            os.write(writing, str(error.errno).encode())
        finally:
            os._exit(127)
    os.close(writing)
    trouble = os.read(reading, 16).decode()
    os.close(reading)
    return pid, trouble


def _bound(file_bytes: int) -> None:
    """Let no file of ours, and of those that we start, grow past a size."""
    soft, hard = (
        file_bytes if limit == resource.RLIM_INFINITY else min(limit, file_bytes)
        for limit in resource.getrlimit(resource.RLIMIT_FSIZE)
    )
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def _below(without: int | None = None) -> list[int]:
    """Return the pids of our descendants, except ``without`` and what is below that."""
    children: dict[int, list[int]] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208 - pathlib is slow to load
        with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
            parent = int(file.read().rpartition(b")")[2].split()[1])
            children.setdefault(parent, []).append(int(name))
    descendants, ahead = [], [os.getpid()]
    while ahead:
        ahead += (below := [pid for pid in children.get(ahead.pop(), ()) if pid != without])
        descendants += below
    return descendants


def _signal(pids: Sequence[int], number: int) -> None:
    for pid in pids:
        with contextlib.suppress(OSError):  # ended meanwhile, or of another user
            os.kill(pid, number)


def _asked() -> bool:
    """Return whether the harness asks for the end; False if it is gone."""
    with contextlib.suppress(OSError):
        return bool(os.read(_HARNESS, 1))
    return False


def _tell(word: str) -> None:
    with contextlib.suppress(OSError):  # the harness is gone
        os.write(_HARNESS, f"{word}\n".encode())


def _woken_by(*numbers: int) -> int:
    """Return a pipe's end that gets a byte for each of these signals."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    for number in numbers:
        signal.signal(number, lambda *_: None)
    return reading


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value)


if __name__ == "__main__":
    main(sys.argv[1:])
