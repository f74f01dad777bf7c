"""A launch's memory traffic: the bytes that it asked for, and the caches that held them."""

from dataclasses import dataclass

from harness.analysis.diagnose import kernel_thresholds as thresholds
from harness.analysis.diagnose.launch import computed, mix, resources, shape
from harness.analysis.diagnose.launch.counted import Counted

_SECTOR = 32  # bytes
_BYTES_PER_SECTOR = "smsp__sass_average_data_bytes_per_sector_mem_global_op_{}.ratio"
_GLOBAL = "l1tex__t_sectors_pipe_lsu_mem_global_op_{}.sum"
_LOCAL = "l1tex__t_sectors_pipe_lsu_mem_local_op_{}.sum"
REMOTE = "l1tex__m_xbar2l1tex_read_bytes_mem_dshared.sum"
_REQUESTS = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"
_LOADS = frozenset({"LDG"})
_WAVEFRONTS = "memory_l1_wavefronts_shared"
ATOMIC_SLICE = "lts__d_atomic_input_cycles_active.max.pct_of_peak_sustained_elapsed"
_PATH = "l1tex__data_pipe_lsu_wavefronts"
_ELAPSED = ".avg.pct_of_peak_sustained_elapsed"
_CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared"
_PASSED = "l1tex__data_pipe_lsu_wavefronts_mem_shared"


@dataclass(frozen=True)
class Waste:
    """Sectors of global memory that accesses touch (``touched``) and need, at each level.

    ``at_l1``, ``at_l2`` and ``at_dram`` are the wasted parts of what moved there. L1 and L2 may
    give the rest of a sector to another access, and then nothing is wasted below them.
    """

    at_l1: float
    at_l2: float | None
    at_dram: float | None


def waste(view: Counted) -> Waste | None:
    """Return the parts of global memory's sectors that coalesced accesses would not move.

    By the sectors that each access touches and those that its bytes need (SourceCounters), or by
    the bytes used of each sector. What TMA moves has no such accesses, and counts as needed.
    """
    sectors = _touched_and_needed(view)
    if sectors is None:
        return None
    touched, needed = sectors
    if not touched:
        return Waste(0.0, 0.0, 0.0)
    asked = _asked_of_l2(view, touched)
    moved = computed.bytes_moved(view)
    at_l1 = (touched - needed) / touched
    return Waste(
        at_l1,
        _part(touched - needed, needed, asked),
        _part(touched - needed, needed, moved and moved / _SECTOR),
    )


def _asked_of_l2(view: Counted, touched: float) -> float | None:
    """Return the sectors that L1 asked of L2, or else those touched that L1 did not hold."""
    read, written = (
        view.get(f"lts__t_sectors_srcunit_tex_op_{each}.sum") for each in ("read", "write")
    )
    if read is not None:
        return read + (written or 0.0)
    hits = view.get("l1tex__t_sector_hit_rate.pct")
    return None if hits is None else touched * (1 - hits / 100)


def _part(excess: float, needed: float, moved: float | None) -> float | None:
    """Return the wasted part of what moved at a level; None if that is unknown."""
    if moved is None:
        return None
    return min(excess, max(0.0, moved - needed)) / moved if moved else 0.0


def _touched_and_needed(view: Counted) -> tuple[float, float] | None:
    touched = view.get("memory_l2_theoretical_sectors_global")
    needed = view.get("memory_l2_theoretical_sectors_global_ideal")
    if touched is not None and needed is not None:
        return touched, needed
    moved, used = 0.0, 0.0
    for operation in ("ld", "st"):
        sectors = view.get(_GLOBAL.format(operation))
        ratio = view.get(_BYTES_PER_SECTOR.format(operation))
        if sectors is None or ratio is None:
            return None
        moved, used = moved + sectors, used + sectors * min(ratio, _SECTOR) / _SECTOR
    return moved, used


def bytes_used_of_sector(view: Counted, operation: str) -> float | None:
    """Return the bytes that threads use of each 32-byte sector, of "ld" or "st"."""
    return view.get(_BYTES_PER_SECTOR.format(operation))


def conflicts(view: Counted) -> float | None:
    """Return the part of shared memory's wavefronts that only bank conflicts cause."""
    passed, needed = view.get(_WAVEFRONTS), view.get(f"{_WAVEFRONTS}_ideal")
    if passed is not None and needed is not None:
        return 1 - needed / passed if passed else 0.0
    conflicting = view.get(f"{_CONFLICTS}.sum")
    passed = view.get(f"{_PASSED}.sum")
    if conflicting is None or passed is None:
        conflicting = view.total(f"{_CONFLICTS}_op_ld.sum", f"{_CONFLICTS}_op_st.sum")
        passed = view.total(f"{_PASSED}_op_ld.sum", f"{_PASSED}_op_st.sum")
    if conflicting is None or passed is None:
        return None
    return conflicting / passed if passed else 0.0


def shared_part(view: Counted) -> float | None:
    """Return the part of L1's data wavefronts that belong to shared memory.

    1 where only shared memory's are known: L1's use is computed from them then.
    """
    shared = view.get(f"{_PASSED}.sum", _WAVEFRONTS)
    whole = _wavefronts(view)
    if shared is None:
        return None
    if whole is None:
        return None if resources.percents(view, resources.L1) else 1.0
    return min(1.0, shared / whole) if whole else 0.0


