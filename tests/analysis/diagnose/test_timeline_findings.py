"""Findings on timelines of simulated programs: the sick one, and the same work done right."""

from collections.abc import Callable

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.analysis.diagnose import conclude, known_findings
from harness.analysis.diagnose.finding import Diagnosis, Finding
from harness.analysis.idle import recording_cost
from harness.evidence import tables as evidence
from harness.extract import door
from tests.support.paths import DATA
from tests.support.programs import MS, US, Program
from tests.support.timelines import rows

TURNS = 40
BATCH = 8 << 20


def launch_bound(p: Program, *, sick: bool) -> None:
    for _ in range(TURNS):
        if sick:
            for _ in range(50):
                p.work(3 * US)
                p.launch(3 * US)
        else:
            p.launch(3 * US, nodes=50)


def host_bound(p: Program, *, sick: bool) -> None:
    for _ in range(TURNS):
        p.work(900 * US if sick else 3 * US)
        for _ in range(5):
            p.launch(60 * US)


def host_sync(p: Program, *, sick: bool) -> None:
    for _ in range(TURNS):
        p.launch(60 * US)
        p.launch(40 * US)
        if sick:
            p.copy(4, 2 * US, "Pageable", "Device-to-Host")
            p.synchronise()
        p.work(30 * US)


def pageable_copy(p: Program, *, sick: bool) -> None:
    for _ in range(TURNS):
        p.copy(BATCH, 2 * MS if sick else 300 * US, "Pageable" if sick else "Pinned", stream=8)
        p.launch(1 * MS)


def serialised_copy(p: Program, *, sick: bool) -> None:
    for _ in range(TURNS):
        p.copy(BATCH, 400 * US, "Pinned", stream=7 if sick else 8)
        p.launch(1 * MS)


