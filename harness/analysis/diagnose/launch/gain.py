"""How much of a launch's time goes if a part of the GPU gets less to do.

Amdahl's law on the part's busy time: of the time in which the part was busy, the wasted fraction
goes, and the rest of the launch stays. The launch cannot become shorter than the time in which any
other part was busy. Busy time is the part's use, as a fraction of its ceiling.
"""

from harness.analysis.diagnose.kernel_view import KernelView


def of_less_work(view: KernelView, parts: tuple[str, ...], wasted: float, busy: float) -> float:
    """Return the fraction of the launch's time that goes without the ``wasted`` part of the work.

    ``busy``: the fraction of time in which ``parts`` were busy or waited for.
    """
    return max(0.0, min(busy * wasted, 1 - view.use_of_others(*parts)))


def of_moving_work(view: KernelView, parts: tuple[str, ...]) -> float:
    """Return the fraction of time that goes if other parts do the work of ``parts``.

    The launch then takes as long as the busiest of the others, relative to these.
    """
    busy = view.use(*parts)
    return max(0.0, 1 - view.use_of_others(*parts) / busy) if busy else 0.0
