"""Forks a process for each call of :mod:`harness.ground.confined`, and computes nothing.

    python -m harness.ground.confined_server

Requests come as lines of JSON on stdin, replies leave on stdout. When stdin ends, so does the
server, with the process that is at work.
"""

import contextlib
import json
import os
import resource
import select
import signal
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any, NoReturn

from harness.ground import allocator
from harness.ground.errors import HarnessError
from harness.ground.references import resolve

ANSWER, LOG = "answer.json", "log"
"""Files that a call leaves in its folder: its result, and what it printed."""

_NEARLY = 0.5
"""Share of the memory allowed that is in use where a panic is put down to it."""
_GRACE_S = 2  # of CPU time, from the signal that says it is spent to the one that kills


def become(requests: int, replies: int) -> NoReturn:
    """Turn this process, a fork, into the server of these two pipes."""
    try:
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor, number in ((requests, 0), (replies, 1), (null, 2)):
            os.dup2(descriptor, number)
        os.closerange(3, 1 << 20)  # a lock that is open here would be held
        for number in (signal.SIGTERM, signal.SIGXCPU):  # which a caller may handle in its own way
            signal.signal(number, signal.SIG_DFL)
        serve()
    finally:
        os._exit(0)


def serve() -> None:
    """Answer requests until stdin ends."""
    # polars' own threads wait for ever where nothing computes, of which Python 3.12 would warn.
    warnings.filterwarnings("ignore", category=DeprecationWarning, message=".*fork.*")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with os.fdopen(0, "rb", buffering=0, closefd=False) as requests:
        while line := requests.readline():
            import polars  # noqa: F401 - once, for all processes that are forked

            reply = _done(json.loads(line))
            with contextlib.suppress(BrokenPipeError):
                os.write(1, json.dumps(reply).encode() + b"\n")


def _done(request: dict[str, Any]) -> dict[str, Any]:
    """Fork for a request; return how the process ended."""
    alive, held = os.pipe()
    pid = os.fork()
    if pid == 0:
        _confined(request)
    os.close(held)
    poll = select.poll()
    poll.register(alive, select.POLLIN)  # its end closes when the process ends
    poll.register(0, select.POLLIN)
    ready = dict(poll.poll(request["wall_s"] * 1000))
    late = alive not in ready
    if late:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    os.close(alive)
    _, status, used = os.wait4(pid, 0)
    return {
        "status": os.waitstatus_to_exitcode(status),
        "late": late,
        "peak_kb": used.ru_maxrss,
        "cpu_s": used.ru_utime + used.ru_stime,
    }


def _confined(request: dict[str, Any]) -> NoReturn:
    """Do a request in this process, a fork, within its budget; leave the answer and end."""
    try:
        folder = Path(request["folder"])
        os.setpgid(0, 0)
        log = os.open(folder / LOG, os.O_WRONLY | os.O_CREAT, 0o600)
        null = os.open(os.devnull, os.O_RDONLY)
        for descriptor, number in ((null, 0), (log, 1), (log, 2)):
            os.dup2(descriptor, number)
        tempfile.tempdir = str(folder)
        limit(resource.RLIMIT_CORE, 0)  # an abort is foreseen
        limit(resource.RLIMIT_CPU, request["cpu_s"], request["cpu_s"] + _GRACE_S)
        limit(resource.RLIMIT_DATA, request["memory_bytes"])
        answer = _answer(request)
        limit(resource.RLIMIT_DATA, resource.getrlimit(resource.RLIMIT_DATA)[1])
        (folder / ANSWER).write_text(json.dumps(answer))
        os._exit(0)
    finally:
        os._exit(1)


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"value": resolve(request["reference"])(**request["arguments"])}
    except HarnessError as error:
        return {"error": [type(error).__name__, error.what, error.where, error.remedy]}
    except BaseException as error:
        if lacks_memory(error):
            return {"out_of_memory": True}
        first_line = str(error).partition("\n")[0][:300]
        return {"fault": f"{type(error).__name__}: {first_line}"}


def lacks_memory(error: BaseException) -> bool:
    """Return whether an error came of a lack of memory, also where native code made it another."""
    if type(error).__name__ == "PanicException":  # polars', which has no public name
        return data_bytes() > _NEARLY * resource.getrlimit(resource.RLIMIT_DATA)[0]
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, MemoryError) or "failed to map segment" in str(cause)[:1000]:
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def data_bytes() -> int:
    """Return what this process may write to alone, in bytes: what RLIMIT_DATA limits (Linux)."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return 0
    return int(status.partition("VmData:")[2].split()[0]) * 1024


def limit(kind: int, soft: int, hard: int | None = None) -> None:
    """Lower the soft limit, and the hard limit if it is given; neither rises."""
    allowed = resource.getrlimit(kind)[1]
    hard = allowed if hard is None else hard
    if allowed != resource.RLIM_INFINITY:
        hard = allowed if hard == resource.RLIM_INFINITY else min(hard, allowed)
        soft = allowed if soft == resource.RLIM_INFINITY else min(soft, allowed)
    resource.setrlimit(kind, (soft, hard))


if __name__ == "__main__":
    allocator.keep_freed()
    serve()
    sys.exit(0)
