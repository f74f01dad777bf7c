"""Bounds what a command takes for the files that strangers made: all of it, not reading alone.

What a file holds is analysed and drawn by native code, too (polars, zlib, the figure writer), which
no exception stops. So such a command goes on in a copy of its process, made while nothing else runs
in it. This process waits, passes on what the copy says on stderr, and says in one line why it came
to no end. Each file that the copy opens allows it more memory and CPU time, by the file's size. The
kernel limits its memory (RLIMIT_DATA) and sends a signal where its time is spent; where it goes on
after that, this process ends it.
"""

import contextlib
import json
import math
import os
import resource
import select
import signal
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType

from harness.ground import confined, confined_server, endings, files
from harness.ground.confined import Budget
from harness.ground.errors import CaptureError, ToolError

_LOOK_S = 1.0
_GRACE_S = 3.0
"""CPU seconds from the signal that the copy can heed to the one that it cannot."""
_PR_SET_PDEATHSIG = 1  # linux/prctl.h
_STDERR = 2
_NO_TIME, _NO_MEMORY = 97, 98
"""Exit codes of a copy that noticed itself what it lacks."""
_MOST_SAID = 1 << 20
"""Bytes of stderr that are passed on."""


@dataclass(frozen=True)
class _Allowed:
    """What the copy may take by now, and the file that it opened last."""

    where: str = ""
    memory: int = 0
    cpu_s: float = 0.0

    @classmethod
    def read(cls, state: int) -> "_Allowed":
        return cls(**json.loads(os.pread(state, 1 << 16, 0) or b"{}"))

    def write(self, state: int) -> None:
        data = json.dumps(asdict(self)).encode()
        os.ftruncate(state, 0)
        os.pwrite(state, data, 0)


class _TimeSpentError(BaseException):
    """The copy's CPU time is spent; raised as soon as Python runs again."""


_state: int | None = None
"""In the copy: the file in memory that holds what it may take."""


def run(work: Callable[[], int]) -> int:
    """Return the exit code that ``work`` returns, in a copy of this process; this process ends.

    It ends with the copy's exit code, or raises CaptureError if the copy spent its budget. Nothing
    but the caller may run in it. Where the system is not Linux, ``work`` is done here, unbounded.
    """
    if not hasattr(os, "memfd_create"):
        return work()
    _open_standard_streams()
    with _memory_file("state") as state, _memory_file("said") as said, _scratch() as folder:
        alive, held = os.pipe()
        signal.pthread_sigmask(signal.SIG_BLOCK, endings.ENDINGS)  # until each process heeds them
        copy = os.fork()
        if copy:
            os.close(held)
            raise SystemExit(_awaited(copy, alive, state, said))
        os.close(alive)
        _become_the_copy(state, said, folder)
        try:
            return work()
        except _TimeSpentError:
            os._exit(_NO_TIME)
        except BaseException as error:
            if confined_server.lacks_memory(error):
                os._exit(_NO_MEMORY)
            raise


def allow(path: Path, budget: Budget | None = None) -> None:
    """Allow the copy what a file may take: ``budget``, or the one for its size.

    Without effect where :func:`run` did not make this process.
    """
    if _state is None:
        return
    more, allowed_before = budget or confined.budget(path), _Allowed.read(_state)
    memory = allowed_before.memory or confined_server.data_bytes()
    if allowed_before.where != str(path):  # what is opened twice is held once
        memory += more.memory
    allowed = _Allowed(str(path), memory, allowed_before.cpu_s + more.cpu_s)
    allowed.write(_state)
    confined_server.limit(resource.RLIMIT_DATA, memory)
    confined_server.limit(resource.RLIMIT_CPU, int(allowed.cpu_s) + 1)


def _open_standard_streams() -> None:
    """Let no file that is opened from now on take the place of a stream that the caller closed."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= _STDERR:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)


@contextlib.contextmanager
def _memory_file(name: str) -> Iterator[int]:
    descriptor = os.memfd_create(name)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _scratch() -> Iterator[str | None]:
    """Yield a folder for the copy's temporary files, None where there can be none."""
    try:
        folder = tempfile.mkdtemp(prefix="harness-")
    except OSError:  # which the copy says where it needs one
        yield None
        return
    try:
        yield folder
    finally:
        files.remove(Path(folder))


def _become_the_copy(state: int, said: int, folder: str | None) -> None:
    global _state
    _state = state
    os.setpgid(0, 0)  # a terminal's signals come through the first process, once
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    signal.signal(signal.SIGXCPU, _time_is_spent)
    _die_with_parent()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, endings.ENDINGS)
    confined_server.limit(resource.RLIMIT_CORE, 0)  # an abort is foreseen
    tempfile.tempdir = folder or tempfile.tempdir
    confined.fork_server()
    os.dup2(said, _STDERR)


def _die_with_parent() -> None:
    import ctypes

    set_option = getattr(ctypes.CDLL(None), "prctl", lambda *_: 0)
    set_option(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _time_is_spent(_number: int, _frame: FrameType | None) -> None:
    signal.signal(signal.SIGXCPU, signal.SIG_IGN)
    raise _TimeSpentError


def _awaited(copy: int, alive: int, state: int, said: int) -> int:
    """Return the copy's exit code.

    Raises CaptureError if it spent its budget, ToolError if native code ended it otherwise.
    """
    for number in endings.heeded():
        signal.signal(number, lambda number, _frame: _pass_on(copy, number))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, endings.ENDINGS)
    with os.fdopen(alive, "rb") as pipe:
        poll = select.poll()
        poll.register(pipe, select.POLLIN)  # its end closes when the copy ends
        late = False
        while not poll.poll(_LOOK_S * 1000):
            late = late or _cpu_s(copy) > (_Allowed.read(state).cpu_s or math.inf) + _GRACE_S
            if late:
                _pass_on(copy, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1])
    allowed, words = _Allowed.read(state), os.pread(said, _MOST_SAID, 0)
    where = allowed.where or None
    if late or status == _NO_TIME:
        what = f"what it holds takes more than {allowed.cpu_s:,.3g} s of CPU time"
        raise CaptureError(what, where=where, remedy=confined.MORE)
    if status in (_NO_MEMORY, -signal.SIGKILL) or (status < 0 and confined.NO_MEMORY in words):
        raise _no_memory(allowed, where)
    if status < 0:
        raise (_no_memory(allowed, where) if _is_limited() else _gave_up(-status, where))
    with contextlib.suppress(OSError):  # nobody reads it
        os.write(_STDERR, words)
    return status


def _no_memory(allowed: _Allowed, where: str | None) -> CaptureError:
    """Return the error of a copy that got no more memory: by its budget, or by the user's limit."""
    if _is_limited():
        return CaptureError("takes more memory than ulimit allows", where=where, remedy="raise it")
    what = f"what it holds takes more than {allowed.memory / (1 << 20):,.0f} MB of memory"
    return CaptureError(what, where=where, remedy=confined.MORE)


def _gave_up(number: int, where: str | None) -> ToolError:
    remedy = "a fault of the harness or of what it draws with: please report it"
    return ToolError(f"native code gave up: {signal.strsignal(number)}", where=where, remedy=remedy)


def _is_limited() -> bool:
    """Return whether the user limits what this process may take of memory."""
    limits = (resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA))
    return any(limit != resource.RLIM_INFINITY for limit in limits)


def _pass_on(copy: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(copy, number)


def _cpu_s(process: int) -> float:
    """Return the CPU time of a process in s (proc(5), stat)."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2]
    except OSError:
        return 0.0
    user, system = fields.split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
