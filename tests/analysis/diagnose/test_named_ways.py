"""What a program does, known by its kernels: trials of an autotuner, updates of one tensor each."""

from dataclasses import replace
from typing import Any

import pytest

from harness.analysis import trials
from harness.analysis.diagnose import conclude, optimizer
from harness.analysis.diagnose.finding import Finding
from harness.analysis.idle import recording_cost
from tests.support.programs import MS, US, Program

FILL = "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<int>, …>"
DIVIDE = "void at::native::vectorized_elementwise_kernel<4, at::native::addcdiv_cuda_kernel…>"


def first(program: Program) -> Finding:
    return conclude.diagnose([program.capture()]).findings[0]


def tune(program: Program, runs: int = 40, fill_ns: int = 80 * US, name: str = "softmax") -> None:
    for _ in range(runs):
        program.launch(fill_ns, FILL)
        program.launch(20 * US, name)


@pytest.mark.parametrize("turns", [1, 2, 3, 8])
def test_trials_in_every_step_are_named_and_those_before_the_loop_are_not(turns: int) -> None:
    program = Program()
    for _ in range(turns):
        tune(program)
        program.launch(200 * US, "gemm")
    for _ in range(20):
        program.launch(200 * US, "gemm")
    found = first(program)
    assert (found.id == "compile-in-loop") == (turns >= 3)
    if turns >= 3:
        trying = turns * 40 * (80 + 20 + 2) * US  # a stream needs 1 µs from one kernel to the next
        assert found.gain == pytest.approx(trying / program.ends, rel=0.05)
        assert "softmax" in found.evidence[1].metric
        assert found.evidence[2].value == turns * 40


@pytest.mark.parametrize(
    "turn",
    [
        [{"runs": 4}],
        [{"fill_ns": 5 * US}],  # a buffer that fits the cache
        [{"runs": 1, "name": name} for name in "abcdefgh"],
    ],
)
def test_fills_beside_kernels_are_no_trials(turn: list[dict[str, Any]]) -> None:
    program = Program()
    for _ in range(10):
        for tried in turn:
            tune(program, **tried)
        program.launch(200 * US, "gemm")
    assert trials.of(program.capture().tables["gpu_ops"]).is_empty()
    assert first(program).id == "healthy"


