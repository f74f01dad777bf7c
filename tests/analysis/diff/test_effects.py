"""What counters account for of a launch's time: planted causes come first, noise nowhere."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.analysis.diff import compare, effects
from harness.analysis.diff.effects import Effect
from harness.evidence.subject import Subject
from harness.extract import door
from tests.support.paths import DATA, ROOT

ELAPSED, ACTIVE = ".avg.pct_of_peak_sustained_elapsed", ".avg.pct_of_peak_sustained_active"
DRAM, L2, ISSUE = (
    f"gpu__dram_throughput{ELAPSED}",
    f"lts__throughput{ELAPSED}",
    f"smsp__issue_active{ACTIVE}",
)
CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared"
USED = "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio"
SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
THREADS, SPILLS = (
    "smsp__thread_inst_executed_per_inst_executed.ratio",
    "sass__inst_executed_register_spilling",
)
INSTRUCTIONS, OCCUPANCY = "smsp__inst_executed.sum", f"sm__warps_active{ACTIVE}"
STATE = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"

# A launch of 100 µs on an H200: 132 SMs at 2 GHz, so 200,000 cycles.
BASE = {
    "time": 100_000.0,
    "gpc__cycles_elapsed.avg.per_second": 2e9,
    "device__attribute_multiprocessor_count": 132.0,
    DRAM: 20.0,
    L2: 60.0,
    ISSUE: 40.0,
    INSTRUCTIONS: 1e7,
    f"{CONFLICTS}_op_ld.sum": 0.0,
    f"{CONFLICTS}_op_st.sum": 0.0,
    USED: 32.0,
    SECTORS: 1e6,
    THREADS: 32.0,
    SPILLS: 0.0,
    OCCUPANCY: 50.0,
    STATE.format("long_scoreboard"): 3.0,
    STATE.format("selected"): 1.0,
}


PLANTED = {
    # 26.4 million conflicts on 132 SMs are 200,000 cycles each: 100 µs.
    "conflicts": ({f"{CONFLICTS}_op_ld.sum": 26.4e6}, "shared memory's bank conflicts", 100_000),
    # Three quarters of what L2 moves for 60 % of 200 µs are not used.
    "bytes": ({USED: 8.0}, "bytes used of a sector, loads", 90_000),
    "divergence": ({THREADS: 2.0, ISSUE: 90.0}, "active threads of a warp", 168_750),
    "spills": ({SPILLS: 5e6}, "register spills", 100_000),
    "occupancy": ({OCCUPANCY: 25.0, L2: 30.0, DRAM: 10.0, ISSUE: 20.0}, "occupancy", 100_000),
    "clock": (
        {"gpc__cycles_elapsed.avg.per_second": 1e9, L2: 60.0},
        *("SM clock", 100_000),
    ),
    "instructions": ({INSTRUCTIONS: 4e7, ISSUE: 80.0, L2: 30.0}, "instructions", 120_000),
    "bytes moved": ({DRAM: 90.0, L2: 40.0, ISSUE: 20.0}, "DRAM, %", 160_000),
    "waits": (
        {STATE.format("barrier"): 4.0, L2: 30.0, DRAM: 10.0, ISSUE: 20.0},
        *("warps: barrier, %", 100_000),
    ),
}


@pytest.mark.parametrize(("changed", "what", "change_ns"), PLANTED.values(), ids=PLANTED)
def test_a_planted_cause_of_twice_the_time_is_named(
    changed: dict[str, float], what: str, change_ns: float
) -> None:
    before = {} if "barrier" not in str(changed) else {STATE.format("barrier"): 0.0}
    a, b = BASE | before, BASE | before | changed | {"time": 200_000.0}
    found = effects.effects(a, b, same_kernel=True)
    known = effects.cause(found, a, b)
    assert known is not None
    assert known.what == what
    assert known.change_ns == pytest.approx(change_ns)
    back = effects.effects(b, a, same_kernel=True)
    reverse = effects.cause(back, b, a)
    assert reverse is not None
    assert reverse.what == what
    assert reverse.change_ns == pytest.approx(-change_ns)


def test_twice_the_blocks_of_the_same_kernel_explain_all_else() -> None:
    grid = "launch__grid_size"
    a, b = BASE | {grid: 100.0}, BASE | {grid: 200.0, "time": 190_000.0, INSTRUCTIONS: 2e7}
    known = effects.cause(effects.effects(a, b, same_kernel=True), a, b)
    assert known is not None
    assert (known.what, known.change_ns) == ("blocks", 90_000)
    assert "blocks" not in {each.what for each in effects.effects(a, b, same_kernel=False)}


def test_a_large_factor_without_time_is_left_out() -> None:
    """0.00004 % of the peak → 0.005 % is a factor of 125, and no time."""
    a = BASE | {DRAM: 0.00004, L2: 60.0}
    b = BASE | {DRAM: 0.005, L2: 70.0, "time": 115_000.0}
    found = effects.effects(a, b, same_kernel=True)
    assert found[0].what == "L2 cache, %"
    assert "DRAM, %" not in {each.what for each in found}


def test_nothing_is_said_of_kernels_without_time_or_change() -> None:
    assert effects.effects(BASE, BASE, same_kernel=True) == ()
    assert effects.effects({DRAM: 5.0}, BASE, same_kernel=True) == ()
    assert effects.cause((), BASE, BASE | {"time": 300_000.0}) is None


ratio = st.floats(0, 50)
states = st.fixed_dictionaries({STATE.format(name): ratio for name in ("wait", "barrier", "drain")})


@given(states, states, st.floats(1e3, 1e9))
def test_states_of_warps_sum_to_the_launch(
    a: dict[str, float], b: dict[str, float], time: float
) -> None:
    plain = {"time": time}
    found = list(effects._states(plain | a))
    if sum(a.values()):
        assert sum(each.time_ns[0] for each in found) == pytest.approx(time)
    for each in effects.effects(plain | a, {"time": 2 * time} | b, same_kernel=True):
        assert abs(each.change_ns) >= effects.LEAST * 2 * time


def kernel(a: str, b: str) -> tuple[Effect | None, tuple[Effect, ...], float]:
    """Return the cause, the effects and the change in ns of the one kernel of two real reports."""
    sides = [door.opened(path) for path in (a, b)]
    first, second = (side for side in sides if isinstance(side, Subject))
    (found,) = compare.compare(first, second).counters
    assert found.launch_ns is not None
    return found.cause, found.effects, found.launch_ns[1] - found.launch_ns[0]


HGEMM = str(ROOT / "reports/4-custom-hgemm/nvidia-h200:square-4096.{}")
STEPS = {
    ("p1", "p2"): "shared memory's bank conflicts",  # padding
    ("p2", "p3"): "instructions",  # ldmatrix
    ("p5", "p6"): "warps: long scoreboard, %",  # multistage pipeline
}


@pytest.mark.parametrize(("pair", "what"), STEPS.items(), ids=map("-".join, STEPS))
def test_steps_of_the_hgemm_are_explained(pair: tuple[str, str], what: str) -> None:
    first, second = pair
    known, _, change = kernel(HGEMM.format(first), HGEMM.format(second))
    assert known is not None
    assert known.what == what
    assert known.change_ns < 0
    assert change < 0


def test_the_longer_launch_has_more_blocks() -> None:
    a, b = (
        door.opened(str(DATA / f"differences/{name}.ncu-rep.zst")) for name in ("same_1", "longer")
    )
    assert isinstance(a, Subject)
    assert isinstance(b, Subject)
    (longer,) = (each for each in compare.compare(a, b).counters if "softmax" in each.a[0])
    assert longer.cause is not None
    assert (longer.cause.what, longer.cause.a, longer.cause.b) == ("blocks", 1024, 2048)
