"""Columns of integers packed into one: a row's values are the characters of one text.

What a fetch takes is the conversion of its values one by one, so one text is fetched in half the
time of ten integers.
"""

from collections.abc import Iterable
from dataclasses import dataclass

PACKED = "packed"
"""The name of the column of texts."""

# What SQLite writes for an integer below 0 or above 0x10FFFF, which is no code point
# (https://sqlite.org/lang_corefunc.html#char).
_NO_CHARACTER = 0xFFFD
_LOW_BITS = 20


@dataclass(frozen=True)
class Packed:
    """Columns packed into one; ``wide`` ones hold up to 40 bits, the others at most 0x10FFFF."""

    columns: tuple[str, ...]
    wide: frozenset[str]
    nullable: frozenset[str]

    def expression(self) -> str:
        """Return the SQL expression of a row's bytes; a null stands for no character."""
        values: list[str] = []
        for column in self.columns:
            quoted = '"' + column.replace('"', '""') + '"'
            value = f"ifnull({quoted}, -1)" if column in self.nullable else quoted
            low = f"{value} & {(1 << _LOW_BITS) - 1}"
            values += [f"{value} >> {_LOW_BITS}", low] if column in self.wide else [value]
        return f"CAST(char({', '.join(values)}) AS BLOB)"

    def unpacked(self, texts: Iterable[bytes]) -> list[list[int]] | None:
        """Return the columns' values of each text, None if an integer of them has no character."""
        rows = []
        for text in texts:
            points = list(map(ord, text.decode("utf-8", "surrogatepass")))
            if _NO_CHARACTER in points:
                return None
            values = iter(points)
            rows.append(
                [
                    next(values) << _LOW_BITS | next(values)
                    if column in self.wide
                    else next(values)
                    for column in self.columns
                ]
            )
        return rows
