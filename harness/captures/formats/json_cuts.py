"""Where a JSON text may be cut, found by regular expressions; the decoder has the last word.

The expressions are possessive, so they take linear time on any text.
"""

import re
from typing import NamedTuple

import msgspec

from harness.ground.errors import CaptureError

_DEEPEST = 1000
"""Open brackets; msgspec follows no more either."""
_SEARCHED = (4 << 10, 64 << 10)
_SEPARATOR = re.compile(rb"\}[ \t\r\n]*,[ \t\r\n]*(?=\{)")
_AFTER = re.compile(rb"[ \t\r\n]*+(?P<comma>,?)[ \t\r\n]*+(?=.)", re.DOTALL)
_BLANKS = re.compile(rb"[ \t\r\n]*+")
_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_PLAIN = rb'[^"\[\]{}]++|' + _STRING
_FLAT = rb"[\[{](?:" + _PLAIN + rb")*+[\]}]"
_NESTED = rb"[\[{](?:" + _PLAIN + rb"|" + _FLAT + rb")*+[\]}]"
_TO_BRACKET = re.compile(rb"(?:" + _PLAIN + rb")*+[\[\]{}]", re.DOTALL)
_TO_OPEN_BRACKET = re.compile(rb"(?:" + _PLAIN + rb"|" + _NESTED + rb")*+[\[\]{}]", re.DOTALL)
"""To the next bracket that has no partner within two levels."""
_TO_TOKEN = re.compile(
    rb'[^"\[\]{}]*+(?:(?P<string>' + _STRING + rb")(?P<colon>[ \t\r\n]*:)?|(?P<bracket>[\[\]{}]))",
    re.DOTALL,
)


def last_separator(data: bytes) -> "re.Match[bytes] | None":
    """Return the last match of a separator between two objects.

    The match may lie inside a string or a nested list.
    """
    last = None
    for searched in _SEARCHED:
        for separator in _SEPARATOR.finditer(data, max(0, len(data) - searched)):
            last = separator
        if last:
            break
    return last


class Cut(NamedTuple):
    """Where a piece ends, where what follows it begins, and whether the list ends there."""

    end: int
    resume: int
    closes: bool


class Brackets:
    """Counts the brackets of a text that begins inside the list; goes on where more was added."""

    def __init__(self) -> None:
        self._at = self._depth = 0
        self._last: Cut | None = None

    def count(self, data: bytes) -> Cut | None:
        """Return the end of the list, or else of the last object that another value follows.

        Raises RecursionError for brackets that are nested too deeply.
        """
        while match := (_TO_OPEN_BRACKET if self._depth else _TO_BRACKET).match(data, self._at):
            at = match.end()
            if data[at - 1] in b"{[":
                self._depth += 1
                if self._depth > _DEEPEST:
                    raise RecursionError
            elif self._depth == 0:
                return Cut(at - 1, at - 1, closes=True)
            elif self._depth > 1:
                self._depth -= 1
            else:
                follows = _AFTER.match(data, at)
                if follows is None:  # what comes next is not there yet
                    break
                if follows["comma"]:
                    self._last = Cut(at, follows.end(), closes=False)
                self._depth = 0
            self._at = at
        return self._last


def find_list(data: bytes, key: str, offset: int) -> int | None:
    """Return the possible start of the first value of the root list, or of the list at ``key``.

    None if that is not in ``data`` yet; ``data`` is the start of a JSON text, which has ``offset``.
    """
    at = _skip_blanks(data, 0)
    if data[at : at + 1] == b"[":
        return at + 1
    if data[at : at + 1] not in (b"{", b""):
        raise CaptureError(f"byte {offset + at}: neither a JSON object nor a list")
    depth = 0
    while token := _TO_TOKEN.match(data, at):
        at = token.end()
        if token["bracket"]:
            depth += 1 if token["bracket"] in b"{[" else -1
            if depth > _DEEPEST:
                raise CaptureError(f"byte {offset + at}: JSON nested too deeply")
        elif depth == 1 and token["colon"] and _is_key(token["string"], key):
            at = _skip_blanks(data, at)
            if data[at : at + 1] not in (b"[", b""):
                raise CaptureError(f"byte {offset + at}: {key!r} is not a list")
            return at + 1 if at < len(data) else None
    return None


def _skip_blanks(data: bytes, at: int) -> int:
    blanks = _BLANKS.match(data, at)
    return blanks.end() if blanks else at


def _is_key(token: bytes, key: str) -> bool:
    try:
        return bool(msgspec.json.decode(token) == key)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
