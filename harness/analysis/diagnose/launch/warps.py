"""The stalls of a launch's warps, and the share of their threads that worked."""

from harness.analysis.diagnose import kernel_thresholds as thresholds
from harness.analysis.diagnose.launch import shape
from harness.analysis.diagnose.launch.counted import Counted

_RATIO = ("smsp__average_warps_issue_stalled_", "_per_issue_active.ratio")
_SAMPLED = "smsp__pcsamp_warps_issue_stalled_"
_NOT_ISSUED = "_not_issued"
_SAME = {"no_instructions": "no_instruction", "warpgroup_arrive": "gmma"}
"""Reasons whose sampled name differs from that of the counted ratio."""

_ALWAYS = frozenset({"long_scoreboard", "barrier", "wait", "selected"})
"""States that every report of warps' states has; without one of them their parts mean nothing."""

RUNNING = frozenset({"selected", "not_selected", "math_pipe_throttle", "dispatch_stall"})
"""The states of a warp that could issue or waits for a busy pipe: not for latency."""
_LATENCY = "smsp__average_warp_latency_per_inst_issued.ratio"
_HELD = "sm__warps_active.avg.pct_of_peak_sustained_active"
_SCHEDULERS = 4  # of an SM: NVIDIA's architectures from Volta on
THREADS = "smsp__thread_inst_executed_per_inst_executed.ratio"
WORKING = "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio"


def stalls(view: Counted) -> dict[str, float]:
    """Return the warps' cycles by state as fractions that sum to 1; empty if not collected.

    By the counters of the section WarpStateStats, otherwise by the samples of SourceCounters.
    """
    prefix, suffix = _RATIO
    counted = {
        name.removeprefix(prefix).removesuffix(suffix): value
        for name, value in view.metrics.items()
        if name.startswith(prefix) and name.endswith(suffix)
    }
    if not counted:
        counted = {
            _SAME.get(reason, reason): value
            for name, value in view.metrics.items()
            if name.startswith(_SAMPLED) and not name.endswith(_NOT_ISSUED)
            for reason in [name.removeprefix(_SAMPLED)]
        }
    whole = sum(counted.values())
    if not whole or not counted.keys() >= _ALWAYS:
        return {}
    return {reason: value / whole for reason, value in counted.items()}


def waiting(view: Counted, *reasons: str) -> float:
    """Return the part of the warps' cycles spent in these states; 0 where it is not known."""
    states = stalls(view)
    return sum(states.get(reason, 0.0) for reason in reasons)


def wait_most_for_barriers(view: Counted) -> bool:
    """Return whether warps wait longer at barriers than for any other reason, and long."""
    states = {reason: part for reason, part in stalls(view).items() if reason not in RUNNING}
    barrier = states.get("barrier", 0.0)
    return barrier >= thresholds.BARRIER_WAITS and barrier == max(states.values())


def an_instruction(view: Counted, *reasons: str) -> float | None:
    """Return the cycles that a warp spends in these states by each instruction that it issues.

    None without the counters of the section WarpStateStats.
    """
    prefix, suffix = _RATIO
    return view.total(*(f"{prefix}{reason}{suffix}" for reason in reasons))


def instructions(view: Counted) -> float | None:
    """Return the instructions that a warp executes, on average."""
    blocks, size = shape.blocks(view), view.get("launch__block_size")
    executed = sum(each.executed for each in view.instructions)
    return executed / (blocks * -(-size // 32)) if executed and blocks and size else None


def life(view: Counted) -> float | None:
    """Return the cycles between a warp's first and last instruction, on average."""
    executed, cycles = instructions(view), view.get(_LATENCY)
    return None if executed is None or cycles is None else executed * cycles


def ready(view: Counted) -> float | None:
    """Return the warps of a scheduler that could issue in a cycle, on average.

    By the section SchedulerStats, otherwise by the states of the warps that an SM holds.
    """
    counted = view.get("smsp__warps_eligible.avg.per_cycle_active")
    if counted is not None:
        return counted
    percent, most = view.get(_HELD), view.get("device__attribute_max_warps_per_multiprocessor")
    if percent is None or most is None or not stalls(view):
        return None
    return waiting(view, "selected", "not_selected") * percent / 100 * most / _SCHEDULERS


def threads(view: Counted) -> float | None:
    """Return the threads that execute an instruction of a warp, on average: 32 at most."""
    return view.get(THREADS)


def working_threads(view: Counted) -> float | None:
    """Return the threads of an instruction that no predicate turns off, on average."""
    return view.get(WORKING)


def threads_of_block(view: Counted) -> float:
    """Return the threads that a warp of the block has on average: less than 32 in the last one."""
    size = view.get("launch__block_size")
    if not size or size < 0:
        return 32.0
    return size / -(-size // 32)