def copy_engine_bound(p: Program, *, sick: bool) -> None:
    """Batches are copied beside the kernels of the one before, as 4 bytes a value or as one."""
    for _ in range(TURNS):
        p.copy(BATCH if sick else BATCH // 4, 400 * US if sick else 100 * US, "Pinned", stream=8)
        p.wait_for(p.ends)
        p.launch(150 * US)


def allocator_churn(p: Program, *, sick: bool) -> None:
    for _ in range(TURNS):
        if sick:
            p.call("cudaMalloc", 200 * US)
        p.launch(500 * US)
        if sick:
            p.synchronise("cudaFree_v3020")


def compile_in_loop(p: Program, *, sick: bool) -> None:
    for _ in range(TURNS):
        if sick:
            p.work(3 * MS)
            p.call("cuModuleLoadData", 300 * US)
            p.work(200 * US)
        p.launch(2 * MS)


def data_starved(p: Program, *, sick: bool) -> None:
    for _ in range(TURNS):
        with p.marked("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"):
            p.work(3 * MS if sick else 20 * US)
        p.launch(2 * MS)


def stream_serialised(p: Program, *, sick: bool) -> None:
    for _ in range(TURNS):
        for stream in (7, 8, 9, 10):
            p.launch(100 * US, stream=stream, grid="8,1,1", behind_all=sick)


def chains_of_streams(p: Program, *, sick: bool) -> None:
    for _ in range(TURNS):
        for stream in (7, 8, 9, 10):
            p.launch(100 * US, "scan", stream, "8,1,1", behind_all=sick)
            p.launch(10 * US, "scale", stream, "4096,1,1")


def exposed_communication(p: Program, *, sick: bool) -> None:
    for _ in range(TURNS):
        p.launch(1 * MS)
        p.launch(600 * US, "ncclDevKernel_AllReduce_Sum_f32", stream=7 if sick else 20)


def graph_opaque(p: Program, *, sick: bool) -> None:
    for _ in range(TURNS):
        p.launch(40 * US, nodes=20, as_one=sick)


Run = Callable[..., None]


def small_grid(p: Program, *, sick: bool) -> None:
    for _ in range(TURNS):
        p.launch(500 * US if sick else 50 * US, grid="4,1,1" if sick else "40,1,1")


def slow_kernel(p: Program, *, sick: bool) -> None:
    for _ in range(TURNS):
        p.launch(300 * US, "gemm")
        p.launch(900 * US if sick else 10 * US, "indexing_backward_kernel" if sick else "index")


def optimizer_bound(p: Program, *, sick: bool) -> None:
    for _ in range(TURNS):
        p.launch(300 * US, "gemm")
        for _ in range(4):
            p.launch(200 * US if sick else 5 * US, "multi_tensor_apply_kernel<Adam>")


PROGRAMS: dict[str, Run] = {
    "launch-bound": launch_bound,
    "host-bound": host_bound,
    "host-sync": host_sync,
    "pageable-copy": pageable_copy,
    "serialised-copy": serialised_copy,
    "copy-engine-bound": copy_engine_bound,
    "allocator-churn": allocator_churn,
    "compile-in-loop": compile_in_loop,
    "data-starved": data_starved,
    "stream-serialised": stream_serialised,
    "exposed-communication": exposed_communication,
    "graph-opaque": graph_opaque,
    "small-grid": small_grid,
    "slow-kernel": slow_kernel,
    "optimizer-bound": optimizer_bound,
}


def ran(run: Run, *, sick: bool) -> Program:
    program = Program()
    run(program, sick=sick)
    return program


def diagnosed(*programs: Program) -> Diagnosis:
    return conclude.diagnose([each.capture(str(at)) for at, each in enumerate(programs)])


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_bottleneck_is_named_first_and_its_absence_is_healthy(name: str) -> None:
    sick, healthy = (diagnosed(ran(PROGRAMS[name], sick=sick)) for sick in (True, False))
    assert sick.findings[0].id == name
    assert healthy.findings[0].id == "healthy"
    assert name not in {each.id for each in healthy.findings if each.stake >= 0.05}


@pytest.mark.parametrize("name", sorted(PROGRAMS.keys() - {"graph-opaque", "launch-bound"}))
def test_the_gain_is_what_the_healthy_program_gains(name: str) -> None:
    sick, healthy = (ran(PROGRAMS[name], sick=sick) for sick in (True, False))
    gained = 1 - healthy.ends / sick.ends
    predicted = diagnosed(sick).findings[0].gain
    assert predicted == pytest.approx(gained, rel=0.25)


def test_launches_replayed_as_a_graph_gain_what_is_predicted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # No profiler slows a simulated host.
    monkeypatch.setattr(recording_cost, "OF_NSYS", recording_cost.Part(0, 0, 0))
    sick, healthy = (ran(launch_bound, sick=sick) for sick in (True, False))
    predicted = diagnosed(sick).findings[0].gain
    assert predicted == pytest.approx(1 - healthy.ends / sick.ends, rel=0.25)


def two_ranks(late_ns: int) -> tuple[Program, Program]:
    """Return ranks of which the second computes ``late_ns`` longer before each collective."""
    ranks = Program(), Program(device=1)
    for _ in range(TURNS):
        for rank, extra in zip(ranks, (0, late_ns), strict=True):
            rank.launch(1 * MS + extra)
        begun = [rank.ends + US for rank in ranks]
        for rank, begin in zip(ranks, begun, strict=True):
            rank.launch(max(begun) - begin + 50 * US, "ncclDevKernel_AllReduce_Sum_f32")
    return ranks


def test_the_rank_that_others_wait_for_is_the_straggler() -> None:
    first = diagnosed(*two_ranks(500 * US)).findings[0]
    assert (first.id, first.where) == ("straggler", "1")
    sick, healthy = (max(rank.ends for rank in two_ranks(late)) for late in (500 * US, 0))
    assert first.gain == pytest.approx(1 - healthy / sick, rel=0.25)
    assert diagnosed(*two_ranks(0)).findings[0].id == "healthy"


def test_uneven_shares_of_work_gain_what_spreading_them_gains() -> None:
    def ran(parts: tuple[int, int]) -> tuple[Program, Program]:
        ranks = Program(), Program(device=1)
        for _ in range(TURNS):
            for rank, part in zip(ranks, parts, strict=True):
                rank.launch(part * 10 * US, grid=f"{part},1,1")
            last = max(rank.ends for rank in ranks)
            for rank in ranks:
                rank.launch(last - rank.ends + 20 * US, "ncclDevKernel_AllReduce_Sum_f32")
        return ranks

    sick, healthy = ran((150, 50)), ran((100, 100))
    first = diagnosed(*sick).findings[0]
    assert (first.id, first.where) == ("straggler", "0")
    gained = 1 - max(rank.ends for rank in healthy) / max(rank.ends for rank in sick)
    assert first.gain == pytest.approx(gained, rel=0.25)
    assert diagnosed(*healthy).findings[0].id == "healthy"


def test_one_rank_alone_names_communication_and_asks_for_the_others() -> None:
    early, _ = two_ranks(500 * US)
    first = diagnosed(early).findings[0]
    assert first.id == "exposed-communication"
    assert any("all ranks" in each for each in first.next)


def without(program: Program, table: str) -> Finding:
    """Return the first finding on a capture that lacks a table."""
    capture = program.capture()
    capture.tables[table] = capture.tables[table].clear()
    return conclude.diagnose([capture]).findings[0]


@pytest.mark.parametrize("name", ["launch-bound", "host-bound", "host-sync", "allocator-churn"])
def test_without_host_calls_idle_time_is_not_explained(name: str) -> None:
    first = without(ran(PROGRAMS[name], sick=True), "api_calls")
    assert first.id == "abstain"
    assert any("host calls" in each for each in first.next)


def test_streams_that_take_turns_of_several_kernels_are_serialised() -> None:
    sick, healthy = (ran(chains_of_streams, sick=sick) for sick in (True, False))
    first = diagnosed(sick).findings[0]
    assert first.id == "stream-serialised"
    assert first.gain == pytest.approx(1 - healthy.ends / sick.ends, rel=0.25)
    assert diagnosed(healthy).findings[0].id == "healthy"


def test_streams_behind_a_moment_of_the_default_stream_are_serialised() -> None:
    program, apart = Program(), Program()
    for each in (program, apart):
        for _ in range(TURNS):
            for stream in (7, 8, 9, 10):
                each.launch(100 * US, stream=stream, grid="8,1,1", behind_all=each is program)
                if each is program:
                    each.launch(1 * US, "fill", 0, "1,1,1", behind_all=True)
    first = diagnosed(program).findings[0]
    assert first.id == "stream-serialised"
    assert first.gain == pytest.approx(1 - apart.ends / program.ends, rel=0.25)
    assert diagnosed(apart).findings[0].id == "healthy"


def test_streams_that_run_side_by_side_and_meet_are_not_serialised() -> None:
    program = Program()
    for _ in range(TURNS):
        for stream, length in ((7, 100 * US), (8, 104 * US), (9, 108 * US)):
            program.launch(length, stream=stream, grid="8,1,1")
        for stream in (7, 8, 9):
            program.wait_for(program.ends, stream)
    assert all(each.id != "stream-serialised" for each in diagnosed(program).findings)


def test_a_host_that_waits_for_another_thread_is_not_one_that_computes() -> None:
    for waits, named in ((True, "data-starved"), (False, "host-bound")):
        program = Program()
        for _ in range(TURNS):
            if waits:
                program.wait("sem_clockwait", 900 * US)
            else:
                program.work(900 * US)
            for _ in range(5):
                program.launch(60 * US)
        first = diagnosed(program).findings[0]
        assert first.id == named
        assert any("sem_clockwait" in each.metric for each in first.evidence) == waits


def test_moments_between_queued_kernels_are_no_waits_for_input() -> None:
    """The host fetches the next batch while the kernels of this one run, a moment apart."""
    program = Program()
    for _ in range(TURNS):
        with program.marked("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"):
            program.work(3 * MS)
        for _ in range(100):
            program.launch(20 * US)
    first = diagnosed(program).findings[0]
    assert first.id == "data-starved"
    gaps = next(each.value for each in first.evidence if each.metric == "gaps with such a wait")
    assert gaps <= TURNS


def test_a_host_that_waits_while_another_thread_launches_is_not_starved() -> None:
    """As one that calls backward() waits for autograd's thread."""
    program = ran(host_bound, sick=True)
    capture = program.capture()
    whole = {"name": "pthread_cond_wait", "start_ns": 0, "duration_ns": program.now, "thread": 1}
    capture.tables["waits"] = rows("waits", [whole])
    assert conclude.diagnose([capture]).findings[0].id == "host-bound"


def test_values_that_are_read_back_one_by_one_are_a_wait_and_no_launch_problem() -> None:
    """Between two values three small kernels are launched, which a graph could not join further."""
    program = Program()
    for _ in range(20 * TURNS):
        for _ in range(3):
            program.work(5 * US)
            program.launch(4 * US)
        program.work(15 * US)
        program.copy(4, 1 * US, "Pinned", "Device-to-Host")
        program.synchronise()
    (first,) = diagnosed(program).findings
    assert [each.id for each in (first, *first.parts)] == ["host-sync", "host-sync", "launch-bound"]
    graph = next(each for each in first.fix if "CUDA graph" in each)
    assert first.fix.index(graph) == 1, "a graph holds no wait, which has to go first"


def test_causes_of_the_launching_thread_are_told_together() -> None:
    """Removing one of them leaves the others; what removes all gains what is told."""
    sick, healthy = Program(), Program()
    for _ in range(TURNS):
        sick.work(100 * US)
        for _ in range(60):
            sick.work(4 * US)
            sick.launch(3 * US)
        sick.copy(4, 1 * US, "Pinned", "Device-to-Host")
        sick.synchronise()
        sick.work(20 * US)
        healthy.launch(3 * US, nodes=60)
    (first,) = diagnosed(sick).findings
    parts = [each.id for each in first.parts]
    assert (first.id, parts) == ("launch-bound", ["launch-bound", "host-bound"])
    assert first.share == pytest.approx(sum(each.share or 0.0 for each in first.parts))
    assert first.gain == pytest.approx(1 - healthy.ends / sick.ends, rel=0.25)
    assert [each.metric for each in first.evidence[:2]] == [
        "of it launch-bound",
        "of it host-bound",
    ]


def test_streams_in_turn_whose_grids_are_unknown_are_not_called_healthy() -> None:
    for sick, named in ((True, "abstain"), (False, "healthy")):
        capture = ran(stream_serialised, sick=sick).capture()
        no_grid = pl.lit(None, capture.tables["gpu_ops"]["grid"].dtype).alias("grid")
        capture.tables["gpu_ops"] = capture.tables["gpu_ops"].with_columns(no_grid)
        first = conclude.diagnose([capture]).findings[0]
        assert first.id == named
        assert any("grids" in each for each in first.next) == sick


def test_copies_of_unknown_memory_are_not_explained() -> None:
    capture = ran(pageable_copy, sick=True).capture()
    plain = pl.lit("[CUDA memcpy Host-to-Device]").cast(pl.Categorical)
    capture.tables["gpu_ops"] = capture.tables["gpu_ops"].with_columns(
        name=pl.when(pl.col("kind") == "copy").then(plain).otherwise("name")
    )
    first = conclude.diagnose([capture]).findings[0]
    assert first.id == "abstain"
    assert any("memory kinds" in each for each in first.next)


def test_copies_that_no_kernels_could_hide_are_to_be_left_out() -> None:
    """A matrix to the GPU and back for every small kernel: pinned, most of it would remain."""
    program = Program()
    for _ in range(20):
        program.copy(512 << 20, 130 * MS, "Pageable")
        program.launch(10 * MS)
        program.copy(512 << 20, 130 * MS, "Pageable", "Device-to-Host")
    first = diagnosed(program).findings[0]
    assert first.id == "pageable-copy"
    assert first.gain == first.share == pytest.approx(260 / 270, rel=0.01)
    assert first.fix[0] == "keep the data on the device"


@pytest.mark.parametrize(
    ("size", "shares"),
    # By hand, of a turn of 4 ms: 3 ms of copies, of which 1 ms of kernels could hide 1 ms.
    [(64 << 20, {"copy-engine-bound": 0.5, "serialised-copy": 0.25}), (16 << 20, None)],
)
def test_copies_before_their_kernels_divide_by_what_kernels_could_hide(
    size: int, shares: dict[str, float] | None
) -> None:
    program = Program()
    for _ in range(TURNS):
        program.copy(size, 3 * MS, "Pinned")
        program.launch(1 * MS)
    found = {each.id: each for each in diagnosed(program).findings}
    # Copies that are slower than the link could become faster: all of their time is at stake.
    for name, share in (shares or {"serialised-copy": 0.75}).items():
        assert found[name].gain == pytest.approx(share, abs=0.05)  # less the first copy
    assert ("copy-engine-bound" in found) == (shares is not None)


def test_idle_time_until_managed_pages_move_asks_for_page_faults() -> None:
    """The host reads the result page by page after the kernel: no call moves them."""
    program = Program()
    program.launch(1 * MS)
    program.synchronise()
    for _ in range(30):
        program.work(100 * US)
        program.move_page(2 << 20, 20 * US)
    first = diagnosed(program).findings[0]
    assert first.id == "abstain"
    assert [advice for advice in first.next if "page faults" in advice]
    assert not [advice for advice in first.next if "host calls" in advice]
    idle = {each.metric: each.value for each in first.evidence}
    told = idle["idle until pages of managed memory moved"]
    assert told == pytest.approx(100 * 30 * 100 / (1000 + 30 * 120), rel=0.02)


def test_a_program_that_still_reserves_memory_is_not_steady() -> None:
    program = Program()
    for _ in range(30):
        program.launch(100 * US)
        program.synchronise()
        program.call("cudaMalloc", 1 * MS)
    first = diagnosed(program).findings[0]
    assert first.id == "abstain"
    idle = {each.metric: each.value for each in first.evidence}
    assert idle["idle while memory is reserved and kept"] == pytest.approx(90, abs=2)
    assert first.share == pytest.approx(0.9, abs=0.02)
    assert len(first.next) == 1


def test_a_single_operation_is_no_gpu_that_does_not_compute() -> None:
    program = Program()
    program.launch(1 * MS)
    first = diagnosed(program).findings[0]
    assert first.id == "abstain"
    assert "too few operations" in first.title
    assert (first.evidence[0].metric, first.evidence[0].value) == ("operations on the GPU", 1)


def test_a_capture_without_gpu_work_says_that_no_call_launched_any() -> None:
    program = Program()
    program.call("cudaGetDeviceProperties", 1 * US)
    (only,) = diagnosed(program).findings
    assert only.id == "abstain"
    assert only.where == "the captures: none of 1 host calls launched any"
    assert only.next == ("record while the workload runs on the GPU",)


def test_a_wait_that_a_busy_host_could_not_use_is_host_code() -> None:
    program = Program()
    for _ in range(TURNS):
        program.launch(200 * US)
        program.synchronise()
        program.work(900 * US)
    assert diagnosed(program).findings[0].id == "host-bound"


def steps(run: Callable[[Program], None]) -> Program:
    """Return three steps as this project records them: each waits for the device at its end."""
    program = Program()
    for _ in range(3):
        program.work(2 * MS)
        with program.marked("step:made"):
            run(program)
            program.synchronise("cudaDeviceSynchronize")
    return program


def test_between_measured_steps_and_at_their_start_nothing_is_lost() -> None:
    def short(program: Program) -> None:
        program.launch(2 * US, "copy")
        program.work(8 * US)
        program.launch(4 * US, "kernel")

    assert diagnosed(steps(short)).findings[0].id == "healthy"


def test_the_first_and_the_last_copy_of_a_pipeline_cannot_be_hidden() -> None:
    def pipeline(program: Program) -> None:
        program.copy(BATCH, 900 * US, "Pinned", stream=8)
        for _ in range(8):
            program.wait_for(program.ends)
            program.copy(BATCH, 900 * US, "Pinned", stream=8)
            program.launch(1 * MS)

    first, *rest = diagnosed(steps(pipeline)).findings
    assert first.id == "healthy"
    assert [each.id for each in rest if each.stake >= 0.05] == []


def test_memory_from_the_driver_is_named_although_the_host_works_after_each_wait() -> None:
    program = Program()
    for _ in range(TURNS):
        program.call("cuMemAlloc_v2", 80 * US)
        program.work(50 * US)
        for _ in range(3):
            program.launch(50 * US)
            program.work(15 * US)
        program.synchronise("cuMemFree_v2")
    assert diagnosed(program).findings[0].id == "allocator-churn"


def test_a_single_long_gap_is_no_pattern() -> None:
    program = Program()
    for turn in range(TURNS):
        if turn == TURNS // 2:
            program.work(100 * MS)
        program.launch(1 * MS)
    assert diagnosed(program).findings[0].id == "abstain"


def test_what_compiles_once_at_the_start_is_warm_up() -> None:
    program = Program()
    for name in ("a", "b", "c"):
        program.work(20 * MS)
        program.call("cuLibraryLoadData", 2 * MS)
        program.launch(1 * MS, name)
    for _ in range(TURNS):
        for name in ("a", "b", "c"):
            program.launch(1 * MS, name)
    assert diagnosed(program).findings[0].id == "healthy"


ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(["work", "kernel", "nccl", "copy", "wait", "malloc", "load", "range"]),
        st.integers(1, 3000),
        st.sampled_from([7, 8]),
        st.booleans(),
    ),
    min_size=1,
    max_size=15,
)


