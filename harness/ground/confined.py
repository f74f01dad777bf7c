"""Calls a function on a file that somebody else made, in a process that a budget confines.

Readers run native code (SQLite, polars, msgspec, NVIDIA's), which no exception stops: it aborts
where memory ends, and a signal handler waits until it returns. So each call has a process of its
own, whose memory and CPU time the kernel limits, and which is killed when it is late.

The processes are forked by a server (:mod:`harness.ground.confined_server`), as a fresh Python
takes a fifth of a second of CPU time to import polars. To fork a process whose threads are at work
can hang: they may hold locks, which nobody opens in the copy. So the server never computes. It is a
new process, but where :func:`fork_server` made it of one that had no other thread yet.

Memory is limited as data (RLIMIT_DATA): what a process may write to, alone. The address space
(RLIMIT_AS) also counts files that are mapped, and 64 MB that each thread reserves.
"""

import atexit
import json
import math
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from harness.ground import confined_server, errors, process, references
from harness.ground.errors import CaptureError, HarnessError, ToolError, UsageError

VARIABLE = "HARNESS_READ_BUDGET"
"""The environment variable that multiplies every budget."""

MORE = f"if you trust the file, {VARIABLE}=4 allows four times as much memory and time"
"""What to do where a budget is spent."""

_MB = 1 << 20
_LEAST_MEMORY = 1024 * _MB
_MEMORY_PER_BYTE = {False: 12, True: 120}
"""Memory for a byte of a file as it is, and of one that is compressed.

Most are needed for a memory snapshot: up to 7 a byte of its pickle, which is packed up to 77-fold.
"""
_LEAST_CPU_S, _CPU_S_PER_MB = 8.0, 2.0
"""Real captures take up to 0.2 s of a core a megabyte as stored."""
_LEAST_UNPACKED, _MOST_UNPACKED = 32 * _MB, 16384 * _MB
_UNPACKED_PER_BYTE = 250
"""Real captures are packed up to 77-fold; gzip packs anything up to 1000-fold."""
_MOST_SHARE = 0.75  # of the machine's memory
_WALL_S = 60.0
_WALLS = 5.0  # wall time for CPU time, on a machine that does other work
_COMPRESSED = (b"\x1f\x8b", b"\x28\xb5")

NO_MEMORY = b"memory allocation of "
"""What Rust says before it aborts; a stack trace may follow."""


@dataclass(frozen=True)
class Budget:
    """What reading one file may take: memory and unpacked size in bytes, CPU and wall time in s."""

    memory: int
    cpu_s: float
    wall_s: float
    unpacked: int = _LEAST_UNPACKED


def budget(path: Path, least_cpu_s: float = _LEAST_CPU_S) -> Budget:
    """Return the budget for a file, or for evidence in a folder, by its size.

    ``least_cpu_s`` is allowed whatever the size. UsageError if the variable is no number above 0.
    """
    text = os.environ.get(VARIABLE, "1")
    try:
        times = float(text)
    except ValueError:
        times = 0.0
    if not 0 < times < math.inf:
        raise UsageError(f"{text!r} is no factor", where=VARIABLE, remedy="such as 4")
    size, packed = _size(path)
    memory = times * (_LEAST_MEMORY + size * _MEMORY_PER_BYTE[packed])
    most = _MOST_SHARE * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    cpu_s = times * (least_cpu_s + _CPU_S_PER_MB * size / _MB)
    unpacked = min(_LEAST_UNPACKED + size * _UNPACKED_PER_BYTE, _MOST_UNPACKED)
    return Budget(int(min(memory, most)), cpu_s, _WALL_S + _WALLS * cpu_s, int(times * unpacked))


def _size(path: Path) -> tuple[int, bool]:
    """Return the bytes of a file, or of the files in a folder, and whether they are compressed."""
    if path.is_dir():
        return sum(file.lstat().st_size for file in path.iterdir()), True
    with path.open("rb") as file:
        return os.fstat(file.fileno()).st_size, file.read(2) in _COMPRESSED


def call(
    function: Callable[..., Any],
    path: Path,
    folder: Path,
    arguments: Mapping[str, Any],
    allowed: Budget,
) -> Any:
    """Return the value of ``function``, at the top of its module, for keywords ``arguments``.

    Arguments and result are JSON; files go through ``folder``, an empty one, which holds whatever
    the call leaves. Raises the HarnessError that the function raised, and CaptureError, which names
    ``path``, where a budget is spent or the function fails otherwise; ToolError if the server that
    starts these processes is killed.
    """
    request = {
        "reference": references.to(function),
        "arguments": dict(arguments),
        "folder": str(folder.resolve()),
        "memory_bytes": allowed.memory,
        "cpu_s": math.ceil(allowed.cpu_s),
        "wall_s": allowed.wall_s,
    }
    ended = _ask(request)
    answer = _answer(folder) if ended["status"] == 0 else {}
    if "error" in answer:
        name, what, where, remedy = answer["error"]
        kind: type[HarnessError] = getattr(errors, name)
        raise kind(what, where=where or path, remedy=remedy)
    if "value" in answer:
        return answer["value"]
    raise _unfinished(path, ended, answer, folder / confined_server.LOG, allowed)


