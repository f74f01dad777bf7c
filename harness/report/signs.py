"""Changes with their sign, as differences print them."""

from harness.report.numbers import number

_MINUS = "\N{MINUS SIGN}"


def signed(value: float) -> str:
    """Return a change with its sign, rounded as a value is."""
    return with_sign(value, number(abs(value)))


def with_sign(value: float, magnitude: str) -> str:
    """Return ``magnitude``, the size of ``value`` as text, with the value's sign."""
    return f"{'+' if value >= 0 else _MINUS}{magnitude}"


def percent(share: float) -> str:
    """Return a share in whole percent, of either sign."""
    shown = round(100 * share)
    return f"{_MINUS if shown < 0 else ''}{abs(shown)} %"
