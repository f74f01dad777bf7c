"""Messages between the process that renders a report and the one that holds its template."""

import json
import os
import select
from typing import Any

from harness.report.escape import Markdown

MOST_BYTES = 64 << 20
"""Bytes of a message; a longer one is refused on either side."""

_HEAD = 8
"""Bytes of a message's length, which stands before it."""

Message = dict[str, Any]


class Channel:
    """Two pipes as file descriptors; each message is a JSON object."""

    def __init__(self, incoming: int, outgoing: int) -> None:
        self._incoming = incoming
        self._outgoing = outgoing

    def send(self, message: Message) -> None:
        """Send a message; ValueError if it is too long, OSError if nobody listens."""
        text = json.dumps(message).encode()
        if len(text) > MOST_BYTES:
            raise ValueError(f"more than {MOST_BYTES >> 20} MB at once")
        rest = memoryview(len(text).to_bytes(_HEAD, "big") + text)
        while rest:
            rest = rest[os.write(self._outgoing, rest) :]

    def receive(self, seconds: float | None = None) -> Message:
        """Return the next message; EOFError at the end, TimeoutError after ``seconds`` without."""
        length = int.from_bytes(self._read(_HEAD, seconds), "big")
        if length > MOST_BYTES:
            raise EOFError
        message: Message = json.loads(self._read(length, seconds))
        return message

    def _read(self, count: int, seconds: float | None) -> bytes:
        blocks = []
        while count:
            if not select.select([self._incoming], [], [], seconds)[0]:
                raise TimeoutError
            block = os.read(self._incoming, min(count, 1 << 20))
            if not block:
                raise EOFError
            blocks.append(block)
            count -= len(block)
        return b"".join(blocks)


def packed(value: object) -> Any:
    """Return plain data as JSON that tells Markdown from text; TypeError if it is anything else."""
    if isinstance(value, Markdown):
        return {"markdown": str(value)}
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {"map": {str(key): packed(item) for key, item in value.items()}}
    if isinstance(value, list | tuple | range):
        return [packed(item) for item in value]
    if value is None or isinstance(value, str | int | float):
        return value
    raise TypeError(f"a value of type {type(value).__name__} is no plain data")


def unpacked(value: Any) -> Any:
    """Return what :func:`packed` made JSON of; tuples are lists."""
    if isinstance(value, dict) and "markdown" in value:
        return Markdown(value["markdown"])
    if isinstance(value, dict):
        return {key: unpacked(item) for key, item in value["map"].items()}
    if isinstance(value, list):
        return [unpacked(item) for item in value]
    return value
