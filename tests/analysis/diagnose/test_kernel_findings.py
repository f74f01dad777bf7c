"""Findings on kernels: each named where its signs stand, and by no other with less evidence."""

from dataclasses import dataclass, field

import pytest

from harness.analysis.diagnose.conclude import conclusions
from harness.analysis.diagnose.finding import Finding
from harness.analysis.diagnose.kernel_view import KernelView
from harness.analysis.diagnose.known_findings import KERNEL
from tests.support.profiled_launches import CODE, launch, part, quiet, stalls

DRAM, ISSUE = "gpu__dram_throughput", "sm__issue_active"
FMA, ALU = "sm__pipe_fma_cycles_active", "sm__pipe_alu_cycles_active"
L1, L2 = "l1tex__data_pipe_lsu_wavefronts", "lts__t_sectors"
THREADS = "smsp__thread_inst_executed_per_inst_executed.ratio"
TOUCHED = "memory_l2_theoretical_sectors_global"
SHARED = "memory_l1_wavefronts_shared"
REMOTE = "l1tex__m_xbar2l1tex_read_bytes"
HOST = "lts__t_sectors_srcunit_tex_aperture_sysmem_op_{}.sum"
MISSED = "lts__t_sectors_srcunit_tex_op_read_lookup_miss.sum"
MAJOR = {"device__attribute_compute_capability_major": 9.0}
LOCAL = "l1tex__t_sectors_pipe_lsu_mem_{}_op_{}.sum"


@dataclass(frozen=True)
class Made:
    """What distinguishes a launch from the quiet one, and the gain that its cause stands for."""

    changes: dict[str, float]
    gain: float
    code: dict[str, tuple[int, int]] = field(default_factory=lambda: dict(CODE))


