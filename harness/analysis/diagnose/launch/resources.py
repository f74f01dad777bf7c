"""A launch's use of each part of the GPU, as a fraction of the part's ceiling.

Nsight Compute states a part's use as percent of its peak over the elapsed cycles; where the report
has not collected it, the use is computed from counts (:mod:`.computed`). The same parts are the
breakdown of its section SpeedOfLight. Ceilings: what well-made kernels reach of the peak.
"""

from dataclasses import dataclass

from harness.analysis.diagnose import kernel_thresholds as thresholds
from harness.analysis.diagnose.launch import computed, shape
from harness.analysis.diagnose.launch.counted import Counted

DRAM, L2, FABRIC = "DRAM", "L2", "L2 fabric"
L1, LSU = "L1 and shared-memory data", "load/store instructions"
ISSUE, FMA, ALU, XU = "issue slots", "FMA pipe", "ALU pipe", "special-function pipe"
FP64, TENSOR, ATOMICS, DSHARED = "FP64 pipe", "tensor pipe", "L2 atomics", "distributed shared"
CONSTANT = "constant cache"
MEMORY = (DRAM, L2, FABRIC, L1, LSU, ATOMICS, DSHARED)
COMPUTE = (ISSUE, FMA, ALU, XU, FP64, TENSOR)

_ELAPSED = ".avg.pct_of_peak_sustained_elapsed"
_ACTIVE = ".avg.pct_of_peak_sustained_active"
_READS_OF_L2 = "l1tex__m_xbar2l1tex_read_sectors"
"""Data from L2 to the SMs. Without L2's own counters it would hide what writes cost there."""
_PARTS: dict[str, tuple[str, ...]] = {
    DRAM: ("gpu__dram_throughput", "dram__throughput", "dram__cycles_active"),
    L2: (
        *("lts__t_sectors", "lts__t_tag_requests", "lts__d_sectors"),
        *("lts__lts2xbar_cycles_active", "lts__xbar2lts_cycles_active"),
        _READS_OF_L2,
    ),
    FABRIC: ("lts__t_sectors_srcunit_ltcfabric",),
    L1: ("l1tex__data_pipe_lsu_wavefronts", "l1tex__data_bank_reads", "l1tex__data_bank_writes"),
    LSU: ("sm__inst_executed_pipe_lsu", "l1tex__lsuin_requests"),
    ISSUE: ("sm__issue_active", "sm__inst_executed", "sm__inst_issued", "smsp__issue_active"),
    FMA: (
        *("sm__pipe_fma_cycles_active", "sm__inst_executed_pipe_fma"),
        "sm__pipe_fmaheavy_cycles_active",  # the half that multiplies integers
    ),
    ALU: ("sm__pipe_alu_cycles_active", "sm__inst_executed_pipe_alu"),
    XU: ("sm__inst_executed_pipe_xu",),
    FP64: ("sm__pipe_fp64_cycles_active", "sm__inst_executed_pipe_fp64"),
    TENSOR: ("sm__pipe_tensor_cycles_active", "sm__inst_executed_pipe_tensor"),
    ATOMICS: ("lts__d_atomic_input_cycles_active",),
    CONSTANT: (),  # from counts
    DSHARED: ("l1tex__m_xbar2l1tex_read_sectors_mem_dshared",),
}
"""The metrics of each part without their roll-up; the highest of those collected is its use."""


@dataclass(frozen=True)
class Resource:
    """A part of the GPU: ``percent`` of its peak over the launch, as ``metric`` says.

    ``use``: the fraction of its ceiling while the launch was at work, without start and end.
    """

    name: str
    percent: float
    use: float
    metric: str


def used(view: Counted) -> dict[str, Resource]:
    """Return the use of every part that the report tells of, over the launch's elapsed time."""
    parts = {}
    for name in _PARTS:
        utilisation = _collected(view, name) or _from_counts(view, name)
        if utilisation:
            metric, percent = utilisation
            use = percent / 100 / thresholds.CEILINGS.get(name, 1.0) / shape.at_work(view)
            parts[name] = Resource(name, percent, use, metric)
    return parts


def while_busy(view: Counted) -> tuple[str, float] | None:
    """Return the part with the highest percent of its peak while an SM was busy, and that percent.

    Only of parts whose use is not known: the report does not say how long the SMs were busy.
    """
    if shape.activity(view) is not None:
        return None
    unknown = _PARTS.keys() - used(view).keys()
    percents = {name: _percents(view, name, _ACTIVE).values() for name in unknown}
    highest = {name: max(values) for name, values in percents.items() if values}
    return max(highest.items(), key=lambda item: item[1], default=None)


def percents(view: Counted, name: str) -> dict[str, float]:
    """Return a part's percents of its peak over the launch, by metric of the report."""
    return _percents(view, name, _ELAPSED)


def _collected(view: Counted, name: str) -> tuple[str, float] | None:
    """Return the metric with the highest use, and that use in percent of the peak."""
    percents = _percents(view, name, _ELAPSED)
    if percents.keys() == {_READS_OF_L2 + _ELAPSED}:
        return None
    if not percents:
        busy = shape.activity(view)
        if busy is None:
            return None
        active = _percents(view, name, _ACTIVE)
        percents = {metric: value * busy for metric, value in active.items()}
    return max(percents.items(), key=lambda item: item[1], default=None)


def _percents(view: Counted, name: str, rollup: str) -> dict[str, float]:
    """Return the metrics of a part that the report holds in this roll-up."""
    collected = {stem + rollup: view.get(stem + rollup) for stem in _PARTS[name]}
    return {metric: value for metric, value in collected.items() if value is not None}


def _from_counts(view: Counted, name: str) -> tuple[str, float] | None:
    if name == DRAM:
        return computed.dram(view)
    if name == L1:
        return computed.shared_wavefronts(view)
    if name == L2:
        return computed.l2_to_sm(view)
    if name == CONSTANT:
        return computed.constants(view)
    if name in _LANES:
        return computed.pipe(view, _LANES[name])
    return None


_LANES = {FMA: "fma", ALU: "alu", XU: "xu", FP64: "fp64"}
"""The pipes whose use follows from executed instructions, by computed.pipe's names."""
