"""Read one long list of objects out of a JSON file, piece by piece, in memory that stays small.

A piece is cut where a regular expression sees one object end and the next begin, and decoded as a
list. That proves the cut: a JSON text has one reading, so a piece that begins with an object and
decodes as a list of whole values also ends with one. Where it does not decode, brackets are counted
from the start of the piece to distinguish a wrong cut from the end of the list and from a fault.
Whatever stands around the list is kept, and decoded as one document at the end.

Every error is a CaptureError that gives the offset into the (uncompressed) text in bytes.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec

from harness.captures.formats.json_cuts import Brackets, Cut, find_list, last_separator
from harness.ground.errors import CaptureError

BLOCK = 256 << 10
"""Bytes decoded at once: the objects of a piece then stay in the processor's cache."""

LIMIT = 64 << 20
"""Bytes that one object of the list, and all that stands around the list, may have."""

_EMPTY = re.compile(rb"\[[ \t\r\n]*+\]")
_FAULT = re.compile(r" ?\(byte (\d+)\)")
_PLACEHOLDER = b"[0]"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

T = TypeVar("T")


@dataclass(frozen=True)
class Piece(Generic[T]):
    """Consecutive values of the list: the text as a list of its own, and what it decodes to.

    ``items`` are in the order of the file. ``offset`` is where ``text``'s opening bracket would
    stand in the file.
    """

    offset: int
    text: bytes
    items: list[T]

    def values(self) -> Iterator[tuple[int, bytes]]:
        """Yield the offset and the text of each value."""
        position = 0
        for raw in msgspec.json.decode(self.text, type=list[msgspec.Raw]):
            value = bytes(raw)
            position = self.text.index(value, position)
            yield self.offset + position, value
            position += len(value)


class ListDecoder(Generic[T]):
    """Decodes pieces as lists of ``item``, a type that msgspec knows.

    ``misfit(text)`` is asked for a value that is not of that type: it returns what stands for it,
    None where it may be left out, or raises msgspec.ValidationError.
    """

    def __init__(self, item: Any, misfit: Callable[[bytes], T | None]) -> None:
        self._list = msgspec.json.Decoder(list[item])
        self._item = msgspec.json.Decoder(item)
        self._misfit = misfit

    def decode(self, text: bytes, offset: int) -> Piece[T]:
        """Return the values of ``text``, a list that begins at ``offset``.

        Raises msgspec.DecodeError where it is no JSON list, CaptureError where no cut could help.
        """
        _check_utf8(text, offset)  # the decoder does not look into strings that it skips
        try:
            try:
                return Piece(offset, text, self._list.decode(text))
            except msgspec.ValidationError:
                return Piece(offset, text, self._one_by_one(Piece(offset, text, [])))
        except RecursionError:
            raise CaptureError(_at("JSON nested too deeply", offset)) from None

    def _one_by_one(self, piece: Piece[T]) -> list[T]:
        items: list[T | None] = []
        for offset, value in piece.values():
            try:
                items.append(self._item.decode(value))
            except msgspec.ValidationError:
                try:
                    items.append(self._misfit(value))
                except msgspec.ValidationError as error:
                    raise CaptureError(_at(str(error), offset)) from None
        return [item for item in items if item is not None]


def pieces(
    blocks: Iterable[bytes],
    key: str,
    decoder: ListDecoder[T],
    around: Callable[[bytes], None] | None = None,
) -> Iterator[Piece[T]]:
    """Yield the list that is the whole of a JSON text, or that its root object has under ``key``.

    ``around`` gets the text without the list, which another stands for, once all is yielded.
    Memory: a few times the larger of BLOCK and the longest object, which LIMIT bounds.
    Raises CaptureError where the text is not JSON, ends early, or holds no such list.
    """
    window = _Window(blocks)
    head, head_offset = _take_head(window, key)
    closed = False
    while not closed:
        piece, closed = _take_piece(window, decoder)
        if _EMPTY.fullmatch(piece.text) is None:
            yield piece
    while not window.ended:
        window.grow()
    document = _checked_around(head, head_offset, window, key)
    if around:
        around(document)


class _Window:
    """The part of the text that is not yet used, and its offset in the whole."""

    def __init__(self, blocks: Iterable[bytes]) -> None:
        self._blocks = iter(blocks)
        self.data = b""
        self.offset = 0
        self.ended = False

    def grow(self) -> None:
        """Read a block, or as much again as there is: looking through it anew stays linear."""
        room = LIMIT - len(self.data)
        if room <= 0:
            raise CaptureError(_at(f"no end of a JSON value within {LIMIT >> 20} MB", self.offset))
        parts, missing = [self.data], min(room, max(BLOCK, len(self.data)))
        while missing > 0 and not self.ended:
            block = next(self._blocks, b"")
            self.ended = not block
            parts.append(block)
            missing -= len(block)
        self.data = b"".join(parts)

    def drop(self, count: int) -> None:
        """Leave out the first ``count`` bytes."""
        self.data = self.data[count:]
        self.offset += count