ATOMIC = {"ATOMG.E.ADD.STRONG.GPU PT, R5, desc[UR4][R2.64], R4": (100_000, 10)}
PRODUCT = {
    "LDS.128 R4, [R2]": (30, 10),
    "LDS.128 R8, [R3]": (30, 10),
    "FFMA R20, R4, R8, R20": (900, 50),
    "IADD3 R2, R2, 0x10, RZ": (40, 5),
}
POLYNOMIAL = {
    "LDG.E.128 R4, desc[UR4][R2.64]": (10, 10),
    "FFMA R5, R4, R5, c[0x3][0x10]": (900, 50),
    "IADD3 R2, R2, 0x10, RZ": (90, 5),
}
HASH = {"LOP3.LUT R4, R4, R5, R6, 0x96, !PT": (600, 50), "IADD3 R4, R5, R6, RZ": (300, 9)}
INTEGERS = HASH | {"LDG.E R4, desc[UR4][R2.64]": (50, 5)}
# One bit of a word at a time.
BITS = {"SHF.R.U32.HI R5, RZ, 0x9, R4": (300, 30), "LOP3.LUT R5, R5, 0x1, RZ, 0xc0, !PT": (300, 20)}
SUMS = {
    "IMAD.WIDE R4, R0, 0x4, R2": (10, 1),
    "LDG.E R6, desc[UR4][R4.64]": (1000, 300),
    "FADD R6, R6, R7": (1000, 100),
    "STG.E desc[UR4][R4.64], R6": (1000, 300),
}
# Each of 132 blocks arrives 50 times, and reads how many have until all have.
GRID_SYNC = {
    "ATOM.E.ADD.STRONG.GPU PT, R17, desc[UR4][R10.64+0x4], R17": (6_600, 10),
    "LD.E.STRONG.GPU R17, desc[UR4][R10.64+0x4]": (66_000, 100),
    "ISETP.GT.AND P3, PT, R17, -0x1, PT": (66_000, 10),
    "@P3 BRA 0x7fb15d7a1ec0": (66_000, 10),
    "BAR.SYNC.DEFER_BLOCKING 0x0": (52_800, 800),
}
STEPS = {
    "ISETP.NE.AND P0, PT, R5, R12, PT": (400, 10),
    "@P0 BRA 0x7f1e117b3610": (200, 10),
    "FFMA R8, R4, R5, R8": (300, 10),
    "BAR.SYNC.DEFER_BLOCKING 0x0": (100, 400),
}
RANGE_REDUCTION = {
    "FSETP.GE.AND P1, PT, |R20|, 105615, PT": (100, 5),
    "IMAD.WIDE.U32 R8, R4, R6, R10": (600, 60),
    "SHF.L.W.U32.HI R9, R8, R7, R6": (300, 30),
    "F2F.F32.F64 R10, R10": (100, 10),
    "FFMA R8, R10, R9, R8": (100, 5),
}
SMALL_TILES = {
    "LDSM.16.M88.4 R20, [R30+UR11]": (300, 50),
    "HMMA.16816.F32.BF16 R12, R20, R4, R12": (200, 50),
    "IADD3 R2, R2, 0x10, RZ": (500, 10),
}
PROMOTED = {
    "F2F.F64.F32 R4, R8": (50, 50),
    "DFMA R4, R6, R4, R10": (500, 500),
    "F2F.F32.F64 R8, R4": (50, 50),
    "FADD R9, R8, R9": (400, 50),
}
GUARDED = {f"@!P0 {sass}" if "LDG" in sass else sass: row for sass, row in CODE.items()}
REQUESTS = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"
# Warps executed the load 100 times, and 55 of these reached L1, with 16 sectors each.
MASKED = {
    REQUESTS: 55.0,
    TOUCHED: 55.0 * 16,
    f"{TOUCHED}_ideal": 55.0 * 16,
}
HALF_FITS = {"sm__maximum_warps_per_active_cycle_pct": 25.0}
CASES = {
    # Eight sectors are moved for each that is needed, through DRAM at its ceiling.
    "uncoalesced": Made(
        part(DRAM, 88)
        | {TOUCHED: 32e6, "dram__bytes_read.sum": 512e6, "dram__bytes_write.sum": 512e6}
        | {f"lts__t_sectors_srcunit_tex_op_{each}.sum": 16e6 for each in ("read", "write")},
        1 - 1 / 8,
    ),
    "cache-thrash": Made(
        part(DRAM, 88)
        | {"dram__bytes_read.sum": 800e6, "profiler__replayer_bytes_mem_accessible.avg": 100e6},
        1 - 1 / 8,
    ),
    # Problem 4's p1 is 74 % busy with a quarter of needed wavefronts, and gained 51 %.
    "bank-conflicts": Made(
        part(L1, 74) | {SHARED: 100e6, f"{SHARED}_ideal": 24e6} | stalls(mio_throttle=20.0), 0.57
    ),
    "warp-divergence": Made({THREADS: 8.0}, 0.75),
    "register-spills": Made(
        {"smsp__sass_inst_executed_op_local_ld.sum": 5e6}
        | {LOCAL.format("local", "ld"): 30e6, LOCAL.format("local", "st"): 30e6}
        | {LOCAL.format("global", "ld"): 20e6, LOCAL.format("global", "st"): 20e6},
        0.48,
        CODE | {"LDL.64 R4, [R1]": (100, 600)},
    ),
    "atomics-contention": Made(
        {"lts__d_atomic_input_cycles_active.max.pct_of_peak_sustained_elapsed": 95.0},
        0.8,
        CODE | ATOMIC,
    ),
    # 10 MB in 200 µs, 50 GB/s: all that PCIe 5.0 carries. The busiest other part takes 20 %.
    "host-memory-traffic": Made(
        MAJOR | {HOST.format("read_lookup_miss"): 312_500.0, MISSED: 400_000.0}, 0.8
    ),
    "too-few-blocks": Made(
        {"launch__grid_size": 33.0, "launch__waves_per_multiprocessor": 0.04}
        | {"sm__cycles_active.avg": 86_000.0},
        0.75,
    ),
    "tail-effect": Made(
        {"launch__waves_per_multiprocessor": 1.05, "sm__cycles_active.avg": 190_000.0}, 0.45
    ),
    "tile-quantisation": Made(MASKED | part(ISSUE, 50), 0.45, GUARDED),
    "low-occupancy-registers": Made(HALF_FITS | {"launch__occupancy_limit_registers": 2.0}, 0.75),
    # Eight addresses for each load by a register, one for each of the others.
    "constant-divergence": Made(
        {"idc__requests.sum": 20.8e6} | stalls(mio_throttle=60.0),
        0.79,
        {
            "LDC R1, c[0x0][0x28]": (400_000, 0),
            "LDC R4, c[0x3][R5]": (2_550_000, 900),
            "IADD3 R2, R2, R4, RZ": (2_550_000, 9),
        },
    ),
    "local-arrays": Made(
        {"smsp__sass_inst_executed_op_local_ld.sum": 5e6}
        | {LOCAL.format("local", "ld"): 30e6, LOCAL.format("local", "st"): 30e6}
        | {LOCAL.format("global", "ld"): 20e6, LOCAL.format("global", "st"): 20e6},
        0.48,
        CODE | {"LDL R4, [R9+0x10]": (100, 600)},
    ),
    "global-sums": Made(part(L2, 85), 0.78, SUMS),
    "grid-barrier": Made(
        {"launch__grid_size": 132.0, "launch__waves_per_multiprocessor": 1.0}
        | stalls(barrier=15.0),
        0.4,
        GRID_SYNC,
    ),
    "frequent-barriers": Made(stalls(barrier=15.0), 0.46, STEPS),
    "l1-bound": Made(part(L1, 90) | part("sm__inst_executed_pipe_lsu", 75), 0.75),
    "slow-range-reduction": Made(part(ISSUE, 60) | part(ALU, 95), 0.79, RANGE_REDUCTION),
    "small-tiles": Made(
        part(L2, 80)
        | part(L1, 65)
        | {SHARED: 29e6, f"{SHARED}_ideal": 28e6}
        | part("sm__pipe_tensor_cycles_active", 20),
        0.6,
        SMALL_TILES,
    ),
    "low-occupancy-shared": Made(HALF_FITS | {"launch__occupancy_limit_shared_mem": 2.0}, 0.75),
    "latency-bound": Made({}, 0.7),
    "barrier-imbalance": Made(stalls(barrier=15.0), 0.4),
    "issue-bound": Made(part(ISSUE, 92), 0.7),
    "integer-bound": Made(part(ISSUE, 60) | part(ALU, 95), 0.75, INTEGERS),
    "special-function-bound": Made(part("sm__inst_executed_pipe_xu", 95), 0.75),
    "fp64-bound": Made(part("sm__pipe_fp64_cycles_active", 95), 0.5),
    "shared-memory-bound": Made(part(L1, 92) | {SHARED: 100e6, f"{SHARED}_ideal": 98e6}, 0.75),
    "tensor-cores-unused": Made(part(FMA, 85) | part(ISSUE, 90), 0.78, PRODUCT),
    "inter-sm-traffic": Made(
        part("l1tex__m_xbar2l1tex_read_sectors_mem_dshared", 80)
        | {f"{REMOTE}_mem_dshared.sum": 80e6, f"{REMOTE}.sum": 100e6},
        0.64,
    ),
}
ROOFS = {
    "dram-bound": Made(part(DRAM, 88), 0.0),
    "tensor-bound": Made(part("sm__pipe_tensor_cycles_active", 92), 0.0),
    "fp32-bound": Made(part(FMA, 90) | part(ISSUE, 92), 0.0, POLYNOMIAL),
}

