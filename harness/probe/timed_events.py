"""Notices when a process begins to time work on the GPU: tuners do so while a cell sets up.

Inductor, Triton and libraries over them time candidates with CUDA events. So whoever makes an
event that measures time is about to tune.
"""

from collections.abc import Callable
from typing import Any


def before_each(event: Any, call: Callable[[], None]) -> None:
    """Call ``call`` before an event of class ``event`` (torch.cuda.Event) that measures is made."""
    made = event.__new__

    def new(cls: Any, *arguments: Any, **named: Any) -> Any:
        if named.get("enable_timing", bool(arguments and arguments[0])):
            call()
        return made(cls, *arguments, **named)

    event.__new__ = staticmethod(new)
