"""A launch's SASS instructions with how often each ran and what its warps waited for.

Nsight Compute's section SourceCounters counts by program counter: a metric has one instance an
instruction, whose correlation id is the instruction's address
(https://docs.nvidia.com/nsight-compute/PythonReportInterface/).
"""

from typing import Any

EXECUTED = "inst_executed"
SAMPLES = "smsp__pcsamp_warps_issue_stalled_"
"""The prefix of the names of the samples by stall reason."""

_NOT_ISSUED = "_not_issued"
"""The suffix of the second count of each reason: a subset of the first."""


def instructions(action: Any) -> list[tuple[str, str, int, int, int, str, int]]:
    """Return a launch's counted instructions in the order of their addresses; none if not recorded.

    Each: SASS, source file (empty without line information), line (0 without), warp-level
    executions, warp samples, the most frequent stall reason, and that reason's samples.
    """
    executed = _by_address(action, EXECUTED)
    stalls: dict[int, dict[str, int]] = {}
    for name in action.metric_names():
        if name.startswith(SAMPLES) and not name.endswith(_NOT_ISSUED):
            for address, samples in _by_address(action, name).items():
                stalls.setdefault(address, {})[name.removeprefix(SAMPLES)] = samples
    return [
        _row(action, address, executed.get(address, 0), stalls.get(address, {}))
        for address in sorted(executed.keys() | stalls.keys())
    ]


def _row(
    action: Any, address: int, executed: int, stalls: dict[str, int]
) -> tuple[str, str, int, int, int, str, int]:
    source = action.source_info(address)
    file, line = (source.file_name(), source.line()) if source else ("", 0)
    reason = max(stalls, key=lambda name: (stalls[name], name), default="")
    sass = action.sass_by_pc(address) or ""
    return (
        *(sass, file, line, executed),
        *(sum(stalls.values()), reason if stalls.get(reason) else "", stalls.get(reason, 0)),
    )


def _by_address(action: Any, name: str) -> dict[int, int]:
    """Return the instances of a metric by program counter; empty if the launch has none."""
    metric = action.metric_by_name(name)
    if metric is None or not metric.has_correlation_ids():
        return {}
    addresses = metric.correlation_ids()
    return {
        addresses.as_uint64(index): metric.as_uint64(index)
        for index in range(metric.num_instances())
    }