@pytest.mark.parametrize(("name", "named"), [(DIVIDE, True), ("multi_tensor_apply addcdiv", False)])
def test_updates_of_one_tensor_each_are_named_with_their_fix(
    name: str, named: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # No profiler slows a simulated host.
    monkeypatch.setattr(recording_cost, "OF_NSYS", recording_cost.Part(0, 0, 0))
    program = Program()
    for _ in range(30):
        program.launch(400 * US, "gemm")
        for _ in range(50):
            for kernel in (*["mul"] * 6, name):
                program.work(8 * US)
                program.launch(2 * US, kernel)
    found = first(program)
    told = [each for each in found.evidence if "optimiser" in each.metric]
    assert (optimizer.FIX in found.fix) == bool(told) == named
    for each in told:
        running = 30 * (400 + 50 * 7 * 2) * US
        assert each.value / 100 == pytest.approx(1 - running / program.ends, rel=0.05)


SCALE = "void at::native::vectorized_elementwise_kernel<4, at::native::BUnaryFunctor<…>>"
MASK = "void at::native::elementwise_kernel<128, 4, …masked_fill_kernel(…)>"
CAST = "void at::native::vectorized_elementwise_kernel<8, at::native::bfloat16_copy_kernel_cuda…>"
SOFTMAX = "void (anonymous namespace)::softmax_warp_forward<float, float, float, 11, false, false>"
LOSS = "void at::native::cunn_SoftMaxForward<4, …LogSoftMaxForwardEpilogue>"
PRODUCT = "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT"
ATTENTION = "Attention runs as separate kernels"
FORMATS = "converting tensors from one number format"
COPIES = "copying tensors within the GPU"
COPIED = "void at::native::elementwise_kernel<…gpu_kernel_impl_nocast<…direct_copy_kernel_cuda(…)>"
CAST_COPY = "void …direct_copy_kernel_cuda(…)…, at::native::memory::LoadWithCast<1>"
JOINED = "void at::native::(anonymous namespace)::CatArrayBatchedCopy<…>"


@pytest.mark.parametrize(
    ("chain", "title", "part"),
    [
        ((PRODUCT, SCALE, MASK, SOFTMAX, PRODUCT), ATTENTION, 3 / 5),
        ((PRODUCT, SCALE, SOFTMAX, CAST, "flash_fwd_kernel"), None, 0),  # of a router, say
        ((PRODUCT, LOSS, "nll_loss_forward_reduce_cuda_kernel_2d", PRODUCT), None, 0),
        ((CAST, PRODUCT, CAST, PRODUCT), FORMATS, 2 / 4),
        ((CAST, PRODUCT, PRODUCT, PRODUCT, PRODUCT), None, 0),
        ((COPIED, JOINED, PRODUCT), COPIES, 2 / 3),
        (("[CUDA memcpy Device-to-Device]",) * 2 + (PRODUCT,), COPIES, 2 / 3),
        (("Memcpy DtoD (Device -> Device)",) * 3 + (PRODUCT,), COPIES, 3 / 4),
        (("Memcpy DtoD (Device -> Device)", PRODUCT, PRODUCT), None, 0),
        ((CAST_COPY, PRODUCT), FORMATS, 1 / 2),
        (("multi_bluestein_fft", "vector_fft", PRODUCT), "large prime factor", 1 / 3),
    ],
)
def test_passes_over_scores_and_conversions_are_named_by_their_place(
    chain: tuple[str, ...], title: str | None, part: float
) -> None:
    program = Program()
    for _ in range(20):
        for name in chain:
            program.launch(100 * US, name)
    found = first(program)
    if title is None:
        assert found.id == "healthy"
    else:
        assert found.id == "slow-kernel"
        assert title in found.title
        assert found.gain == pytest.approx(part, abs=0.02)


def test_passes_are_known_on_each_stream_and_beside_memsets() -> None:
    program = Program()
    for _ in range(20):
        for name in (PRODUCT, MASK, SOFTMAX, PRODUCT):
            program.launch(100 * US, name, stream=7)
            program.launch(100 * US, PRODUCT, stream=8)
    assert ATTENTION in first(program).title


@pytest.mark.parametrize(("gaps", "named"), [(1, "abstain"), (2, "data-starved")])
def test_a_loader_of_several_workers_is_waited_for_once_in_several_steps(
    gaps: int, named: str
) -> None:
    program = Program()
    for turn in range(gaps * 8):
        if turn % 8 == 4:
            program.wait("sem_clockwait", 40 * MS)
        program.launch(2 * MS)
    assert first(program).id == named


@pytest.mark.parametrize(
    ("kind", "work_ns", "named"),
    [
        ("nsys", 90 * US, "host-bound"),
        ("torch", 90 * US, "healthy"),  # 8 % of the time: torch's profiler may cost that
        ("torch", 150 * US, "host-bound"),
    ],
)
def test_idle_time_that_recording_may_cost_is_not_named(
    kind: str, work_ns: int, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    none = recording_cost.Part(0, 0, 0)
    monkeypatch.setattr(recording_cost, "OF_NSYS", none)
    monkeypatch.setattr(recording_cost, "OF_TORCH", (none, none, none))
    program = Program()
    for _ in range(40):
        program.launch(1 * MS)
        program.work(1 * MS + work_ns)  # until the kernel has ended, and longer
    capture = replace(program.capture(), kind=kind)
    assert conclude.diagnose([capture]).findings[0].id == named


@pytest.mark.parametrize(
    ("product", "us", "named"),
    [
        ("tensorop_bf16_s16816gemm_bf16_256x128_64x3_tn_align2", 30, True),
        ("tensorop_f16_s16816gemm_f16_128x128_64x3_nt_align4", 30, True),
        ("tensorop_bf16_s16816gemm_bf16_256x128_64x3_tn_align8", 30, False),
        ("tensorop_s1688gemm_128x128_16x5_nn_align1", 30, True),
        ("tensorop_s1688gemm_128x128_16x5_nn_align4", 30, False),
        ("simt_sgemm_128x64_8x5_nn_align1", 30, False),  # such kernels have no other alignment
        ("tensorop_bf16_s16816gemm_bf16_256x128_64x3_tn_align2", 8, False),  # a narrow head
    ],
)
def test_products_of_an_odd_width_are_named(product: str, us: int, named: bool) -> None:
    program = Program()
    for _ in range(40):
        program.launch(100 * US, PRODUCT)
        program.launch(us * US, f"void cutlass::Kernel2<cutlass_80_{product}>(T1::Params)")
    found = first(program)
    assert (found.title.startswith("Products have an odd width")) == named
    if named:
        assert found.gain == pytest.approx(us / (100 + us), rel=0.05)
