"""The only spawner: argument lists, a deadline, a bounded end, a capped log, and no orphan.

Each program runs under a warden (``harness.ground.warden``), which ends it even if we are killed.
"""

import contextlib
import io
import os
import re
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.ground import files, locks
from harness.ground.errors import StoreError, ToolError
from harness.ground.program import Program, Status

RUN = "HARNESS_RUN"
"""Environment variable of every process of a run's cells: the run's token."""

_ALLOWED = re.compile(
    r"PATH|HOME|USER|LANG|LC_.*|TZ|TMPDIR|LD_LIBRARY_PATH"  # to start at all
    r"|CUDA_.*|NVIDIA_.*|NCCL_.*|TORCH_.*|CUBLAS.*|OMP_NUM_THREADS"  # what the user set for the GPU
    r"|DOCKER_.*|CONTAINER_HOST|CONTAINERS_.*|XDG_.*|DBUS_SESSION_BUS_ADDRESS"  # for the engine
    r"|PIP_.*|UV_.*|SSL_CERT_FILE|REQUESTS_CA_BUNDLE|(?i:https?_proxy|no_proxy)"  # package installs
)
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]")


@dataclass(frozen=True)
class Outcome:
    """How a process ended; ``detail`` is the last line of its log that is not blank.

    ``left``: the command that removes what the process leaves took too long. ``ill``: the reason
    for which its watch had it ended.
    """

    status: Status
    returncode: int | None
    wall_s: float
    detail: str
    left: bool = False
    ill: str = ""


@dataclass(frozen=True)
class Answer:
    """A program's end and its output as text; ``returncode`` is None unless it ended by itself."""

    status: Status
    returncode: int | None
    out: str
    err: str


def environment(extra: Mapping[str, str]) -> dict[str, str]:
    """Return a child's environment: the allow-listed part of our own, and ``extra``."""
    inherited = {key: value for key, value in os.environ.items() if _ALLOWED.fullmatch(key)}
    return inherited | dict(extra)


def run(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    log: Path,
    deadline_s: float,
    stop: threading.Event | None = None,
    removal: Sequence[str] = (),
    watch: Callable[[], str] = lambda: "",
    waits: Callable[[], bool] = lambda: False,
    file_bytes: int | None = None,
) -> Outcome:
    """Run ``argv`` in a session of its own, stdout and stderr into ``log`` (16 MiB at most).

    Past ``deadline_s``, when ``stop`` is set or we are interrupted, the program and all that it
    started get TERM, four seconds, then KILL; if we are killed, KILL. Unless the program exits with
    0, ``removal`` runs meanwhile: a command that removes what it leaves outside its processes.
    A program of which ``watch`` returns an ill is ended and has failed for that reason; no file
    that it writes grows past ``file_bytes``. The deadline moves on while the program ``waits`` for
    others, to 21 times ``deadline_s`` at most.

    Raises ToolError if the program cannot start, StoreError if the log cannot be written.
    """
    start = time.monotonic()
    with _new(log) as file:
        program = Program(argv, cwd, env, file, removal=removal, file_bytes=file_bytes)
        try:
            status = program.wait(start + deadline_s, stop, watch, waits)
        finally:
            program.end()
    if program.trouble:
        raise files.not_written(log, program.trouble)
    wall_s = time.monotonic() - start
    return Outcome(status, program.returncode, wall_s, last_line(log), program.left, program.ill)


def output(argv: Sequence[str], *, deadline_s: float = 20, cwd: Path | None = None) -> str:
    """Return the output of a short query; ToolError if it is absent, fails or takes too long."""
    said = answer(argv, deadline_s=deadline_s, cwd=cwd or Path())
    if said.status == "timeout":
        raise ToolError(f"no answer within {deadline_s:.0f} s", where=argv[0])
    if said.status != "ok":
        lines = said.err.strip().splitlines()
        raise ToolError(lines[-1] if lines else f"exit {said.returncode}", where=argv[0])
    return said.out.strip()


def answer(
    argv: Sequence[str], *, deadline_s: float, cwd: Path, stop: threading.Event | None = None
) -> Answer:
    """Return a program's output, 16 MiB of each stream at most, and its end.

    Past ``deadline_s``, or when ``stop`` is set, it is ended with all that it started. Raises
    ToolError if it cannot start.
    """
    until = time.monotonic() + deadline_s
    out, err = io.BytesIO(), io.BytesIO()
    program = Program(argv, cwd, os.environ, out, err)
    try:
        status = program.wait(until, stop)
    finally:
        program.end()
    texts = (stream.getvalue().decode("utf-8", "replace") for stream in (out, err))
    return Answer(status, program.returncode, *texts)


def guardian(argv: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> "subprocess.Popen[str]":
    """Start ``argv`` in a session of its own, to outlive us: its stdin ends when we do.

    Until it ends, the lasting locks hold that we hold now, unless we free them.
    The caller reads its stdout, ends its stdin and waits. Raises ToolError if it cannot start.
    """
    try:
        return subprocess.Popen(
            list(argv),
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
            pass_fds=locks.lasting(),
        )
    except OSError as error:
        raise ToolError(f"cannot start: {error.strerror}", where=argv[0]) from error


def last_line(log: Path) -> str:
    """Return the last line of a log that is not blank, cut to 300 characters."""
    lines = tail(log).splitlines()
    return next((line.strip()[:300] for line in reversed(lines) if line.strip()), "")


def tail(log: Path) -> str:
    """Return the end of a log, without control characters; empty if it cannot be read."""
    with contextlib.suppress(OSError, StoreError), files.regular(log) as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - 8192))
        return _CONTROL.sub("", file.read().decode("utf-8", "replace"))
    return ""


def text(log: Path) -> str:
    """Return a whole log; empty if it cannot be read."""
    with (
        contextlib.suppress(OSError, StoreError),
        io.TextIOWrapper(files.regular(log), encoding="utf-8", errors="replace") as file,
    ):
        return file.read()
    return ""


def _new(log: Path) -> io.FileIO:
    """Open a new file in place of whatever has a log's name: a link is not followed."""
    try:
        log.unlink(missing_ok=True)
        return io.FileIO(log, "x")
    except OSError as error:
        raise StoreError(f"not written: {error.strerror}", where=log) from error
