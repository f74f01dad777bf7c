"""A program under its warden: started, waited for, and ended with all that it started."""

import contextlib
import errno
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Literal

from harness.ground import locks, maker, warden
from harness.ground.errors import ToolError

Status = Literal["ok", "failed", "timeout", "interrupted"]

_POLL_S = 0.2
_SETTLE_S = 0.2
_LOOK_S = 0.02
_MOST_WAITING = 20
_OUTPUT_BYTES = 16 << 20
_MARK = "HARNESS_PROCESS"


class Program:
    """A program that runs under its warden.

    At its end ``returncode`` is that of the program, ``left`` whether its removal took too long,
    ``trouble`` why its output could not be kept, ``ill`` what its watch saw, if so.
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
        file_bytes: int | None = None,
    ) -> None:
        self.returncode: int | None = None
        self.left = False
        self.trouble: OSError | None = None
        self.ill = ""
        self._name = argv[0]
        self._mark = uuid.uuid4().hex
        self._words = b""
        self._warden_ended = False
        self._socket, theirs = socket.socketpair()
        bounds = [str(file_bytes or 0), str(len(removal))]
        call = [sys.executable, "-I", "-S", warden.__file__, *bounds, *removal, *argv]
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

    def wait(
        self,
        until: float,
        stop: threading.Event | None = None,
        watch: Callable[[], str] = lambda: "",
        waits: Callable[[], bool] = lambda: False,
    ) -> Status:
        """Wait until the program ends, it is ``until``, ``stop`` is set, or ``watch`` sees an ill.

        Time in which the program ``waits`` for others does not count, up to 20 times the rest.
        Raises ToolError if the program cannot start.
        """
        now = time.monotonic()
        latest = until + _MOST_WAITING * (until - now)
        while (now := time.monotonic()) < until:
            self._hear(min(_POLL_S, until - now))
            if waits():
                until = min(latest, until + time.monotonic() - now)
            if self.returncode is not None or self._warden_ended:
                return "ok" if self.returncode == 0 else "failed"
            if stop is not None and stop.is_set():
                return "interrupted"
            if ill := watch():
                self.ill = ill
                return "failed"
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
            end_all(_MARK, self._mark)
        self._socket.close()
        for drain in self._drains:
            drain.join(timeout=_SETTLE_S)

    def _hear(self, seconds: float) -> None:
        """Receive the warden's words within that time."""
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
                    self.trouble = error
                except ValueError:  # the sink was closed: `end` did not wait for us any longer
                    return


def end_all(variable: str, value: str) -> list[int]:
    """Kill every process with this environment variable; return those that still run.

    The kernel may take a while where a process is within a system call; then it is waited for, but
    not for long. Linux only.
    """
    until, quiet = time.monotonic() + warden.LAST_S, 0
    killed: set[tuple[int, int]] = set()
    # Until two scans in a row find none: during exec a process shows no environment for a moment.
    while quiet < 2 and time.monotonic() < until:
        killed |= (processes := _with(f"{variable}={value}"))
        for pid, _ in processes:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        left = [pid for pid, start in killed if maker.start(pid) == start]
        quiet = 0 if left else quiet + 1
        time.sleep(_LOOK_S)
    return sorted(pid for pid, start in killed if maker.start(pid) == start)


def _with(entry: str) -> set[tuple[int, int]]:
    """Return pid and start of each process with an entry in its environment, wherever it moved."""
    processes = set()
    for environ in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            # That of a process that has ended reads as empty.
            if entry.encode() in environ.read_bytes().split(b"\0"):
                pid = int(environ.parent.name)
                processes.add((pid, maker.start(pid)))
    return processes