OTHER_SHAPES = {
    # L1 loses a table that every query reads: L2 delivers it again and again, DRAM once.
    "cache-thrash": Made(
        part(L2, 85)
        | {"lts__t_sectors_srcunit_tex_op_read.sum": 40e6, "dram__bytes_read.sum": 8e6}
        | {"device__attribute_l2_cache_size": 60e6},
        0.75,
    ),
    # A transposed store: L2 merges the sectors, so DRAM moves what is needed, and L2 five times it.
    "uncoalesced": Made(
        part(L2, 75) | {TOUCHED: 20e6, "lts__t_sectors_srcunit_tex_op_write.sum": 18e6}, 0.78
    ),
    # Stores into a column of an array of 32 columns: 32 wavefronts for each that is needed.
    "bank-conflicts": Made(part(L1, 90) | {SHARED: 41.6e6, f"{SHARED}_ideal": 1.3e6}, 0.8),
    # A compare-and-swap loop: warps wait for what the atomic returns, at its first use.
    "atomics-contention": Made(
        {},
        0.8,
        {
            "ATOMG.E.CAS.STRONG.GPU PT, R5, desc[UR4][R2.64], R4, R6": (100_000, 0),
            "IMAD.MOV.U32 R7, RZ, RZ, R9": (100, 50),
            "ISETP.NE.AND P0, PT, R5, R4, PT": (100_000, 950),
        },
    ),
    # A constant without its f: double functions fill the issue slots before the FP64 pipe.
    "fp64-bound": Made(part(ISSUE, 68) | part("sm__pipe_fp64_cycles_active", 49), 0.6, PROMOTED),
    # The same with constants, each of which two moves make.
    "fp64-bound: constants": Made(
        part(ISSUE, 68) | part("sm__pipe_fp64_cycles_active", 20),
        0.75,
        {sass: (200, 200) if "DFMA" in sass else row for sass, row in PROMOTED.items()}
        | {"UMOV UR8, 0xe2f5e964": (250, 10), "IMAD.MOV.U32 R24, RZ, RZ, 0x0": (150, 10)}
        | {"FADD R9, R8, R9": (233, 50)},
    ),
    # Sums of a few dozen cells: reductions return nothing, and loads queue behind them.
    "atomics-contention: a queue": Made(
        {"lts__d_atomic_input_cycles_active.max.pct_of_peak_sustained_elapsed": 40.0}
        | stalls(long_scoreboard=600.0, lg_throttle=300.0),  # of 8 instructions one is an access
        0.8,
        {"FADD R8, R4, R5": (700, 100), "IADD3 R2, R2, 0x10, RZ": (700, 100)}
        | {"LDG.E R4, desc[UR4][R2.64]": (100, 10), "REDG.E.ADD desc[UR4][R6.64], R8": (100, 10)},
    ),
    # The same with few warps: each instruction waits for the one before, and nothing is busy.
    "fp64-bound: a chain": Made(stalls(wait=12.0), 0.77, PROMOTED),
    # Bits counted by shifts and masks: next to no access, and an instruction does all of it.
    "integer-bound: bits": Made(part(ISSUE, 60) | part(ALU, 95), 0.75, HASH | BITS),
    # Every SM has a block, but a sixth of what fits on it.
    "too-few-blocks": Made(
        {"launch__grid_size": 176.0, "launch__waves_per_multiprocessor": 0.17}, 0.78
    ),
    # A walk through host memory, one read after another: the link is nearly idle.
    "host-memory-traffic": Made(
        {HOST.format("read_lookup_miss"): 18_000.0, MISSED: 20_000.0}
        | {"lts__t_sectors_srcunit_tex_op_read.sum": 20_000.0},
        0.72,  # 12 of 15 cycles are waits, for nine tenths of the fetches
    ),
    # 255 registers, and nothing but arithmetic that waits for itself.
    "low-occupancy-registers": Made(
        HALF_FITS | {"launch__occupancy_limit_registers": 1.0} | stalls(wait=20.0), 0.78
    ),
}
HEALTHY = {
    "loads of half sectors whose other half L1 keeps": Made(
        part(DRAM, 84) | {TOUCHED: 6.7e6, "lts__t_sectors_srcunit_tex_op_read.sum": 2e6}, 0.0
    ),
    "the count of bits by an instruction, near DRAM's ceiling": Made(
        part(DRAM, 75) | part("sm__inst_executed_pipe_xu", 90), 0.0
    ),
    "shared atomics in a histogram that reads at DRAM's ceiling": Made(
        part(DRAM, 85),
        0.0,
        CODE | {"ATOMS.POPC.INC.32 RZ, [R4]": (1000, 300)},
    ),
    "a product on tensor cores that waits at barriers by design": Made(
        part("sm__pipe_tensor_cycles_active", 93) | stalls(barrier=40.0) | HALF_FITS, 0.0
    ),
    "a hash at the ALU pipe's ceiling: integers are all its work": Made(
        part(ISSUE, 60) | part(ALU, 95), 0.0, HASH
    ),
    "sines of small arguments, beside the slow path that none takes": Made(
        part(ISSUE, 80) | part(FMA, 78),
        0.0,
        RANGE_REDUCTION
        | {"IMAD.WIDE.U32 R8, R4, R6, R10": (0, 0), "SHF.L.W.U32.HI R9, R8, R7, R6": (0, 0)}
        | {"F2F.F32.F64 R10, R10": (0, 0), "FFMA R8, R10, R9, R8": (900, 90)},
    ),
    # The sum alone is double, and its values are: no conversions.
    "double arithmetic that fills issue slots, on values that are double": Made(
        part(ISSUE, 68) | part("sm__pipe_fp64_cycles_active", 49),
        0.0,
        {sass: row for sass, row in PROMOTED.items() if "F2F" not in sass},
    ),
    "a polynomial at the FMA pipe's ceiling": ROOFS["fp32-bound"],
    # Its arguments and flags come from the host, and L2 holds all else.
    "a few sectors of host memory beside an L2 at its ceiling": Made(
        part(L2, 85) | MAJOR | {HOST.format("read_lookup_miss"): 40.0, MISSED: 50.0}, 0.0
    ),
    # torch's random numbers: every warp executes the load of a seed, which no thread makes.
    "stores near DRAM's ceiling behind a pointer that is not given": Made(
        part(DRAM, 70) | part(ISSUE, 68) | MASKED | {REQUESTS: 0.0}, 0.0, GUARDED
    ),
}


