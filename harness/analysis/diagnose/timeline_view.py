"""What findings on timelines read: the captures of one program, seen together."""

from collections.abc import Sequence
from dataclasses import dataclass

from harness.analysis.diagnose.families import Capture


@dataclass(frozen=True)
class TimelineView:
    """The timelines of one program: its ranks' or its profilers'."""

    captures: tuple[Capture, ...]
    share: float = 1.0


def views(captures: Sequence[Capture]) -> Sequence[TimelineView]:
    """Return one view of all captures that hold GPU operations."""
    timelines = tuple(each for each in captures if each.tables["gpu_ops"].height)
    return (TimelineView(timelines),)
