"""A copy of the checkout in which a defect is planted and the tests are run."""

import contextlib
import itertools
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Self

from harness.ground import files
from tests.support.paths import ROOT

_LISTED = ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
_APART = """
set -e
mount --bind "$0" "$0"
mount -o remount,bind,ro /
exec "$@"
"""
"""In namespaces of its own: it sees its own processes alone, and writes in its own folder alone."""


class Shadow:
    """The checkout's files below ``folder``, and a process that runs their tests.

    The process is walled off: a defect in what signals processes or removes folders would reach
    those of the machine. This needs root, or a kernel that lets users make namespaces.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.root = folder / "checkout"
        self._temporary = folder / "tmp"
        self._temporary.mkdir(parents=True)
        listed = subprocess.run(_LISTED, cwd=ROOT, check=True, capture_output=True).stdout
        for name in map(os.fsdecode, filter(None, listed.split(b"\0"))):
            copy = self.root / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy, follow_symlinks=False)
        self._clock = itertools.count(time.time_ns(), 1_000_000_000)
        self._server = self._start(folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.communicate()  # it ends with its stdin
        files.remove(self._folder)  # a defect may have left a folder of any depth

    def run(self, tests: Sequence[str], *, deadline_s: float = 60.0) -> tuple[str, str]:
        """Run tests until the first fails; return the status and the last line that says why.

        "passed", "failed", "timeout" or "broken", where pytest could not run them.
        """
        assert self._server.stdin
        assert self._server.stdout
        asked = {"tests": list(tests), "deadline_s": deadline_s}
        self._server.stdin.write(json.dumps(asked) + "\n")
        self._server.stdin.flush()
        answer = json.loads(self._server.stdout.readline())
        return answer["status"], answer["told"]

    @contextlib.contextmanager
    def planted(self, file: str, text: str) -> Iterator[None]:
        """Meanwhile ``file`` of the copy holds ``text``."""
        path = self.root / file
        before = path.read_text(encoding="utf-8")
        try:
            self._write(path, text)
            yield
        finally:
            self._write(path, before)

    def _write(self, path: Path, text: str) -> None:
        """Replace a file, under a time of change that no bytecode knows."""
        path.write_text(text, encoding="utf-8")
        changed = next(self._clock)
        os.utime(path, ns=(changed, changed))

    def _start(self, folder: Path) -> "subprocess.Popen[str]":
        apart = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
        if os.geteuid() != 0:
            apart.append("--map-root-user")
        serve = (sys.executable, "-m", "tests.support.suite_server")
        return subprocess.Popen(
            [*apart, "sh", "-c", _APART, str(folder), *serve],
            cwd=self.root,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(folder),
                "TMPDIR": str(self._temporary),
                "PYTHONHASHSEED": "0",
                "WORKLOGS_BATTERY_SCALE": "1",
                "WORKLOGS_BATTERY_SEED": "0",
                "PYTHONDONTWRITEBYTECODE": "1",
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