def concluded(view: KernelView) -> list[Finding]:
    return conclusions(KERNEL, view)


def test_every_finding_has_a_launch_here() -> None:
    assert KERNEL.kinds().keys() == CASES.keys() | ROOFS.keys()


@pytest.mark.parametrize("name", CASES)
def test_a_fault_is_named_first_with_its_gain(name: str) -> None:
    made = CASES[name]
    first = concluded(launch(made.changes, made.code))[0]
    assert first.id == name
    assert first.gain == pytest.approx(made.gain, abs=0.1)
    assert first.evidence
    assert first.fix
    assert first.kernel == "k"


@pytest.mark.parametrize("name", OTHER_SHAPES)
def test_another_shape_of_a_fault_has_the_same_name(name: str) -> None:
    made = OTHER_SHAPES[name]
    first = concluded(launch(made.changes, made.code))[0]
    assert first.id == name.partition(":")[0]
    assert first.gain == pytest.approx(made.gain, abs=0.1)


@pytest.mark.parametrize("name", HEALTHY)
def test_a_launch_that_only_looks_wasteful_is_healthy(name: str) -> None:
    made = HEALTHY[name]
    first = concluded(launch(made.changes, made.code))[0]
    assert (first.id, first.gain) == ("healthy", 0.0)


@pytest.mark.parametrize("name", ROOFS)
def test_a_launch_at_a_roof_is_healthy_and_names_its_bound(name: str) -> None:
    made = ROOFS[name]
    healthy, bound, *_ = concluded(launch(made.changes, made.code))
    assert (healthy.id, bound.id, bound.gain) == ("healthy", name, 0.0)


