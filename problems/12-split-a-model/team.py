"""The other ranks' processes: each runs the same study as the cell's own, and keeps nothing."""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).with_name("follower.py")
_LEAST_S = 60


class RankError(Exception):
    """A rank's process failed; its message is above."""


class Team:
    """Ranks 1 and up of a study. They wait for rank 0 where they meet it."""

    def __init__(self, params: dict[str, Any], meeting: str, seed: int) -> None:
        self._processes = [
            subprocess.Popen(
                [sys.executable, str(SCRIPT)],
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
                stdin=subprocess.PIPE,
            )
            for _ in range(1, params["ranks"])
        ]
        self._given = {"params": params, "meeting": meeting, "seed": seed}

    def begin(self, device: str) -> None:
        """Have them take their devices: until then they import, and no more."""
        for rank, process in enumerate(self._processes, 1):
            assert process.stdin is not None  # noqa: S101 - a pipe was asked for
            given = self._given | {"rank": rank, "device": device}
            process.stdin.write(json.dumps(given).encode())
            process.stdin.close()

    def join(self) -> None:
        """Wait until they have ended; RankError if one failed."""
        for process in self._processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=_LEAST_S)
            if process.poll() is None:
                process.kill()
            if process.wait():
                raise RankError(f"a rank ended with {process.returncode}")

    def end(self) -> None:
        """End those that still run: rank 0 has failed."""
        for process in self._processes:
            process.kill()
            process.wait()


class Follower:
    """Stands where rank 0 has its cell."""

    def __init__(self, params: dict[str, Any]) -> None:
        self.params = params

    @contextlib.contextmanager
    def phase(self, _: str = "") -> Iterator[None]:
        """Mark nothing."""
        yield

    exclusively = phase

    def fact(self, *_: object) -> None:
        """Keep nothing."""

    sample = fact
