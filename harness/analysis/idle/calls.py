"""Which CUDA calls the host was in while the GPU was idle, within the steps of a difference."""

import re
from collections import Counter

import polars as pl

from harness.analysis import intervals
from harness.analysis.diff import step_breakdown
from harness.analysis.diff.step_breakdown import Breakdown

_VERSION = re.compile(r"_v\d+$")
"""The end that nsys gives to the names of calls that have several versions: cudaLaunch_v7000."""


def by_call(steps: Breakdown, calls: pl.DataFrame) -> dict[str, int]:
    """Return the idle ns of all steps and devices by the name of the call that the host was in.

    Calls of threads that launched work on the device count, as for the parts of a step; where two
    threads, or nested calls, are in calls of two names, both names have the time.
    """
    found: Counter[str] = Counter()
    for (_,), ops in steps.ops.partition_by("device", as_dict=True).items():
        by_step = ops.partition_by("step", as_dict=True)
        gaps = [
            gap
            for at, window in enumerate(steps.windows)
            for gap in step_breakdown.idle(
                window, intervals.union(step_breakdown.timed(by_step.get((at,), ops.clear())))
            )
        ]
        of_device = step_breakdown.of_launchers(calls, ops).cast({"name": pl.String})
        for (name,), named in of_device.partition_by("name", as_dict=True).items():
            covered = intervals.union(step_breakdown.timed(named)).rows()
            held = step_breakdown.common(gaps, covered) if covered else 0
            found[_VERSION.sub("", str(name))] += held
    return {name: held for name, held in sorted(found.items()) if held}
