"""Counts and sizes as everything prints them."""

_BYTES = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B"))


def counted(count: int, what: str) -> str:
    """Return a count and what it counts, a noun that takes an s: "1 step", "1,200 steps"."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def byte_unit(count: float) -> tuple[float, str]:
    """Return the largest unit of which ``count`` bytes are at least one: its bytes, its symbol."""
    magnitude = abs(count)
    return next((unit for unit in _BYTES if magnitude >= unit[0]), _BYTES[-1])


def size(count: int) -> str:
    """Return bytes with two decimals, so that the numbers of a column line up."""
    scale, unit = byte_unit(count)
    return f"{count / scale:,.{0 if unit == 'B' else 2}f} {unit}"