def groups() -> dict[str, frozenset[str]]:
    """What sections collect together, and each metric alone."""
    names = quiet().keys() | {name for made in CASES.values() for name in made.changes}
    sections = {
        "SpeedOfLight": frozenset(
            name for name in names if "pct_of_peak_sustained_elapsed" in name
        ),
        "WarpStateStats": frozenset(name for name in names if "stalled" in name) | {THREADS},
        "LaunchStats": frozenset(name for name in names if name.startswith("launch__")),
        "SourceCounters": frozenset(name for name in names if name.startswith("memory_l")),
        "SM cycles": frozenset(name for name in names if name.startswith("sm__cycles")),
    }
    return sections | {name: frozenset({name}) for name in names}


ALONE = {
    # Without these nothing hints at the cause: what is said then is true of all that is left.
    "cache-thrash": {"profiler__replayer_bytes_mem_accessible.avg"},
    "host-memory-traffic": {HOST.format("read_lookup_miss"), *MAJOR},
    "l1-bound": {f"{L1}.avg.pct_of_peak_sustained_elapsed"},
}


@pytest.mark.parametrize("name", CASES | ROOFS)
def test_less_evidence_never_leads_to_another_name(name: str) -> None:
    made = (CASES | ROOFS)[name]
    whole = concluded(launch(made.changes, made.code))
    removed = {
        group: names for group, names in groups().items() if group not in ALONE.get(name, ())
    }
    for group, names in removed.items():
        for code in (made.code, {}):
            first, *_ = concluded(launch(made.changes, code, without=names))
            assert first.id in {whole[0].id, "abstain"}, group
            assert bool(first.next) == (first.id in ("abstain", "healthy")), group


