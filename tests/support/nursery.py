"""Harnesses forked from a warm process, so that hundreds of them can be started, hit and killed.

    python -m tests.support.nursery

reads requests from stdin, a JSON line each; forks ``harness.cli.main`` for each; prints its process
number, and its wait status when it has ended.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self

from tests.support.paths import ROOT

_CHANGES = {
    *("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.chmod", "os.link"),
    *("os.truncate", "subprocess.Popen", "fcntl.flock"),
}
"""Audit events of Python that change what others see: files, folders, programs, locks."""
_TAKES_ROOM = {"open", "os.mkdir", "os.rename", "os.link"}
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT


@dataclass(frozen=True)
class Fault:
    """What befalls a harness at the ``at``-th change that it makes; None never.

    ``kind`` is "signal", with ``number`` and to the whole ``group`` or not, "full", a disk without
    room for this change, ``lasting`` for all later ones as well, or "clock", which is set back.
    """

    at: int | None = None
    kind: str = "signal"
    number: int = signal.SIGKILL
    group: bool = False
    lasting: bool = False


class Nursery:
    """Starts harnesses; each works in a house, a folder with ``runs`` and a problem in ``9-x``."""

    def __enter__(self) -> Self:
        self._server = subprocess.Popen(
            [sys.executable, "-m", "tests.support.nursery"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._server.communicate()

    def start(self, house: Path, argv: list[str], fault: Fault = Fault()) -> int:
        """Start a harness and return its process number; its output goes to files in the house."""
        request = {"house": str(house), "argv": argv, "fault": asdict(fault)}
        assert self._server.stdin
        self._server.stdin.write(json.dumps(request) + "\n")
        self._server.stdin.flush()
        return self._answer()

    def wait(self) -> int:
        """Return the exit code of the harness, minus the signal that killed it."""
        return os.waitstatus_to_exitcode(self._answer())

    def run(self, house: Path, argv: list[str], fault: Fault = Fault()) -> int:
        """Run a harness to its end and return its exit code."""
        self.start(house, argv, fault)
        return self.wait()

    def _answer(self) -> int:
        assert self._server.stdout
        return int(self._server.stdout.readline())


def _serve() -> None:
    host = _warm()
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            _harness(host, **json.loads(line))
        print(pid, flush=True)
        print(os.waitpid(pid, 0)[1], flush=True)


def _warm() -> Any:
    """Import what a run imports, so that a fork has it; return this machine without its GPU."""
    import harness.cli.account
    import harness.cli.app
    import harness.cli.progress
    import harness.engines.container
    import harness.engines.local
    import harness.run.session
    from harness.machine import target
    from harness.machine.host import Host

    del harness
    return Host(replace(target.detect(), gpu=None, more_gpus=(), memory_bytes=2 << 30))


def _harness(host: Any, house: str, argv: list[str], fault: dict[str, Any]) -> None:
    """Be the harness that was asked for."""
    from harness import cli
    from harness.ground import checkout
    from harness.machine import gpu_lock
    from harness.machine.host import Host

    os.setpgid(0, 0)
    os.chdir(house)
    for number, name in ((1, "stdout.txt"), (2, "stderr.txt")):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644), number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    checkout.runs = lambda: Path(house) / "runs"
    checkout.reports = lambda: Path(house) / "reports"
    gpu_lock.FOLDER = Path(house)
    Host.detect = classmethod(lambda _cls: host)  # type: ignore[method-assign,assignment]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)
    changes = _Changes(Fault(**fault))
    sys.addaudithook(changes.note)
    sys.argv = ["harness", *argv]
    try:
        cli.main()
    finally:
        changes.over = True
        Path(house, "changes.txt").write_text(str(changes.count))


class _Changes:
    """Counts what a harness changes, and strikes at one of them."""

    def __init__(self, fault: Fault) -> None:
        self.count = 0
        self.over = False
        self._struck = False
        self._fault = fault
        self._strike: Callable[[], None] = getattr(self, f"_{fault.kind}")

    def note(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event not in _CHANGES or self.over:
            return
        if event == "open" and not _writes(*arguments):
            return
        self.count += 1
        if self._fault.at is None or self.count < self._fault.at or self._struck:
            return
        if self._fault.kind != "full" or event in _TAKES_ROOM:
            self._struck = not self._fault.lasting
            self._strike()

    def _signal(self) -> None:
        if self._fault.group:
            os.killpg(0, self._fault.number)
        else:
            os.kill(os.getpid(), self._fault.number)

    def _full(self) -> None:
        raise OSError(28, "No space left on device")

    def _clock(self) -> None:
        right = time.time
        time.time = lambda: right() - 86400


def _writes(path: object, _mode: object, flags: object) -> bool:
    """Return whether an opening may make or change a file."""
    named = isinstance(path, str) and not path.startswith("/dev/")
    return named and isinstance(flags, int) and bool(flags & _WRITES)


if __name__ == "__main__":
    _serve()
