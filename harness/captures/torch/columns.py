"""Columns made of values that many events have: numbers for strings, times, whole numbers."""

from collections.abc import Callable, Hashable, Sequence
from decimal import Decimal
from typing import Any

import polars as pl

from harness.ground.errors import CaptureError

_EXACT_US = 2.0**43
"""Below it floats are less than 1 ns apart, so one stands for at most one count of nanoseconds."""
_HALF = Decimal("0.5")
_DIGITS = 19
"""Of the largest number of 64 bits."""
_MOST_STRINGS = 1 << 20
_MOST_TEXT = 16 << 20
"""Bounds on distinct strings and on their length, as a few MB of gzip can stand for GB."""
SHORTER = "record fewer steps"


class InexactError(Exception):
    """A float among the times may stand for more than one count of nanoseconds."""


class UnsoundError(Exception):
    """A name, a time or a number is missing, impossible or not of its type."""


class Strings(list[str]):
    """Distinct strings, of a bounded number and length."""

    def __init__(self) -> None:
        super().__init__()
        self._length = 0

    def add(self, text: str) -> int:
        """Return the number that ``text`` gets."""
        self._length += len(text)
        if len(self) >= _MOST_STRINGS or self._length > _MOST_TEXT:
            raise CaptureError(
                f"more than {_MOST_STRINGS} distinct names and shapes, or {_MOST_TEXT >> 20} MB",
                remedy=SHORTER,
            )
        self.append(text)
        return len(self) - 1


class Codes(dict[Hashable, int | None]):
    """A key's number in a growing list of strings; None for a key that has no text."""

    def __init__(self, strings: Strings, text: Callable[[Any], str | None]) -> None:
        super().__init__({None: None})
        self._strings, self._text = strings, text

    def __missing__(self, key: Hashable) -> int | None:
        text = self._text(key)
        if text is None:
            return None  # and not kept: nothing would bound such keys
        number = self[key] = self._strings.add(text)
        return number


def codes(values: Sequence[int | None]) -> pl.Series:
    """Return a column of the numbers of strings."""
    return pl.Series(values, dtype=pl.UInt32)


def integers(values: Sequence[Any]) -> pl.Series:
    """Return a column of whole numbers, some of which may be None; UnsoundError for a text."""
    try:
        return pl.Series(values, dtype=pl.Int64)
    except TypeError:
        raise UnsoundError from None


def threads(values: Sequence[int | str | None]) -> pl.Series:
    """Return the threads of host events, null where they have none; in 2021 they were text."""
    try:
        return pl.Series(values, dtype=pl.Int64)
    except TypeError:
        return integers([_thread(value) for value in values])


def _thread(tid: int | str | None) -> int | None:
    if isinstance(tid, str):
        return int(tid) if tid.isascii() and tid.isdigit() and len(tid) < _DIGITS else None
    return tid


def nanoseconds(us: Sequence[float | Decimal | None], most: float) -> pl.Series:
    """Return microseconds as the nearest whole nanoseconds, exactly for Kineto's three decimals.

    Raises UnsoundError for a value below 0 or above ``most``, InexactError for floats from
    _EXACT_US on.
    """
    exact = isinstance(next((value for value in us if value is not None), None), Decimal)
    floats = [None if value is None else float(value) for value in us] if exact else us
    values = pl.Series(floats, dtype=pl.Float64)
    least: Any = values.min()
    longest: Any = values.max()
    if least is None:
        return values.cast(pl.Int64)
    if least < 0 or longest > most:
        raise UnsoundError
    if exact:
        return integers([None if v is None else int(Decimal(v) * 1000 + _HALF) for v in us])
    if longest >= _EXACT_US:
        if any(type(value) is float for value in us):
            raise InexactError
        return pl.Series(us, dtype=pl.Int64) * 1000
    whole = values.cast(pl.Int64)
    return whole * 1000 + ((values - whole) * 1000 + 0.5).cast(pl.Int64)
