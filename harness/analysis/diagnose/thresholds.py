"""The thresholds of findings: each with its reason and where it comes from."""

MATTERS = 0.05
"""Of the subject's time: a cause that costs less is not named first, and a subject without a larger
one is healthy. Repeated runs of one process differ by 1 to 3 % (docs/statistics.md), so a smaller
gain would not be seen."""
