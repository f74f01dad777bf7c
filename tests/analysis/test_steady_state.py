"""Which part of a timeline counts: what repeats, and not what a program does once at its start."""

from harness.analysis import steady_state
from tests.support.programs import LATENCY, LAUNCH, MS, US, Program


def window(program: Program) -> list[tuple[int, ...]]:
    return steady_state.windows(program.tables()).rows()


def test_a_program_without_warm_up_counts_whole() -> None:
    program = Program()
    for _ in range(10):
        program.launch(10 * US)
    assert window(program) == [(LAUNCH + LATENCY, program.ends)]


def test_the_first_turn_is_left_out_if_it_reserves_memory() -> None:
    program = Program()
    for turn in range(6):
        if turn == 1:
            start = program.now + LAUNCH + LATENCY
        for name in ("a", "b"):
            if (turn, name) == (0, "b"):
                program.call("cudaMalloc", 50 * US)
            program.launch(1 * US, name)
            program.synchronise()
    assert window(program) == [(start, program.ends)]


def test_a_program_that_never_repeats_counts_whole() -> None:
    program = Program()
    for turn in range(20):
        program.call("cudaMalloc", 50 * US)
        program.launch(10 * US, f"kernel {turn}")
    first = program.tables()["gpu_ops"]["start_ns"].min()
    assert window(program) == [(first, program.ends)]


def test_measured_steps_count_one_by_one() -> None:
    program = Program()
    expected = []
    for _ in range(3):
        program.work(1 * MS)
        with program.marked("step:forward"):
            begin = program.now + LAUNCH + LATENCY
            program.launch(20 * US)
            program.launch(20 * US)
            program.synchronise("cudaDeviceSynchronize")
        expected.append((begin, program.ends))
    assert window(program) == expected
    tables = program.tables()
    assert steady_state.inside(tables["gpu_ops"], steady_state.windows(tables)).height == 6


def test_a_pause_at_the_very_start_is_left_out() -> None:
    program = Program()
    program.launch(10 * US)
    program.work(100 * MS)
    begin = program.now + LAUNCH + LATENCY
    for _ in range(40):
        program.launch(50 * US)
    assert window(program) == [(begin, program.ends)]
