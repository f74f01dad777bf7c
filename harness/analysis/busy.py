"""How long GPUs worked in the steps of a timeline, and in all of it."""

from dataclasses import dataclass

WHOLE = "whole capture"
"""What steps are called where nothing of a timeline repeats."""


@dataclass(frozen=True)
class Busy:
    """How long GPUs worked in the steps (``of``), and from their first operation to their last."""

    of: str
    busy_ns: int
    span_ns: int
    whole_busy_ns: int
    whole_span_ns: int

    @property
    def text(self) -> str:
        """Return what part of which time the GPU was busy, in words."""
        steps, whole = (
            f"{100 * part / time if time else 0:.1f} %"
            for part, time in (
                (self.busy_ns, self.span_ns),
                (self.whole_busy_ns, self.whole_span_ns),
            )
        )
        return f"GPU busy {f'{steps} of {self.of}, ' * (self.of != WHOLE)}{whole} of the {WHOLE}"
