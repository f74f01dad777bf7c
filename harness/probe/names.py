"""Names that the harness and the workload's process agree on."""

INPUT = "HARNESS_CELL"
"""Environment variable: JSON that says which cell this process is."""

DESCRIBER = "harness.run.by_hand"
"""The module that gives a script its cell when a user starts it by hand."""

WAITING = "waiting"
"""A folder of the cell's output that is there while the workload waits for its turn on the GPU."""

RECORD = "workload.json"
"""What the workload says of itself, written last: a cell without it did not finish."""

NVTX_DOMAIN = "worklogs"
"""The NVTX domain of the probe's phases and steps: the ranges of libraries lie in other domains."""
