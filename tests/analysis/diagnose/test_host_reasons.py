"""What the host did while the GPU waited for it, each cause beside a program that lacks it."""

from collections.abc import Callable, Sequence

import pytest

from harness.analysis.diagnose import conclude
from harness.analysis.diagnose.finding import Finding
from harness.analysis.idle import graph_captures, recording_cost
from tests.support.programs import MS, US, Program

NONZERO = "void cub::DeviceReduceSingleTileKernel<…, at::native::NonZeroOp<bool>, …>"
ANY = "void at::native::reduce_kernel<512, 1, at::native::or_kernel_cuda(…)>"
KERNELS = ("gemm", "softmax", "layer_norm", "gelu", "dropout")


@pytest.fixture(autouse=True)
def _no_profiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """No profiler slows a simulated host."""
    monkeypatch.setattr(recording_cost, "OF_NSYS", recording_cost.Part(0, 0, 0))


def first(program: Program) -> Finding:
    return conclude.diagnose([program.capture()]).findings[0]


def steps(between: Callable[[Program], None], count: int = 30) -> Program:
    """Return a program whose host does something between two kernels of each step."""
    program = Program()
    for _ in range(count):
        program.launch(2 * MS, "gemm")
        between(program)
        program.launch(1 * MS, "gelu")
    return program


@pytest.mark.parametrize(("part", "named"), [(0.9, True), (0.6, True), (0.3, False)])
def test_operators_on_the_cpu_are_named_where_they_are_most_of_the_host_s_code(
    part: float, *, named: bool
) -> None:
    def between(program: Program) -> None:
        program.synchronise()
        program.work(round((1 - part) * 10 * MS))
        program.compute("aten::sort", round(part * 10 * MS))

    found = first(steps(between))
    assert found.id == "host-bound"
    assert ("operators run on the CPU" in found.title) == named
    told = {each.metric: each.value for each in found.evidence}
    if named:
        assert told["of it in aten::sort, on the CPU"] == pytest.approx(100 * part, abs=2)
        assert not any("torch.compile" in fix for fix in found.fix)


@pytest.mark.parametrize(
    ("lengths", "named"),
    [
        ([5.3, 5.2, 10.5, 5.4], True),  # the switch interval, once twice
        ([5.3, 2.0, 5.2, 5.4], False),  # code of its own is shorter
        ([8.1, 9.0, 7.7, 12.0], False),  # nothing near the interval
    ],
)
def test_waits_of_the_switch_interval_are_the_interpreter_s_lock(
    lengths: Sequence[float], *, named: bool
) -> None:
    program = Program()
    for turn in range(80):
        program.launch(100 * US, KERNELS[turn % len(KERNELS)])
        program.work(round(lengths[turn % len(lengths)] * MS))
    found = first(program)
    assert found.id == "host-bound"
    assert ("interpreter's lock" in found.title) == named


def test_a_few_stretches_of_the_interval_may_be_chance() -> None:
    program = steps(lambda program: program.work(round(8.3 * MS)), count=15)
    assert "interpreter's lock" not in first(program).title


@pytest.mark.parametrize(
    ("directions", "title"),
    [
        (("Device-to-Host", "Host-to-Device"), "works on results"),
        (("Device-to-Host", None), "works on results"),
        ((None, "Host-to-Device"), "makes the inputs"),
        ((None, None), "runs code outside CUDA"),
    ],
)
def test_host_code_is_told_by_the_copies_beside_it(
    directions: tuple[str | None, str | None], title: str
) -> None:
    def between(program: Program) -> None:
        for at, direction in enumerate(directions):
            if at:
                program.synchronise()
                program.work(20 * MS)
            if direction:
                program.copy(1 << 20, 100 * US, "Pinned", direction)

    found = first(steps(between))
    assert found.id == "host-bound"
    assert title in found.title


@pytest.mark.parametrize(
    ("kernel", "title"),
    [
        (NONZERO, "sizes of results that depend on data"),
        (ANY, "whether any value of a tensor is true"),
        ("void at::native::reduce_kernel<512, 1, at::native::sum_functor>", "keeps waiting"),
    ],
)
def test_what_a_host_waits_for_is_known_by_the_kernel_before(kernel: str, title: str) -> None:
    program = Program()
    for _ in range(200):
        program.launch(20 * US, kernel)
        program.copy(8, 2 * US, "Pinned", "Device-to-Host")
        program.synchronise()
        program.work(60 * US)
        program.launch(200 * US, "gemm")
    findings = conclude.diagnose([program.capture()]).findings
    parts = [part for each in findings for part in (each.parts or (each,))]
    (waits,) = [each for each in parts if each.id == "host-sync"]
    assert title in waits.title


