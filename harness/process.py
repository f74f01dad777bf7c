"""The only spawner: argument lists, a deadline, TERM, KILL, a bounded wait, a capped log."""

import contextlib
import os
import re
import signal
import subprocess
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

from harness.errors import ToolError

Status = Literal["ok", "failed", "timeout", "interrupted"]

_GRACE_S = 5.0
_POLL_S = 0.2
_SETTLE_S = 0.02
_LOG_BYTES = 16 << 20
_ALLOWED = re.compile(
    r"PATH|HOME|USER|LANG|LC_.*|TZ|TMPDIR|LD_LIBRARY_PATH"  # to start at all
    r"|CUDA_.*|NVIDIA_.*|NCCL_.*|TORCH_.*|CUBLAS.*|OMP_NUM_THREADS"  # what the user set for the GPU
    r"|DOCKER_.*|CONTAINER_HOST|CONTAINERS_.*|XDG_.*|DBUS_SESSION_BUS_ADDRESS"  # for the engine
    r"|PIP_.*|UV_.*|SSL_CERT_FILE|REQUESTS_CA_BUNDLE|(?i:https?_proxy|no_proxy)"  # package installs
)
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]")


@dataclass(frozen=True)
class Outcome:
    """How a process ended; ``detail`` is the last line of its log that is not blank."""

    status: Status
    returncode: int | None
    wall_s: float
    detail: str


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
) -> Outcome:
    """Run ``argv`` in a session of its own, stdout and stderr into ``log`` (16 MiB at most).

    Past ``deadline_s``, when ``stop`` is set or we are interrupted, the process group and every
    descendant that left it get TERM, five seconds, then KILL. Raises ToolError if the program
    cannot start.
    """
    start = time.monotonic()
    mark = f"HARNESS_PROCESS={uuid.uuid4()}"
    name, value = mark.split("=")
    try:
        child = subprocess.Popen(
            list(argv),
            cwd=cwd,
            env={**env, name: value},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        raise ToolError(f"cannot start: {error.strerror}", where=argv[0]) from error
    assert child.stdout is not None  # noqa: S101 - for the type checker: PIPE was asked for
    drain = threading.Thread(target=_drain, args=(child.stdout, log), daemon=True)
    drain.start()
    try:
        status = _wait(child, start + deadline_s, stop)
    finally:
        _end(child, mark)
        drain.join(timeout=_GRACE_S)
    return Outcome(status, child.returncode, time.monotonic() - start, last_line(log))


def output(argv: Sequence[str], *, deadline_s: float = 20, cwd: Path | None = None) -> str:
    """Return the output of a short query; ToolError if it is absent, fails or takes too long."""
    try:
        done = subprocess.run(
            list(argv),
            check=True,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=deadline_s,
            stdin=subprocess.DEVNULL,
            cwd=cwd,
        )
    except FileNotFoundError:
        raise ToolError("not found on PATH", where=argv[0]) from None
    except subprocess.TimeoutExpired:
        raise ToolError(f"no answer within {deadline_s:.0f} s", where=argv[0]) from None
    except (OSError, subprocess.CalledProcessError) as error:
        lines = (getattr(error, "stderr", "") or str(error)).strip().splitlines()
        raise ToolError(lines[-1] if lines else "failed", where=argv[0]) from error
    return done.stdout.strip()


def guardian(argv: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> "subprocess.Popen[str]":
    """Start ``argv`` in a session of its own, to outlive us: its stdin ends when we do.

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
        )
    except OSError as error:
        raise ToolError(f"cannot start: {error.strerror}", where=argv[0]) from error


def last_line(log: Path) -> str:
    """Return the last line of a log that is not blank, cut to 300 characters."""
    lines = tail(log).splitlines()
    return next((line.strip()[:300] for line in reversed(lines) if line.strip()), "")


def tail(log: Path) -> str:
    """Return the end of a log, without control characters; empty if it cannot be read."""
    with contextlib.suppress(OSError), log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - 8192))
        return _CONTROL.sub("", file.read().decode("utf-8", "replace"))
    return ""


def _wait(child: "subprocess.Popen[bytes]", until: float, stop: threading.Event | None) -> Status:
    while time.monotonic() < until:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return "ok" if child.wait(timeout=_POLL_S) == 0 else "failed"
        if stop is not None and stop.is_set():
            return "interrupted"
    return "timeout"


def _drain(stream: IO[bytes], log: Path) -> None:
    """Copy ``stream`` to ``log`` up to the cap, then read on so that the child never blocks."""
    written = 0
    with stream, log.open("wb") as file:
        while block := stream.read1(65536):  # type: ignore[attr-defined]  # a BufferedReader
            if written < _LOG_BYTES:
                file.write(block[: _LOG_BYTES - written])
                if written + len(block) >= _LOG_BYTES:
                    file.write(f"\n[the log was cut at {_LOG_BYTES} bytes]\n".encode())
                file.flush()
            written += len(block)


def _end(child: "subprocess.Popen[bytes]", mark: str) -> None:
    """Leave no descendant behind, however the child ended."""
    if child.poll() is None:
        _signal(child.pid, _marked(mark), signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(timeout=_GRACE_S)
    until, quiet = time.monotonic() + _GRACE_S, 0
    # Until two scans in a row find none: during exec a process shows no environment for a moment.
    while quiet < 2 and time.monotonic() < until:
        strays = _marked(mark)
        quiet = 0 if strays or child.poll() is None else quiet + 1
        if quiet == 0:
            _signal(child.pid, strays, signal.SIGKILL)
        time.sleep(_SETTLE_S)


def _signal(group: int, strays: list[int], number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
    for pid in strays:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _marked(mark: str) -> list[int]:
    """Return the pids that carry our mark, wherever they moved in the process tree (Linux only)."""
    pids = []
    for environ in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            # A zombie's environment reads as empty: it holds nothing and needs no signal.
            if mark.encode() in environ.read_bytes().split(b"\0"):
                pids.append(int(environ.parent.name))
    return pids
