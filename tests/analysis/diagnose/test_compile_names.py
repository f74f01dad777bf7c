"""Host time in a loop is a compiler's only where its range or its call says so."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from harness.analysis.diagnose import conclude
from harness.captures.torch.read import read
from harness.evidence.tables import frame
from harness.extract import door
from tests.support import programs
from tests.support.paths import DATA
from tests.support.programs import MS, US, Program

TURNS = 40


def first_of(program: Program) -> str:
    return conclude.diagnose([program.capture()]).findings[0].id


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("_compile.compile_inner (dynamo_timed)", "compile-in-loop"),
        ("CachingAutotuner.benchmark_all_configs (dynamo_timed)", "compile-in-loop"),
        ("entire_backward_compile", "compile-in-loop"),
        ("triton.compile", "compile-in-loop"),
        ("Autotuning matmul", "compile-in-loop"),
        ("cudnnFindConvolutionForwardAlgorithmEx", "compile-in-loop"),
        ("Torch-Compiled Region: 0/1", "host-bound"),
        ("TorchDynamo Cache Lookup", "host-bound"),
        ("## Call CompiledFxGraph fol3rwx4w ##", "host-bound"),
        ("torch_compiled_step", "host-bound"),
        ("autotuned matmul", "host-bound"),
        ("cudnnGetConvolutionForwardAlgorithm_v7", "host-bound"),
    ],
)
def test_a_range_that_runs_what_was_compiled_is_no_compilation(name: str, cause: str) -> None:
    program = Program()
    for _ in range(TURNS):
        with program.marked(name):
            program.work(3 * MS)
        program.launch(2 * MS)
    assert first_of(program) == cause


@pytest.mark.parametrize(
    ("call", "duration", "cause"),
    [
        ("cuModuleLoadDataEx", 300 * US, "compile-in-loop"),
        ("cuLibraryGetKernel", 300 * US, "compile-in-loop"),
        ("hipModuleLoadData", 300 * US, "compile-in-loop"),
        ("cuModuleGetFunction", 1 * US, "host-bound"),
    ],
)
def test_host_code_around_a_look_up_that_loads_nothing_is_no_compilation(
    call: str, duration: int, cause: str
) -> None:
    program = Program()
    for _ in range(TURNS):
        program.work(3 * MS)
        program.call(call, duration)
        program.launch(2 * MS)
    assert first_of(program) == cause


def test_host_code_beside_a_range_of_compilation_is_the_compilers_and_guards_are_not() -> None:
    for inside, cause in ((300 * US, "compile-in-loop"), (5 * US, "host-bound")):
        program = Program()
        for _ in range(TURNS):
            program.work(3 * MS)
            with program.marked("build_guards (dynamo_timed)"):
                program.work(inside)
            program.launch(2 * MS)
        assert first_of(program) == cause


def test_benchmark_mode_is_told_by_its_trials() -> None:
    """Of 36 convolutions 6 meet a new shape; the file has 60 waits for an event, all in these."""
    captures = door.capture(DATA / "torch" / "cudnn_benchmark.json.gz").captures.values()
    first = conclude.diagnose([*captures]).findings[0]
    assert first.id == "compile-in-loop"
    assert "benchmark mode" in first.title
    (tried,) = (each.value for each in first.evidence if "in each of 6 calls" in each.metric)
    assert tried == 10


def test_kernels_of_trials_are_part_of_what_benchmark_mode_costs() -> None:
    """By the file 47.4 of 314 ms are in kernels that no trial launches, 12.1 of it conversions."""
    captures = door.capture(DATA / "torch" / "cudnn_benchmark.json.gz").captures.values()
    (first,) = conclude.diagnose([*captures]).findings
    assert first.gain == first.share == pytest.approx(1 - 47.4 / 314, abs=0.003)


def test_code_that_each_of_two_processes_loads_first_is_no_compilation_in_the_loop() -> None:
    """All that the file's two processes load, they load before their second repetition."""
    captures = door.capture(DATA / "nsys" / "processes.sqlite.zst").captures.values()
    diagnosis = conclude.diagnose([*captures])
    assert [each.id for each in diagnosis.findings] == ["abstain"]
    assert diagnosis.step is not None
    assert diagnosis.step.of == "2 processes in turn (6 × step, 6 × period of 3 kernels)"


