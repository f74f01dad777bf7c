"""How much of a launch's time goes if a part of the GPU gets less to do.

Busy time is a part's use, as a fraction of its ceiling. A launch cannot become shorter than the
time in which any part is still busy.
"""

from collections.abc import Mapping

from harness.analysis.diagnose.kernel_view import KernelView
from harness.analysis.diagnose.launch import resources


def of_less_work(view: KernelView, parts: tuple[str, ...], wasted: float, busy: float) -> float:
    """Return the fraction of the launch's time that goes without the ``wasted`` part of the work.

    Amdahl's law: of the time in which ``parts`` were busy or waited for (``busy``), that part goes,
    and the rest of the launch stays.
    """
    return max(0.0, min(busy * wasted, 1 - view.use_of_others(*parts)))


def at_the_ceiling(view: KernelView, wasted: Mapping[str, float]) -> float:
    """Return the fraction of time that goes if the rest of the work runs at a part's ceiling.

    ``wasted``: the part of each resource's work that goes. It holds where memory's traffic limits
    the launch: the waits between its accesses come from the traffic, and go with it.
    """
    left = (part.use * (1 - wasted.get(name, 0.0)) for name, part in view.used.items())
    return max(0.0, 1 - max(left, default=1.0))


def of_moving_work(view: KernelView, parts: tuple[str, ...], issued: float = 0.0) -> float:
    """Return the fraction of time that goes if other parts do the work of ``parts``.

    The launch then takes as long as the busiest of the others, relative to these. ``issued``: the
    part of all instructions that is no longer issued.
    """
    busy = view.use(*parts)
    slots = view.use(resources.ISSUE) * (1 - issued) if resources.ISSUE not in parts else 0.0
    others = max(slots, view.use_of_others(*parts, resources.ISSUE))
    return max(0.0, 1 - others / busy) if busy else 0.0