@settings(max_examples=60)
@given(ACTIONS, st.integers(1, 6))
def test_no_time_is_explained_twice(actions: list[tuple[str, int, int, bool]], turns: int) -> None:
    program = Program()
    program.launch(1 * US)
    for action, us, stream, other in actions * turns:
        if action == "work":
            program.work(us * US)
        elif action in ("kernel", "nccl"):
            name = "ncclDevKernel_AllReduce" if action == "nccl" else f"kernel {us % 2}"
            program.launch(us * US, name, stream, f"{us % 200},1,1", behind_all=other)
        elif action == "copy":
            program.copy(us << 10, us * US, "Pageable" if other else "Pinned", stream=stream)
        elif action == "range":
            with program.marked("load data"):
                program.work(us * US)
        elif action == "wait":
            program.synchronise()
        else:
            names = {"malloc": ("cudaMalloc", "cudaFree"), "load": ("cuModuleLoadData", "cuInit")}
            program.call(names[action][other], us * US)
    findings = diagnosed(program).findings
    assert findings
    apart = [each for each in findings if each.id not in ("stream-serialised", "graph-opaque")]
    assert sum(each.share or 0.0 for each in apart) <= 1 + 1e-9
    assert all(0 <= (each.gain or 0.0) <= (each.share or 0.0) + 1e-9 for each in findings)


