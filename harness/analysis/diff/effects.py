"""What a kernel's counters account for of its time, so that their changes can be ranked.

A counter's change says little by itself: 0.00004 → 0.005 is a factor of 125 and no time. Here each
counter that limits kernels is turned into ns of a launch, by what the hardware does with it, and
its effect is the change of these ns. The units of a GPU work at the same time, so effects do not
sum, but for the states of the warps, which divide a launch's time.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

Medians = Mapping[str, float]
"""Metric to its median over a kernel's launches; "time" in ns."""
Group = Literal["work", "cause", "unit", "clock", "occupancy", "state"]

LEAST = 0.02
"""Share of the longer launch below which an effect is left out."""
_TELLS = {"work": 0.5, "cause": 0.15, "clock": 0.5, "unit": 0.15, "occupancy": 0.5, "state": 0.15}
"""Share of a launch's change that an effect of a group explains at least where it is its cause.

In the order in which groups are asked: more blocks of the same kernel explain all other counters, a
defect such as a bank conflict explains the unit that it keeps busy, and a unit the waiting.
"""

_CLOCK, _SMS = "gpc__cycles_elapsed.avg.per_second", "device__attribute_multiprocessor_count"
_ACTIVE, _ELAPSED = ".avg.pct_of_peak_sustained_active", ".avg.pct_of_peak_sustained_elapsed"
_OCCUPANCY = f"sm__warps_active{_ACTIVE}"
_UNITS = {
    "DRAM": (f"gpu__dram_throughput{_ELAPSED}",),
    "L2 cache": (f"lts__throughput{_ELAPSED}",),
    "L1 cache, shared memory": (f"l1tex__throughput{_ELAPSED}", f"l1tex__throughput{_ACTIVE}"),
    "tensor cores": (
        f"sm__pipe_tensor_cycles_active{_ELAPSED}",
        f"sm__pipe_tensor_cycles_active{_ACTIVE}",
    ),
    "FP32 pipe": (f"sm__inst_executed_pipe_fma{_ACTIVE}",),
    "FP64 pipe": (f"sm__pipe_fp64_cycles_active{_ACTIVE}", f"sm__inst_executed_pipe_fp64{_ACTIVE}"),
    "integer pipe": (f"sm__inst_executed_pipe_alu{_ACTIVE}",),
    "special functions": (f"sm__inst_executed_pipe_xu{_ACTIVE}",),
    "atomics in L2": (f"lts__d_atomic_input_cycles_active{_ELAPSED}",),
}
"""Unit to how busy it is, in percent of its peak: so much of a launch's time it needs at least."""

_CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared"
_SECTOR = 32
"""Bytes of a sector, the least that a cache moves (Nsight Compute, "Memory Tables")."""
_BYTES = "smsp__sass_average_data_bytes_per_sector_mem_global_op_{}.ratio"
_SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_{}.sum"
_WAYS = {"ld": "loads", "st": "stores"}
_MEMORY = ("DRAM", "L2 cache", "L1 cache, shared memory")
_SPILLS = ("sass__inst_executed_register_spilling", "derived__local_spilling_requests")
_ISSUING = f"smsp__issue_active{_ACTIVE}"
_INSTRUCTIONS, _WARP = "smsp__inst_executed.sum", 32
_THREADS = "smsp__thread_inst_executed_per_inst_executed.ratio"
_SM_ACTIVE = "sm__cycles_active.avg"
_STATE, _OF_STATE = "smsp__average_warps_issue_stalled_", "_per_issue_active.ratio"


@dataclass(frozen=True)
class Effect:
    """A counter on both sides, and the ns of a launch that it accounts for."""

    what: str
    group: Group
    metric: str
    a: float
    b: float
    time_ns: tuple[float, float]

    @property
    def change_ns(self) -> float:
        """Return B less A of a launch."""
        return self.time_ns[1] - self.time_ns[0]


def effects(a: Medians, b: Medians, *, same_kernel: bool) -> tuple[Effect, ...]:
    """Return what changed, the largest effect on a launch's time first.

    ``same_kernel``: A's kernel has the name of B's, so a block does the same work.
    """
    if not a.get("time") or not b.get("time"):
        return ()
    sides = [{first.what: first for first in _accounted(side)} for side in (a, b)]
    both = [
        Effect(
            what, first.group, first.metric, first.a, other.a, (first.time_ns[0], other.time_ns[0])
        )
        for what, first in sides[0].items()
        if (other := sides[1].get(what))
    ]
    candidates = [*both, *_scaled(a, b, same_kernel=same_kernel)]
    least = LEAST * max(a["time"], b["time"])
    return tuple(
        sorted(
            (effect for effect in candidates if abs(effect.change_ns) >= least),
            key=lambda effect: -abs(effect.change_ns),
        )
    )


def cause(candidates: tuple[Effect, ...], a: Medians, b: Medians) -> Effect | None:
    """Return the effect that explains the change of a launch's time, None if none does."""
    change = b["time"] - a["time"]
    for group, least in _TELLS.items():
        for effect in candidates:
            if effect.group == group and effect.change_ns * change > 0 and _waits(effect):
                if abs(effect.change_ns) >= least * abs(change):
                    return effect
                break
    return None


