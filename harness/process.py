"""The only spawner: argument lists, a deadline, a bounded end, a capped log, and no orphan.

Each program runs under a warden (``harness.warden``), which ends it even if we are killed.
"""

import contextlib
import errno
import io
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

from harness import locks, warden
from harness.errors import StoreError, ToolError

RUN = "HARNESS_RUN"
"""Environment variable of every process of a run's cells: the run's token."""

Status = Literal["ok", "failed", "timeout", "interrupted"]

_POLL_S = 0.2
_SETTLE_S = 0.2
_LOOK_S = 0.02
_MARK = "HARNESS_PROCESS"
_OUTPUT_BYTES = 16 << 20
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

    ``left``: the command that removes what the process leaves took too long.
    """

    status: Status
    returncode: int | None
    wall_s: float
    detail: str
    left: bool = False


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
) -> Outcome:
    """Run ``argv`` in a session of its own, stdout and stderr into ``log`` (16 MiB at most).

    Past ``deadline_s``, when ``stop`` is set or we are interrupted, the program and all that it
    started get TERM, four seconds, then KILL; if we are killed, KILL. Unless the program exits with
    0, ``removal`` runs meanwhile: a command that removes what it leaves outside its processes.

    Raises ToolError if the program cannot start, StoreError if the log cannot be written.
    """
    start = time.monotonic()
    with log.open("wb", buffering=0) as file:
        program = _Program(argv, cwd, env, file, removal=removal)
        try:
            status = program.wait(start + deadline_s, stop)
        finally:
            program.end()
    if program.trouble:
        raise StoreError(f"not written: {program.trouble}", where=log, remedy="free some room")
    wall_s = time.monotonic() - start
    return Outcome(status, program.returncode, wall_s, last_line(log), program.left)


def output(argv: Sequence[str], *, deadline_s: float = 20, cwd: Path | None = None) -> str:
    """Return the output of a short query; ToolError if it is absent, fails or takes too long."""
    until = time.monotonic() + deadline_s
    out, err = io.BytesIO(), io.BytesIO()
    program = _Program(argv, cwd or Path(), os.environ, out, err)
    try:
        status = program.wait(until)
    finally:
        program.end()
    if status == "timeout":
        raise ToolError(f"no answer within {deadline_s:.0f} s", where=argv[0])
    if status != "ok":
        lines = err.getvalue().decode("utf-8", "replace").strip().splitlines()
        raise ToolError(lines[-1] if lines else f"exit {program.returncode}", where=argv[0])
    return out.getvalue().decode("utf-8", "replace").strip()


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


class _Program:
    """A program that runs under its warden.

    At its end ``returncode`` is that of the program, ``left`` whether its removal took too long,
    ``trouble`` why its output could not be kept, if so.
    """

    def __init__(
        self,
        argv: Sequence[str],
        cwd: Path,
        env: Mapping[str, str],
        out: IO[bytes],
        err: IO[bytes] | None = None,
        *,
        removal: Sequence[str] = (),
    ) -> None:
        self.returncode: int | None = None
        self.left = False
        self.trouble = ""
        self._name = argv[0]
        self._mark = uuid.uuid4().hex
        self._words = b""
        self._warden_ended = False
        self._socket, theirs = socket.socketpair()
        call = [sys.executable, "-I", "-S", warden.__file__, str(len(removal)), *removal, *argv]
        with theirs:
            try:
                self._warden = subprocess.Popen(
                    call,
                    cwd=cwd,
                    env={**env, _MARK: self._mark},
                    stdin=theirs.fileno(),
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE if err else subprocess.STDOUT,
                    start_new_session=True,
                    pass_fds=locks.lasting(),
                )
            except BaseException as error:
                self._socket.close()
                if isinstance(error, OSError):
                    raise ToolError(f"cannot start: {error.strerror}", where=self._name) from error
                raise
        sinks = [(self._warden.stdout, out), (self._warden.stderr, err)]
        self._drains = [
            threading.Thread(target=self._drain, args=pair, daemon=True)
            for pair in sinks
            if None not in pair
        ]
        for drain in self._drains:
            drain.start()

    def wait(self, until: float, stop: threading.Event | None = None) -> Status:
        """Wait until the program ends, the time is ``until``, or ``stop`` is set.

        Raises ToolError if the program cannot start.
        """
        while (now := time.monotonic()) < until:
            self._hear(min(_POLL_S, until - now))
            if self.returncode is not None or self._warden_ended:
                return "ok" if self.returncode == 0 else "failed"
            if stop is not None and stop.is_set():
                return "interrupted"
        return "timeout"

    def end(self) -> None:
        """Leave no descendant behind, however the program ended."""
        with contextlib.suppress(OSError):
            self._socket.send(b".")
        until = time.monotonic() + warden.GRACE_S + warden.LAST_S + _SETTLE_S
        while not self._warden_ended and (left := until - time.monotonic()) > 0:
            self._hear(left)
        self._warden.kill()  # it hangs, or it has ended
        self._warden.wait()
        if self._warden.returncode != 0:
            _kill_all(self._mark)
        self._socket.close()
        for drain in self._drains:
            drain.join(timeout=_SETTLE_S)

    def _hear(self, seconds: float) -> None:
        """Take in what the warden says within that time."""
        self._socket.settimeout(max(seconds, 0.001))
        try:
            words = self._socket.recv(64)
        except TimeoutError:
            return
        except OSError:
            words = b""
        self._warden_ended = not words
        *whole, self._words = (self._words + words).split(b"\n")
        for word in whole:
            self._note(word.decode())

    def _note(self, word: str) -> None:
        if word.startswith("-"):
            number = int(word[1:])
            absent = number == errno.ENOENT and "/" not in self._name
            what = "not found on PATH" if absent else os.strerror(number)
            raise ToolError(f"cannot start: {what}", where=self._name)
        if word == "left":
            self.left = True
        elif word.isdigit():
            self.returncode = os.waitstatus_to_exitcode(int(word))

    def _drain(self, stream: IO[bytes], sink: IO[bytes]) -> None:
        """Copy up to the cap, then read on so that the program never blocks."""
        room = _OUTPUT_BYTES
        with stream:
            while block := stream.read1(65536):  # type: ignore[attr-defined]  # a BufferedReader
                kept = block[: max(0, room)]
                if 0 <= room < len(block):
                    kept += f"\n[the log was cut at {_OUTPUT_BYTES} bytes]\n".encode()
                room -= len(block)
                try:
                    while kept:
                        kept = kept[sink.write(kept) :]
                except OSError as error:
                    self.trouble = error.strerror or str(error)


def _kill_all(mark: str) -> None:
    """Kill all processes that carry our mark, wherever they moved in the process tree."""
    until, quiet = time.monotonic() + warden.LAST_S, 0
    # Until two scans in a row find none: during exec a process shows no environment for a moment.
    while quiet < 2 and time.monotonic() < until:
        pids = _marked(mark)
        quiet = 0 if pids else quiet + 1
        for pid in pids:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(_LOOK_S)


def _marked(mark: str) -> list[int]:
    """Return the pids that carry our mark, wherever they moved in the process tree (Linux only)."""
    pids = []
    for environ in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            # A zombie's environment reads as empty: it holds nothing and needs no signal.
            if f"{_MARK}={mark}".encode() in environ.read_bytes().split(b"\0"):
                pids.append(int(environ.parent.name))
    return pids