def test_all_findings_on_timelines_are_tried_here() -> None:
    assert known_findings.TIMELINE.kinds().keys() == PROGRAMS.keys() | {
        *("straggler", "expert-imbalance", "pipeline-bubble"),  # test_ranks.py, test_turns.py
    }


@pytest.mark.parametrize(("kernel_ns", "listed"), [(300 * US, False), (100 * US, True)])
def test_a_cause_that_costs_too_little_to_matter_is_not_listed(
    kernel_ns: int, listed: bool
) -> None:
    program = Program()
    for _ in range(40):
        program.launch(kernel_ns)
        program.synchronise()  # 10 µs until the next kernel starts: 3 or 9 % of the time
    names = [each.id for each in conclude.diagnose([program.capture()]).findings]
    assert names == (["host-sync"] if listed else ["healthy"])


def grids(number: int, length: int, name: str = "kernel") -> tuple[Finding, ...]:
    """Return the findings on kernels of four blocks that run on so many streams at once."""
    program = Program()
    for _ in range(TURNS):
        for stream in range(number):
            program.launch(length, name=name, stream=7 + stream, grid="4,1,1")
    return diagnosed(program).findings


@pytest.mark.parametrize(
    ("number", "length", "name", "first"),
    [
        (1, 400 * US, "kernel", "small-grid"),
        (16, 400 * US, "kernel", "healthy"),  # side by side they have 64 blocks
        (1, 9 * US, "kernel", "healthy"),  # about as long as a launch
        (1, 400 * US, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "abstain"),
    ],
)
def test_a_small_grid_is_one_that_runs_alone_and_long_and_computes(
    number: int, length: int, name: str, first: str
) -> None:
    assert grids(number, length, name)[0].id == first