def test_of_a_launch_that_is_start_and_end_nothing_is_said() -> None:
    few = CASES["too-few-blocks"].changes
    for changes in (few, {}):
        first, *_ = concluded(launch(changes | {"gpu__time_duration.sum": 2_000.0}))
        assert first.id == "abstain"
        assert "timeline" in first.next[0]


@pytest.mark.parametrize(
    ("cycles", "waves", "little"), [(90.0, 12.5, True), (900.0, 12.5, False), (90.0, 2.0, False)]
)
def test_blocks_that_end_at_once_are_told_to_do_more(
    cycles: float, waves: float, little: bool
) -> None:
    """Each of the grid's 13 200 times 8 warps executes 8 instructions: it lives for 720 cycles."""
    code = {sass: (count * 1_056, samples) for sass, (count, samples) in CODE.items()}
    changes = {
        "smsp__average_warp_latency_per_inst_issued.ratio": cycles,
        "launch__waves_per_multiprocessor": waves,
    }
    first, *_ = concluded(launch(changes, code))
    assert first.id == "latency-bound"
    numbers = {each.metric: each.value for each in first.evidence}
    assert numbers.get("life of a warp") == (8 * cycles if little else None)
    assert ("too little work" in first.title) == little
    assert ("several rows" in first.fix[0]) == little


def test_conflicts_are_counted_without_source_counters_too() -> None:
    counted = {
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum": 31e6,
        "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum": 32e6,
    }
    view = launch(part(L1, 90) | counted, {}, without=frozenset({SHARED, f"{SHARED}_ideal"}))
    assert concluded(view)[0].id == "bank-conflicts"


def test_what_an_abstaining_diagnosis_asks_for_is_what_is_missing() -> None:
    (first, *_) = concluded(launch(part(DRAM, 88), {}, without=frozenset({TOUCHED})))
    assert first.id == "abstain"
    assert first.next == ("capture --section SourceCounters",)


@pytest.mark.parametrize("known", [True, False])
def test_what_is_known_of_busy_cycles_alone_is_told_and_names_nothing(known: bool) -> None:
    """SMs of which nobody knows how long they were busy may have stood idle most of the time."""
    tensor = "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_"
    cycles = frozenset({"sm__cycles_active.avg", "sm__cycles_active.max"})
    without = frozenset({f"{tensor}elapsed"}) | (frozenset() if known else cycles)
    first, *others = concluded(launch({f"{tensor}active": 91.0}, without=without))
    if known:
        assert "tensor-bound" in {first.id, *(each.id for each in others)}
        return
    assert first.id == "abstain"
    told = {number.metric: number.value for number in first.evidence}
    assert told["tensor pipe, of the cycles in which SMs were busy"] == 91.0
    assert any(each.startswith("capture --metrics sm__cycles_active.avg") for each in first.next)
    assert not {each.id for each in others} & {"tensor-bound", "healthy"}