def _answer(folder: Path) -> dict[str, Any]:
    try:
        answer: dict[str, Any] = json.loads((folder / confined_server.ANSWER).read_bytes())
    except (OSError, ValueError):
        return {"fault": "left no answer"}
    return answer


def _unfinished(
    path: Path, ended: dict[str, Any], answer: dict[str, Any], log: Path, allowed: Budget
) -> CaptureError:
    """Return why a call came to no result: its budget or itself."""
    status = ended["status"]
    aborted = status == -signal.SIGABRT and NO_MEMORY in log.read_bytes()
    if "out_of_memory" in answer or aborted or (status == -signal.SIGKILL and not ended["late"]):
        what = f"reading it takes more than {allowed.memory / _MB:,.0f} MB of memory"
        return CaptureError(what, where=path, remedy=MORE)
    if status == -signal.SIGXCPU or ended["late"]:
        spent = allowed.wall_s if ended["late"] else allowed.cpu_s
        what = f"reading it takes more than {spent:,.3g} s{'' if ended['late'] else ' of CPU time'}"
        return CaptureError(what, where=path, remedy=MORE)
    fault = answer.get("fault") or f"{_ending(status)} {process.last_line(log)}".strip()
    return CaptureError(
        f"its reader failed: {fault}", where=path, remedy="a fault of the harness: please report it"
    )


def _ending(status: int) -> str:
    return f"exit code {status}" if status > 0 else signal.strsignal(-status) or f"signal {-status}"


class _Server:
    """The process that forks: requests go in and replies come out, a line each."""

    def __init__(self, requests: IO[str], replies: IO[str], wait: Callable[[], object]) -> None:
        self._requests = requests
        self._replies = replies
        self._wait = wait

    @classmethod
    def forked(cls) -> "_Server":
        """Return a server that is a copy of this process."""
        requests, self_requests = os.pipe()
        self_replies, replies = os.pipe()
        pid = os.fork()
        if pid == 0:
            confined_server.become(requests, replies)
        os.close(requests)
        os.close(replies)
        return cls(
            os.fdopen(self_requests, "w", encoding="utf-8"),
            os.fdopen(self_replies, encoding="utf-8"),
            lambda: os.waitpid(pid, 0),
        )

    @classmethod
    def started(cls) -> "_Server":
        """Return a server that is a new process."""
        spawned = process.guardian(
            [sys.executable, "-m", confined_server.__name__],
            cwd=Path(__file__).parents[2],
            env=process.environment({}),
        )
        assert spawned.stdin and spawned.stdout  # noqa: S101 - for the type checker
        return cls(spawned.stdin, spawned.stdout, spawned.wait)

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the reply to a request; OSError or ValueError if the server is gone."""
        self._requests.write(json.dumps(request) + "\n")
        self._requests.flush()
        import polars  # noqa: F401 - needed for what is read; the server imports it meanwhile

        reply: dict[str, Any] = json.loads(self._replies.readline())
        return reply

    def end(self) -> None:
        """Let the server end, with whatever it forked."""
        for stream in (self._requests, self._replies):
            try:
                stream.close()
            except OSError:  # a request that it never took
                continue
        self._wait()


_lock = threading.Lock()
_server: tuple[int, _Server] | None = None


def fork_server() -> None:
    """Fork the server from this process now; it may have no other thread."""
    global _server
    _server = os.getpid(), _Server.forked()


def _ask(request: dict[str, Any]) -> dict[str, Any]:
    """Return the server's reply; begin a server where this process has none."""
    global _server
    with _lock:
        if _server is None or _server[0] != os.getpid():
            _server = os.getpid(), _Server.started()
        try:
            return _server[1].ask(request)
        except BaseException as error:
            _end()
            if not isinstance(error, OSError | ValueError):
                raise
            what = "the process that starts readers was ended by another"
            raise ToolError(what, remedy="run the command again") from error


@atexit.register
def _end() -> None:
    global _server
    if _server is not None and _server[0] == os.getpid():
        _server[1].end()
    _server = None