def _waits(effect: Effect) -> bool:
    """Return whether an effect is no state of a warp that could issue."""
    return "selected" not in effect.what


def _accounted(side: Medians) -> Iterator[Effect]:
    """Yield what one launch's counters account for of its time; ``b`` repeats ``a``."""
    busy = {}
    for what, metrics in _UNITS.items():
        metric = next((metric for metric in metrics if metric in side), None)
        if metric:
            busy[what] = side[metric] / 100 * side["time"]
            yield _known(f"{what}, %", "unit", metric, side[metric], busy[what])
    yield from _conflicts(side)
    yield from _unused(side, max(busy.get(what, 0.0) for what in _MEMORY))
    yield from _instructions(side)
    if _SM_ACTIVE in side and side.get(_CLOCK):
        idle = max(0.0, side["time"] - side[_SM_ACTIVE] / side[_CLOCK] * 1e9)
        share = 100 * idle / side["time"]
        yield _known("SMs without work, %", "cause", _SM_ACTIVE, share, idle)
    yield from _states(side)


def _known(what: str, group: Group, metric: str, value: float, time_ns: float) -> Effect:
    return Effect(what, group, metric, value, value, (time_ns, time_ns))


def _conflicts(side: Medians) -> Iterator[Effect]:
    """Yield bank conflicts: the data stage of L1 takes a wavefront a cycle, a conflict is one more.

    Nsight Compute, "Memory Tables", shared memory.
    """
    whole = f"{_CONFLICTS}.sum"
    ways = [name for way in _WAYS if (name := f"{_CONFLICTS}_op_{way}.sum") in side]
    counted = [whole] if whole in side else ways
    if counted and side.get(_SMS) and side.get(_CLOCK):
        total = sum(side[name] for name in counted)
        time = total / side[_SMS] / side[_CLOCK] * 1e9
        yield _known("shared memory's bank conflicts", "cause", " + ".join(counted), total, time)


def _unused(side: Medians, moving_ns: float) -> Iterator[Effect]:
    """Yield the bytes of a sector that loads and stores use; ``moving_ns`` moves whole sectors."""
    sectors = {way: side.get(_SECTORS.format(way), 0.0) for way in _WAYS}
    for way, what in _WAYS.items():
        used = side.get(_BYTES.format(way), 0.0)
        if used and sectors[way]:
            unused = moving_ns * (1 - used / _SECTOR) * sectors[way] / sum(sectors.values())
            yield _known(
                f"bytes used of a sector, {what}", "cause", _BYTES.format(way), used, unused
            )


def _instructions(side: Medians) -> Iterator[Effect]:
    """Yield the instructions, and those of them that spill registers or leave threads idle."""
    if not side.get(_INSTRUCTIONS):
        return
    issuing = side.get(_ISSUING, 0.0) / 100 * side["time"]
    yield _known("instructions", "unit", _INSTRUCTIONS, side[_INSTRUCTIONS], issuing)
    spills = next((metric for metric in _SPILLS if metric in side), None)
    if spills:
        time = side[spills] / side[_INSTRUCTIONS] * side["time"]
        yield _known("register spills", "cause", spills, side[spills], time)
    if _THREADS in side:
        idle = issuing * (1 - side[_THREADS] / _WARP)
        yield _known("active threads of a warp", "cause", _THREADS, side[_THREADS], idle)


def _states(side: Medians) -> Iterator[Effect]:
    """Yield the states of the warps: per issued instruction, so their sum stands for the time."""
    states = {
        metric: value
        for metric, value in side.items()
        if metric.startswith(_STATE) and metric.endswith(_OF_STATE)
    }
    whole = sum(states.values())
    for metric, value in states.items():
        name = metric.removeprefix(_STATE).removesuffix(_OF_STATE).replace("_", " ")
        part = value / whole * side["time"] if whole else 0.0
        share = 100 * part / side["time"]
        yield Effect(f"warps: {name}, %", "state", metric, share, share, (part, part))


def _scaled(a: Medians, b: Medians, *, same_kernel: bool) -> Iterator[Effect]:
    """Yield what scales the whole time of a launch: its blocks, the clock, the warps at work."""
    blocks = "launch__grid_size"
    if same_kernel and _both_have(a, b, blocks):
        yield _scaling("blocks", "work", blocks, a, b, b[blocks] / a[blocks])
    if _both_have(a, b, _CLOCK):
        yield _scaling("SM clock", "clock", _CLOCK, a, b, a[_CLOCK] / b[_CLOCK])
    if _both_have(a, b, _OCCUPANCY):
        yield _scaling("occupancy", "occupancy", _OCCUPANCY, a, b, a[_OCCUPANCY] / b[_OCCUPANCY])


def _scaling(what: str, group: Group, metric: str, a: Medians, b: Medians, by: float) -> Effect:
    """Return the effect of a time that grows ``by`` this factor, at most to B's own time."""
    low, high = sorted((a["time"], b["time"]))
    scaled = min(max(a["time"] * by, low), high)
    return Effect(what, group, metric, a[metric], b[metric], (a["time"], scaled))


def _both_have(a: Medians, b: Medians, metric: str) -> bool:
    return bool(a.get(metric)) and bool(b.get(metric))