@pytest.mark.parametrize(("waits", "tried"), [(2, 0), (3, 1)])
def test_a_convolution_that_waits_for_events_tries_algorithms(
    tmp_path: Path, waits: int, tried: int
) -> None:
    def event(category: str, name: str, start: int, duration: int) -> dict[str, object]:
        named = {"cat": category, "name": name, "tid": 1}
        return named | {"ts": start, "dur": duration, "args": {"correlation": start}}

    events = [
        event("cpu_op", "aten::cudnn_convolution", 0, 100),
        event("cpu_op", "aten::cudnn_convolution", 200, 100),
        event("cpu_op", "aten::add", 400, 100),
        *(event("cuda_runtime", "cudaEventSynchronize", 10 * n, 5) for n in range(waits)),
        *(event("cuda_runtime", "cudaDeviceSynchronize", 210 + 10 * n, 5) for n in range(5)),
        *(event("cuda_runtime", "cudaEventSynchronize", 410 + 10 * n, 5) for n in range(5)),
    ]
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(events))
    ranges = read(path)["ranges"]
    assert ranges.select("start_ns", "duration_ns").rows() == [(0, 100_000)] * tried


@pytest.mark.parametrize(("checked_ns", "part"), [(4 * MS, [4.0]), (MS // 2, [])])
def test_guards_are_told_by_their_part_of_the_time(checked_ns: int, part: list[float]) -> None:
    """The program takes 100 ms: 20 gaps of 4 ms, 20 kernels of 1 ms."""
    program = Program()
    for _ in range(20):
        program.launch(1 * MS)
        program.work(5 * MS - programs.LAUNCH)
    capture = program.capture()
    names = ("TorchDynamo Cache Lookup", "aten::add")
    table = {"name": names, "count": (20, 20), "total_ns": (checked_ns, 50 * MS)}
    tables = capture.tables | {"operators": frame("operators", table)}
    (first, *_) = conclude.diagnose([replace(capture, tables=tables)]).findings
    assert first.id == "host-bound"
    told = [each.value for each in first.evidence if "guards" in each.metric]
    assert told == pytest.approx(part, rel=0.05)


ATTENTION = "cudnn_generated_fort_native_sdpa_sm80_flash_fprop_wmma_f16_knob_3_64x64x128"


@pytest.mark.parametrize(("kernel", "named"), [(ATTENTION, True), ("gemm", False)])
def test_code_that_is_loaded_before_cudnn_s_attention_is_built_for_its_lengths(
    kernel: str, *, named: bool
) -> None:
    program = Program()
    for _ in range(TURNS):
        program.call("cuLibraryLoadData", 3 * MS)
        program.launch(2 * MS, kernel)
    first = conclude.diagnose([program.capture()]).findings[0]
    assert first.id == "compile-in-loop"
    assert ("cuDNN builds its attention" in first.title) == named


@pytest.mark.parametrize(("length_us", "ranges"), [(60_000, 1), (100, 0)])
def test_a_long_call_of_cudnn_s_attention_builds_it(
    tmp_path: Path, length_us: int, ranges: int
) -> None:
    operators = {"aten::_cudnn_attention_forward": length_us, "aten::mm": 60_000}
    events = [
        {"cat": "cpu_op", "name": name, "tid": 1, "ts": 100_000 * at, "dur": length}
        for at, (name, length) in enumerate(operators.items())
    ]
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(events))
    names = [f"{name}" for name in read(path)["ranges"]["name"]]
    assert names == ["builds: aten::_cudnn_attention_forward"] * ranges


@pytest.mark.parametrize(
    ("kernel", "records", "named"),
    [
        ("void cudnn::ops::nchwToNhwcKernel<…>", 2, True),
        ("void cudnn::ops::nchwToNhwcKernel<…>", 0, False),  # it loads, and tries nothing
        ("ampere_sgemm_128x64_tn", 2, False),
    ],
)
def test_without_operators_benchmark_mode_is_told_by_runs_timed_one_by_one(
    kernel: str, records: int, *, named: bool
) -> None:
    program = Program()
    for _ in range(TURNS):
        for _ in range(10):
            program.synchronise("cudaDeviceSynchronize")
            program.call("cuLibraryLoadData", 3 * MS)
            for _ in range(records):
                program.call("cudaEventRecord", 2 * US)
            program.launch(100 * US, kernel)
            if records:
                program.synchronise("cudaEventSynchronize")
    found = conclude.diagnose([program.capture()]).findings[0]
    assert found.id == "compile-in-loop"
    assert ("benchmark mode" in found.title) == named
