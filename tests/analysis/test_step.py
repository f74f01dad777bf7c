"""Which operations are a step, by which rule, and which are a warm-up."""

import contextlib
import dataclasses

import polars as pl
import pytest

from harness.analysis import intervals, step, summary
from harness.analysis.audit import conclude as audit
from harness.analysis.diagnose import conclude as diagnose
from harness.analysis.diff import gpu
from harness.evidence.capture import Capture
from tests.support.programs import APART, LATENCY, LAUNCH, MS, US, Program


def window(program: Program) -> list[tuple[int, ...]]:
    return step.of(program.tables()).stretches.rows()


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
    assert intervals.inside(tables["gpu_ops"], step.of(tables).stretches).height == 6


def test_a_pause_at_the_very_start_is_left_out() -> None:
    program = Program()
    program.launch(10 * US)
    program.work(100 * MS)
    begin = program.now + LAUNCH + LATENCY
    for _ in range(40):
        program.launch(50 * US)
    assert window(program) == [(begin, program.ends)]


def looped(names: list[str], turns: int = 4) -> Program:
    """Launch three kernels a turn, within ranges of these names; ``{}`` is the turn's number."""
    program = Program()
    for turn in range(turns):
        with contextlib.ExitStack() as ranges:
            for name in names:
                ranges.enter_context(program.marked(name.format(turn)))
                program.work(1 * US)
            for kernel in ("a", "b", "a"):
                program.launch(20 * US, kernel)
        program.work(1 * MS)
    return program


@pytest.mark.parametrize(
    ("names", "of"),
    [
        (["ProfilerStep#{}", "step:mine"], "4 × step:mine"),
        (["ProfilerStep#{}", "step {}"], "4 × ProfilerStep#"),
        (["step {}", "layer"], "4 × step"),
        (["turn", "layer_{}"], "4 × turn"),
        (["aten::mul, op_id = {}"], "4 × period of 3 kernels"),
        ([], "4 × period of 3 kernels"),
    ],
)
def test_steps_are_found_by_the_first_rule_that_holds(names: list[str], of: str) -> None:
    assert step.of(looped(names).tables()).of == of


def test_a_range_that_the_user_names_goes_before_all_others() -> None:
    found = step.of(looped(["step:mine", "layer"]).tables(), "layer")
    assert (found.of, found.is_apart) == ("4 × layer", True)


def test_what_a_program_does_between_its_own_ranges_is_part_of_the_step_before() -> None:
    tables = looped(["step {}"]).tables()
    ((start, end),) = step.of(tables).stretches.rows()
    assert end - start > 3 * MS
    assert step.of(looped(["step:mine"]).tables()).stretches.height == 4


def test_ranges_that_hold_little_of_the_time_are_parts_of_steps() -> None:
    program = Program()
    for _ in range(5):
        with program.marked("optimizer"):
            program.launch(10 * US, "update")
        program.launch(100 * US, "forward")
    assert step.of(program.tables()).of == "5 × period of 2 kernels"


def test_equal_layers_of_one_step_are_no_steps() -> None:
    program = Program()
    for name in ("embed", "norm", *["up", "down"] * 8, "norm", "head", "sample"):
        program.launch(10 * US, name)
    assert step.of(program.tables()).of == "whole capture"


def test_steps_in_which_the_program_warms_up_are_left_out() -> None:
    program = Program()
    for turn in range(6):
        with program.marked(f"step {turn}"):
            for name in ("a", "b"):
                if not turn:
                    program.call("cudaMalloc", 50 * US)
                program.launch(10 * US, name)
                program.synchronise()
    assert step.of(program.tables()).of == "5 of 6 × step"


def test_a_launch_of_another_thread_belongs_to_the_step_that_is_open() -> None:
    tables = looped(["ProfilerStep#{}"]).tables()
    place = pl.int_range(pl.len()) % 3
    calls = tables["api_calls"].with_columns(
        thread=pl.when(place == 1).then(2).otherwise("thread").cast(pl.Int64)
    )
    found = step.of(tables | {"api_calls": calls})
    assert found.ops["step"].to_list() == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]


def test_how_busy_the_gpu_was_is_said_of_the_steps_and_of_the_whole() -> None:
    program = Program()
    program.launch(10 * US, "once")
    for _ in range(3):
        program.work(1 * MS)
        with program.marked("step:mine"):
            program.launch(30 * US)
            program.launch(30 * US)
            program.synchronise()
    busy = step.busy(program.tables())
    assert busy is not None
    assert (busy.busy_ns, busy.whole_busy_ns) == (180 * US, 190 * US)
    assert busy.span_ns == 3 * (60 * US + APART)
    assert busy.text == (
        "3 steps of 0.061 ms (step:mine) · GPU busy 98.4 % (5.9 % of the whole capture)"
    )


def test_without_timed_work_nothing_is_busy() -> None:
    assert step.busy(Program().tables()) is None
    assert step.of(Program().tables()).ops.is_empty()


def test_commands_say_the_same_of_the_same_trace() -> None:
    tables = looped(["step {}"], turns=3).tables()
    capture = Capture("made", tables, {}, "nsys")
    busy = step.busy(tables)
    assert busy is not None
    audited = audit.audit([capture])
    assert diagnose.diagnose([capture]).step == audited.step == busy
    assert summary.document(capture)["step"] == dataclasses.asdict(busy)
    assert audited.traced_ms * audited.steps * 1e6 == pytest.approx(busy.span_ns)
    assert audited.busy_ms * audited.steps * 1e6 == pytest.approx(busy.busy_ns)
    diff = gpu.compare(tables, tables)
    assert diff.step == (busy.of, busy.of)
    assert diff.a_ns / diff.steps == pytest.approx(audited.traced_ms * 1e6, rel=1e-6)


def in_processes(starts: tuple[int, ...]) -> dict[str, pl.DataFrame]:
    """Return what a process that loads code, then runs 4 steps, records from each of starts on."""
    every = []
    for number, start in enumerate(starts):
        program = Program(start=start)
        for _ in range(4):
            with program.marked("step"):
                program.launch(1 * MS)
                program.synchronise()
            program.call("cuLibraryLoadData", 5 * MS * (program.now - start < 2 * MS))
        apart = {"thread": number << 24, "correlation": 100 * number}
        every.append(
            {
                name: table.with_columns(
                    pl.col(column) + apart[column] for column in apart if column in table.columns
                )
                for name, table in program.tables().items()
            }
        )
    return {name: pl.concat([tables[name] for tables in every]) for name in every[0]}


@pytest.mark.parametrize(
    ("starts", "turns"),
    [((0, 100 * MS), 2), ((0, 1 * MS), 0), ((0,), 0), ((0, 50 * MS, 99 * MS), 3)],
)
def test_processes_that_follow_one_another_have_steps_of_their_own(
    starts: tuple[int, ...], turns: int
) -> None:
    tables = in_processes(starts)
    steps = step.of(tables)
    assert steps.ranges == "step"
    assert len(steps.turns) == turns
    if turns:
        assert all(end - start < 10 * MS for start, end in steps.turns)
        busy = step.busy(tables, steps)
        assert busy is not None
        assert busy.span_ns == sum(end - start for start, end in steps.turns)
