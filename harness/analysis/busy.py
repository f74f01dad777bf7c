"""How long GPUs worked in the steps of a timeline, and in all of it."""

from dataclasses import dataclass

BETWEEN = " · "
"""What stands between the parts of a line on captures."""
WHOLE = "whole capture"
"""What steps are called where nothing of a timeline repeats."""
_NS_OF_MS = 1e6


@dataclass(frozen=True)
class Busy:
    """How long GPUs worked in the steps (``of``), and from their first operation to their last.

    Times are summed over the GPUs, which are ``gpus``. ``steps``: how many steps each of them has,
    None where no steps were found or captures have different ones.
    """

    of: str
    busy_ns: int
    span_ns: int
    whole_busy_ns: int
    whole_span_ns: int
    gpus: int = 1
    steps: int | None = None

    @property
    def text(self) -> str:
        """Return the steps with their length, and what part of it the GPUs were busy."""
        shares = (self.busy_ns, self.span_ns), (self.whole_busy_ns, self.whole_span_ns)
        steps, whole = (f"{100 * part / time if time else 0:.1f} %" for part, time in shares)
        ms = self.span_ns / self.gpus / (self.steps or 1) / _NS_OF_MS
        length = f"{ms:,.3g} ms" if ms < _MOST_DIGITS else f"{ms:,.0f} ms"
        times = f"{self.of}, {length}"
        if self.steps:
            count, _, what = self.of.partition(" × ")
            times = f"{count} {'step' if count == '1' else 'steps'} of {length} ({what})"
        also = "" if steps == whole else f" ({whole} of the {WHOLE})"
        return f"{times}{BETWEEN}GPU busy {steps}{also}"


_MOST_DIGITS = 1e3
"""Milliseconds from which on their whole part has more than three digits."""
