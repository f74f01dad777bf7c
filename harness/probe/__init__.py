"""What enters the workload's process: torch and the standard library, nothing else.

A repro script loads its :class:`Cell`, marks phases, states facts and hands over the step to
measure. Which capture is being made decides what happens around that step, so one script serves all.
"""

from harness.probe.cell import Cell

__all__ = ["Cell"]