def beside_shared(view: Counted) -> float:
    """Return the part of the work of L1's data that is no access of shared memory; 1 if unknown.

    Tensor cores that read shared memory themselves (wgmma) make no wavefronts of the path: their
    reads of its banks count as shared memory's.
    """
    shared, percents = shared_part(view), resources.percents(view, resources.L1)
    path, busiest = percents.get(f"{_PATH}{_ELAPSED}"), max(percents.values(), default=0.0)
    if shared is None:
        return 1.0
    return (1 - shared) * (path / busiest if path is not None and busiest else 1.0)


def _wavefronts(view: Counted) -> float | None:
    """Return the wavefronts that passed L1's data path: an SM's takes one a cycle at most."""
    counted, percent = view.get(f"{_PATH}.sum"), view.get(f"{_PATH}{_ELAPSED}")
    if counted is not None:
        return counted
    sms, cycles = shape.sm_count(view), shape.elapsed_cycles(view)
    if percent is None or sms is None or cycles is None:
        return None
    return percent / 100 * sms * cycles


def local_instructions(view: Counted) -> float | None:
    """Return the executed loads and stores of local memory."""
    counted = view.total(
        "smsp__sass_inst_executed_op_local_ld.sum", "smsp__sass_inst_executed_op_local_st.sum"
    )
    if counted is None:
        counted = view.total("sass__inst_executed_local_loads", "sass__inst_executed_local_stores")
    if counted is not None:
        return counted
    executed = mix.executed(view, mix.LOCAL)
    return None if executed is None else float(executed)


def local_part(view: Counted) -> float | None:
    """Return the part of L1's sectors, or else of memory instructions, that is local memory."""
    local = view.total(_LOCAL.format("ld"), _LOCAL.format("st"))
    other = view.total(_GLOBAL.format("ld"), _GLOBAL.format("st"))
    if local is not None and other is not None:
        return local / (local + other) if local + other else 0.0
    count = local_instructions(view)
    accesses = mix.executed(view, mix.LOCAL | mix.LOAD | {"STG", "STS", "ST"})
    if count is None or accesses is None:
        return None
    return count / max(accesses, count) if count else 0.0


def local_part_of_l2(view: Counted) -> float:
    """Return the part of the sectors read from L2 that is local memory; 0 where not known."""
    read = view.get("lts__t_sectors_srcunit_tex_op_read.sum")
    missed = view.get("l1tex__t_sectors_pipe_lsu_mem_local_op_ld_lookup_miss.sum")
    return min(1.0, missed / read) if read and missed else 0.0


def masked_loads(view: Counted) -> float | None:
    """Return the part of the executed loads of global memory that no thread of the warp made.

    Warps' executions of load instructions (SourceCounters) less the requests that reached L1; the
    counters of executed loads leave masked ones out. 0 where few loads have a predicate, where few
    of the bytes that SMs read are such loads', and of a pipeline of asynchronous copies, whose last
    ones are masked by design. 0, too, where no load at all had a thread left: a tile's edge leaves
    the tiles inside, but a pointer that is not given (torch's seeds of random numbers) turns every
    load off.
    """
    executed, masking = mix.executed(view, _LOADS), mix.executed(view, _LOADS, predicated=True)
    if not executed or not masking or mix.executed(view, mix.ASYNCHRONOUS):
        return None if executed is None else 0.0
    requests, touched = view.get(_REQUESTS), view.get(_GLOBAL.format("ld"))
    read = view.get("lts__t_sectors_srcunit_tex_op_read.sum")
    if requests is None or touched is None or read is None:
        few = masking < thresholds.MASKED * executed or _needed_in_full(view)
        return 0.0 if few else None
    if not requests or touched * 2 < read:
        return 0.0
    return 1 - min(1.0, requests / executed)


def _needed_in_full(view: Counted) -> bool:
    """Return whether accesses need nearly as many sectors as those of full warps would."""
    needed = view.get("memory_l2_theoretical_sectors_global_ideal") or 0.0
    rows = [each for each in view.instructions if each.opcode in _LOADS | {"STG"}]
    full = sum(each.executed * mix.words(each) * 4 for each in rows)  # 32 threads by 4 bytes a word
    return needed >= (1 - thresholds.MASKED) * full


def atomic_instructions(view: Counted) -> float | None:
    """Return the executed atomics and reductions, of global and of shared memory."""
    executed = mix.executed(view, mix.ATOMIC)
    if executed is not None:
        return float(executed)
    return view.total(
        *("smsp__inst_executed_op_global_red.sum", "smsp__inst_executed_op_shared_atom.sum"),
        *(f"smsp__inst_executed_op_generic_atom_dot_{way}.sum" for way in ("alu", "cas")),
    )


def read_hit_rate(view: Counted) -> float | None:
    """Return the part of the sectors read that L2 held."""
    percent = view.get("lts__t_sector_op_read_hit_rate.pct", "lts__t_sector_hit_rate.pct")
    return None if percent is None else percent / 100