def test_a_few_serialised_kernels_do_not_hide_a_small_grid() -> None:
    program = Program()
    for _ in range(TURNS):
        program.launch(10 * MS, grid="1,1,1")
        for stream in range(8, 12):
            program.launch(20 * US, stream=stream, grid="8,1,1", behind_all=True)
    first = diagnosed(program).findings[0]
    assert first.id == "small-grid"
    assert first.share == pytest.approx(10 / 10.08, abs=0.02)


def test_the_small_kernel_that_is_named_is_one_that_runs_alone() -> None:
    program = Program()
    for _ in range(TURNS):
        program.launch(1 * MS, name="large", stream=8, grid="4096,1,1", behind_all=True)
        program.launch(1 * MS, name="beside", grid="1,1,1")
        program.launch(300 * US, name="alone", grid="2,1,1", behind_all=True)
    (found,) = (each for each in diagnosed(program).findings if each.id == "small-grid")
    assert found.evidence[1].metric.startswith("blocks of alone")
    assert found.share == pytest.approx(0.3 / 1.3, abs=0.03)


@pytest.mark.parametrize(
    ("name", "recorded", "blocks", "named"),
    [
        ("NVIDIA A100-SXM4-80GB", None, 27, True),  # a quarter of 108, by the datasheet
        ("NVIDIA A100-SXM4-80GB", None, 28, False),
        ("NVIDIA A100-SXM4-80GB", 42, 20, False),  # a slice of it, as recorded
        ("NVIDIA of a kind to come", None, 10, True),  # a quarter of the fewest likely, 40
        ("NVIDIA of a kind to come", None, 11, False),
        ("NVIDIA GeForce RTX 3070 Ti", 46, 10, True),
    ],
)
def test_a_quarter_of_the_multiprocessors_as_recorded_or_by_the_datasheet_is_small(
    name: str, recorded: int | None, blocks: int, *, named: bool
) -> None:
    program = Program()
    for _ in range(TURNS):
        program.launch(1 * MS, grid=f"{blocks},1,1")
    capture = program.capture()
    devices = evidence.empty("devices")
    row = pl.DataFrame({"device": [0], "name": [name], "multiprocessors": [recorded]})
    capture.tables["devices"] = pl.concat([devices, row], how="diagonal_relaxed")
    found = [each for each in conclude.diagnose([capture]).findings if each.id == "small-grid"]
    assert bool(found) == named
    if found:
        room = recorded or {"NVIDIA A100-SXM4-80GB": 108}.get(name, 40)
        assert found[0].gain == pytest.approx(found[0].share * (1 - blocks / room))  # type: ignore[operator]


def test_one_thread_on_a_whole_gpu_is_named() -> None:
    captures = door.capture(DATA / "torch" / "one_thread.json.gz").captures.values()
    first = conclude.diagnose(list(captures)).findings[0]
    assert first.id == "small-grid"
    assert first.evidence[1].metric == "blocks of gemm, of 1 thread each"
    assert first.evidence[1].value == 1
    assert first.gain == pytest.approx(0.98 * (1 - 1 / 132), abs=0.002)