@pytest.mark.parametrize(
    ("size", "each", "named"), [(4, 40, True), (4, 3, False), (4096, 40, False)]
)
def test_values_that_are_read_one_by_one_are_counted(size: int, each: int, *, named: bool) -> None:
    program = Program()
    for _ in range(12):
        program.launch(300 * US, "gemm")
        program.launch(200 * US, "softmax")
        for _ in range(each):
            program.launch(10 * US, "void at::native::reduce_kernel<…, at::native::NormTwoOps<…>>")
            program.copy(size, 2 * US, "Pageable", "Device-to-Host")
            program.work(60 * US)
    findings = conclude.diagnose([program.capture()]).findings
    told = [each.metric for finding in findings for each in finding.evidence]
    counts = [metric for metric in told if "single values to the host" in metric]
    assert bool(counts) == named
    if named:
        assert f", {each} per step, most from reduce_kernel<NormTwoOps>" in counts[0]
        assert any("copy them once" in fix for fix in findings[0].fix)


@pytest.mark.parametrize(("size", "named"), [(64, True), (1 << 20, False)])
def test_small_inputs_that_are_copied_one_by_one_are_told(size: int, *, named: bool) -> None:
    program = Program()
    for _ in range(20):
        for _ in range(64):
            program.copy(size, 2 * US, "Pageable")
            program.synchronise()
            program.work(15 * US)
        program.launch(100 * US, "gemm")
    fixes = [fix for each in conclude.diagnose([program.capture()]).findings for fix in each.fix]
    assert any("gather the inputs on the host" in fix for fix in fixes) == named


def capture_graph(program: Program, kernels: int = 40) -> None:
    program.call("cudaStreamBeginCapture", 5 * US)
    for _ in range(kernels):
        program.work(8 * US)
        program.call("cudaLaunchKernel", 3 * US)
    program.call("cudaStreamEndCapture", 100 * US)
    program.call("cudaGraphInstantiate", 2 * MS)


@pytest.mark.parametrize(("each_step", "named"), [(True, True), (False, False)])
def test_graphs_that_are_captured_in_each_step_are_named(each_step: bool, *, named: bool) -> None:
    program = Program()
    capture_graph(program)
    for _ in range(30):
        if each_step:
            capture_graph(program)
        program.launch(20 * US, nodes=40)
        program.synchronise()
    found = first(program)
    assert (found.id == "compile-in-loop") == named
    if named:
        assert "captured" in found.title
        told = {each.metric: each.value for each in found.evidence}
        assert told["CUDA graphs captured"] == pytest.approx(30, abs=1)


def test_a_capture_ends_with_the_instantiation_and_none_counts_without_a_launch() -> None:
    program = Program()
    program.work(1 * MS)
    capture_graph(program, kernels=10)
    assert graph_captures.of(program.tables()["api_calls"]).is_empty()
    program.launch(20 * US, nodes=10)
    (row,) = graph_captures.of(program.tables()["api_calls"]).rows(named=True)
    assert (row["start_ns"], row["duration_ns"]) == (1 * MS, (5 + 10 * 11 + 100 + 2000) * US)


@pytest.mark.parametrize(("turns", "named"), [(1, False), (4, True)])
def test_code_that_is_loaded_to_the_end_is_no_warm_up(turns: int, *, named: bool) -> None:
    program = Program()
    for turn in range(4):
        if turn < turns:
            program.work(400 * MS)
            program.call("cuModuleLoad", 200 * US)
            program.launch(1 * MS, f"triton_{turn}")
        for _ in range(20):
            program.launch(1 * MS, "conv")
            program.launch(1 * MS, "silu")
    found = first(program)
    assert (found.id == "compile-in-loop") == named
    if named:
        assert found.share == pytest.approx(4 * 400 / (4 * 441), abs=0.15)


@pytest.mark.parametrize(("streams", "title"), [(4, "never overlap"), (1, "keeps waiting")])
def test_a_wait_between_two_streams_is_told_from_one_within_a_stream(
    streams: int, title: str
) -> None:
    program = Program()
    for turn in range(120):
        for _ in range(3):
            program.launch(100 * US, stream=7 + turn % streams)
        program.synchronise()
        program.work(20 * US)
    found = first(program)
    assert found.id == "host-sync"
    assert title in found.title
