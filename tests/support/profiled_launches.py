"""Profiled launches made by hand: a quiet one on an H200, and what makes it busy or slow."""

from collections.abc import Mapping

from harness.analysis.diagnose.kernel_view import KernelView
from harness.analysis.diagnose.launch.counted import Instruction

SMS = 132
_ELAPSED = ".avg.pct_of_peak_sustained_elapsed"
_PARTS = {
    "gpu__dram_throughput": 20.0,
    "lts__t_sectors": 20.0,
    "lts__t_sectors_srcunit_ltcfabric": 5.0,
    "l1tex__data_pipe_lsu_wavefronts": 10.0,
    "sm__inst_executed_pipe_lsu": 10.0,
    "sm__issue_active": 20.0,
    "sm__pipe_fma_cycles_active": 10.0,
    "sm__pipe_alu_cycles_active": 10.0,
    "sm__inst_executed_pipe_xu": 1.0,
    "sm__pipe_fp64_cycles_active": 0.0,
    "sm__pipe_tensor_cycles_active": 0.0,
}
_STALLS = {"long_scoreboard": 12.0, "wait": 2.0, "selected": 1.0, "barrier": 0.0}
_QUIET = {
    "gpu__time_duration.sum": 200_000.0,
    "launch__grid_size": 13_200.0,
    "launch__block_size": 256.0,
    "launch__sm_count": float(SMS),
    "launch__waves_per_multiprocessor": 12.5,
    "launch__occupancy_limit_registers": 8.0,
    "launch__occupancy_limit_shared_mem": 32.0,
    "launch__occupancy_limit_warps": 8.0,
    "launch__occupancy_limit_blocks": 32.0,
    "sm__maximum_warps_per_active_cycle_pct": 100.0,
    "sm__warps_active.avg.pct_of_peak_sustained_active": 90.0,
    "sm__cycles_elapsed.max": 350_000.0,
    "sm__cycles_active.avg": 341_000.0,
    "sm__cycles_active.max": 346_000.0,
    "smsp__thread_inst_executed_per_inst_executed.ratio": 32.0,
    "memory_l2_theoretical_sectors_global": 4e6,
    "memory_l2_theoretical_sectors_global_ideal": 4e6,
    "lts__t_sectors_srcunit_tex_op_read.sum": 2e6,
    "lts__t_sectors_srcunit_tex_op_write.sum": 2e6,
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": 100.0,
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": 2e6,
    "dram__bytes_read.sum": 64e6,
    "dram__bytes_write.sum": 64e6,
    "memory_l1_wavefronts_shared": 0.0,
    "memory_l1_wavefronts_shared_ideal": 0.0,
    "smsp__sass_inst_executed_op_local_ld.sum": 0.0,
    "smsp__sass_inst_executed_op_local_st.sum": 0.0,
    "lts__d_atomic_input_cycles_active.max.pct_of_peak_sustained_elapsed": 0.0,
}
CODE = {
    "LDG.E.128 R4, desc[UR4][R2.64]": (100, 0),
    "FADD R8, R4, R5": (400, 600),
    "IADD3 R2, R2, 0x10, RZ": (200, 100),
    "STG.E.128 desc[UR4][R6.64], R8": (100, 50),
}
"""SASS with its executions and the samples of warps that stood there, in order."""


def part(name: str, percent: float) -> dict[str, float]:
    """Return the metric that says how much of its peak a part of the GPU reached."""
    return {name + _ELAPSED: percent}


def stalls(**reasons: float) -> dict[str, float]:
    """Return the metrics of the warps' states, in cycles an issue."""
    states = _STALLS | reasons
    name = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
    return {name.format(reason): value for reason, value in states.items()}


def quiet() -> dict[str, float]:
    """Return the metrics of a launch of which everything is known and nothing is busy."""
    metrics = dict(_QUIET)
    for name, percent in _PARTS.items():
        metrics |= part(name, percent)
    return metrics | stalls()


def launch(
    changes: dict[str, float],
    code: Mapping[str, tuple[int, int]] = CODE,
    *,
    without: frozenset[str] = frozenset(),
) -> KernelView:
    """Return a quiet launch with ``changes``, and ``without`` some of its metrics."""
    metrics = {name: value for name, value in (quiet() | changes).items() if name not in without}
    return KernelView("k", 0, "made", 1.0, metrics, instructions(code))


def instructions(code: Mapping[str, tuple[int, int]]) -> tuple[Instruction, ...]:
    """Return SASS as the instructions of a launch."""
    return tuple(
        Instruction(_opcode(sass), sass, executed, samples)
        for sass, (executed, samples) in code.items()
    )


def _opcode(sass: str) -> str:
    words = [word for word in sass.split() if not word.startswith("@")]
    return words[0].partition(".")[0]