def _take_head(window: _Window, key: str) -> tuple[bytes, int]:
    """Take the text up to and with the list's opening bracket; also return where that begins."""
    window.grow()
    if window.data.startswith(_BYTE_ORDER_MARK):
        window.drop(len(_BYTE_ORDER_MARK))
    while (end := find_list(window.data, key, window.offset)) is None:
        if window.ended:
            raise _unfinished(window, b"") or CaptureError(f"JSON without {key!r}")
        window.grow()
    head, offset = window.data[:end], window.offset
    window.drop(end)
    return head, offset


def _take_piece(window: _Window, decoder: ListDecoder[T]) -> tuple[Piece[T], bool]:
    """Take the longest piece at hand; also say whether the list ended with it."""
    brackets = Brackets()
    while True:
        if not window.ended:
            window.grow()
        fault = None
        if separator := last_separator(window.data):
            try:
                piece = _decode(window, separator.start() + 1, decoder)
            except msgspec.DecodeError as error:
                fault = _fault(error, window.offset - 1, separator.start() + 2)
            else:
                window.drop(separator.end())
                return piece, False
        try:
            cut = brackets.count(window.data)
        except RecursionError:
            raise CaptureError(_at("JSON nested too deeply", window.offset)) from None
        if fault is not None and not (cut and cut.closes):
            raise fault
        if cut is None and window.ended:
            raise _unfinished(window, b"[") or CaptureError("the JSON ends early")
        if cut is not None:
            return _take_counted(window, cut, decoder), cut.closes


def _take_counted(window: _Window, cut: Cut, decoder: ListDecoder[T]) -> Piece[T]:
    try:
        piece = _decode(window, cut.end, decoder)
    except msgspec.DecodeError as error:
        broken = CaptureError(_at(_reason(error), window.offset + cut.end))
        raise _fault(error, window.offset - 1, cut.end + 1) or broken from None
    window.drop(cut.resume)
    return piece


def _decode(window: _Window, end: int, decoder: ListDecoder[T]) -> Piece[T]:
    text = b"".join((b"[", memoryview(window.data)[:end], b"]"))
    return decoder.decode(text, window.offset - 1)


def _checked_around(head: bytes, head_offset: int, window: _Window, key: str) -> bytes:
    """Return the text before and after the list, one JSON document with one list in it."""
    document = head + _PLACEHOLDER[1:-1] + window.data
    around = msgspec.defstruct("Around", [("list", msgspec.Raw, msgspec.field(name=key))])
    kind = around if document.lstrip().startswith(b"{") else msgspec.Raw
    try:
        _check_utf8(document, head_offset)
        decoded: Any = msgspec.json.decode(document, type=kind)
    except RecursionError:
        raise CaptureError(_at("JSON nested too deeply", head_offset)) from None
    except msgspec.DecodeError as error:
        fault = _FAULT.search(str(error))
        at = int(fault[1]) if fault else len(document)
        what = _reason(error) if fault else "the JSON ends early"
        start = head_offset if at < len(head) else window.offset - len(head) - 1
        raise CaptureError(_at(what, start + at)) from None
    if kind is around and bytes(decoded.list) != _PLACEHOLDER:
        raise CaptureError(f"{key!r} is there twice")
    return document


def _unfinished(window: _Window, opening: bytes) -> CaptureError | None:
    """Return the first fault in the rest of a text, or that it ends early; None if it is whole."""
    end = len(window.data)
    try:
        msgspec.json.decode(opening + window.data, type=msgspec.Raw)
    except msgspec.DecodeError as error:
        early = CaptureError(_at("the JSON ends early", window.offset + end))
        return _fault(error, window.offset - len(opening), end + len(opening)) or early
    except RecursionError:
        return CaptureError(_at("JSON nested too deeply", window.offset))
    return None


def _fault(error: msgspec.DecodeError, offset: int, end: int) -> CaptureError | None:
    """Return the decoder's complaint about a byte before ``end``: what we put there is no fault."""
    fault = _FAULT.search(str(error))
    at = int(fault[1]) if fault else end
    return CaptureError(_at(_reason(error), offset + at)) if at < end else None


def _check_utf8(text: bytes, offset: int) -> None:
    try:
        text.isascii() or text.decode()
    except UnicodeDecodeError as error:
        raise CaptureError(_at("invalid UTF-8", offset + error.start)) from None


def _reason(error: msgspec.DecodeError) -> str:
    return _FAULT.sub("", str(error)).replace("JSON is malformed", "not valid JSON")


def _at(what: str, offset: int) -> str:
    return f"byte {offset}: {what}"
