"""What the kept cells' workload states, for the checks of the manifest beside it."""

from harness.probe.cell import Cell

cell = Cell.load()
