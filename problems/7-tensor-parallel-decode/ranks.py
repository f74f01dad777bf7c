"""The second rank: a process beside the cell's own, which does what the first tells it.

Rank 0 is the cell. It writes messages into a ring in memory that both processes map, and rank 1
polls the ring, so that both launch a step within microseconds of each other, each on a host thread
of its own, as inference servers do. A message is a short JSON list: an action and its arguments.
"""

import contextlib
import json
import mmap
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

RANKS = 2
SCRIPT = Path(__file__).with_name("second.py")

_SLOTS, _SLOT_BYTES, _HEAD = 4096, 64, 16
_SPIN_S = 2.0
"""How long rank 1 polls without a pause after a message; then it sleeps between looks."""
_END = ["end"]


class RankError(Exception):
    """Rank 1 ended before it was told to, or a message is too long for the ring."""


class Ring:
    """Messages from rank 0 to rank 1, at most ``_SLOTS`` of them that are not done.

    ``descriptor``: of a file in memory. Each counter has one writer, and x86 keeps the order of
    stores: a message is there when the count of messages says so.
    """

    def __init__(self, descriptor: int) -> None:
        self._memory = mmap.mmap(descriptor, self.size())
        self._counts = memoryview(self._memory)[:_HEAD].cast("q")

    @staticmethod
    def size() -> int:
        """Return the bytes of the file."""
        return _HEAD + _SLOTS * _SLOT_BYTES

    @property
    def told(self) -> int:
        """Return the number of messages that were written."""
        return self._counts[0]

    @property
    def done(self) -> int:
        """Return the number of messages that rank 1 has done."""
        return self._counts[1]

    @property
    def full(self) -> bool:
        """Return whether the next message has to wait."""
        return self.told - self.done >= _SLOTS

    def write(self, message: bytes) -> None:
        """Append a message; the ring must not be full."""
        if len(message) > _SLOT_BYTES:
            raise RankError(f"a message of {len(message)} bytes, of at most {_SLOT_BYTES}")
        at = _HEAD + self.told % _SLOTS * _SLOT_BYTES
        self._memory[at : at + _SLOT_BYTES] = message.ljust(_SLOT_BYTES)
        self._counts[0] += 1

    def next(self, parent: int) -> bytes | None:
        """Return the next message once it is there, None if the process that writes has ended."""
        since = time.monotonic()
        while self.told == self.done:
            if time.monotonic() - since > _SPIN_S:
                if os.getppid() != parent:
                    return None
                time.sleep(1e-3)
        at = _HEAD + self.done % _SLOTS * _SLOT_BYTES
        return bytes(self._memory[at : at + _SLOT_BYTES])

    def count_done(self) -> None:
        """Say that the message which ``next`` returned last is done."""
        self._counts[1] += 1


class Second:
    """Rank 1 as rank 0 sees it.

    Its process imports torch, and leaves the device alone until it is told to begin. ``params``:
    the cell's; ``meeting``: a file by which the ranks find each other.
    """

    def __init__(self, params: dict[str, Any], meeting: str) -> None:
        self.given = {"params": params, "meeting": meeting}
        descriptor = os.memfd_create("ranks")
        os.ftruncate(descriptor, Ring.size())
        self._ring = Ring(descriptor)
        self._process = subprocess.Popen(
            [sys.executable, str(SCRIPT), str(descriptor), json.dumps(self.given)],
            pass_fds=(descriptor,),
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        os.close(descriptor)

    def tell(self, *message: Any) -> None:
        """Have rank 1 do something; returns at once unless thousands of messages wait."""
        while self._ring.full:
            self._alive()
        self._ring.write(json.dumps(message).encode())

    def wait(self) -> None:
        """Wait until rank 1's host has done all that it was told; RankError if it has ended."""
        while self._ring.done < self._ring.told:
            self._alive()
            time.sleep(1e-5)

    def end(self) -> None:
        """Have rank 1 end once it has done what it was told."""
        self.tell(*_END)

    def join(self) -> None:
        """Wait until rank 1 has ended; RankError if it failed."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=60)
        if self._process.poll() is None:
            self._process.kill()
        if self._process.wait():
            raise RankError(f"rank 1 ended with {self._process.returncode}")

    def _alive(self) -> None:
        if self._process.poll() is not None:
            raise RankError(f"rank 1 ended with {self._process.returncode}; its message is above")


def messages(descriptor: int) -> Iterator[list[Any]]:
    """Yield what rank 0 tells this process, until it says that this was all.

    RankError if rank 0 ends without a word.
    """
    ring, parent = Ring(descriptor), os.getppid()
    while (written := ring.next(parent)) is not None:
        message = json.loads(written)
        if message == _END:
            ring.count_done()
            return
        yield message
        ring.count_done()
    raise RankError("rank 0 has ended")
