"""Stems of kernel names as nsys and torch print them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.analysis.diff.names import changed_words, stem

VECTORIZED = "void at::native::vectorized_elementwise_kernel<{}, {}, std::array<char*, 2ul> >(int)"
TANH = "at::native::tanh_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}::operator()() const"
SPLIT_K = "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_{}_ffma_aligna4_alignc4_execute_split_k_kernel"
CUTLASS = "cutlass_80_tensorop_bf16_s16816gemm_bf16_{}_tn_align{}"
MANGLED = "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11{}IfEESt5arrayIPcLm1EEEEviT0_T1_"

ONE_KERNEL = {
    "tile and cluster": (
        "nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT",
        "nvjet_sm90_tst_256x8_64x6_2x1_v_bz_TNT",
    ),
    "split-K tile": (
        "nvjet_sm90_tst_128x8_64x12_2x1_v_bz_splitK_TNT",
        "nvjet_sm90_tst_64x16_64x16_2x1_v_bz_splitK_TNT",
    ),
    "tilesize, stage, warpsize": (
        SPLIT_K.format("tilesize64x64x8_stage3_warpsize1x4x1"),
        SPLIT_K.format("tilesize32x32x8_stage4_warpsize1x2x1"),
    ),
    "cutlass on its own": (CUTLASS.format("64x64_64x6", 8), CUTLASS.format("256x128_32x3", 4)),
    "cutlass in its wrapper": (
        f"void cutlass::Kernel2<{CUTLASS.format('64x64_64x6', 8)}>(T1::Params)",
        f"void cutlass::Kernel2<{CUTLASS.format('256x128_32x3', 8)}>(T1::Params)",
    ),
    "width of the vector": (
        VECTORIZED.format(4, "at::native::FillFunctor<float>"),
        VECTORIZED.format(8, "at::native::FillFunctor<c10::BFloat16>"),
    ),
    "nsys and torch": (
        "void at::native::vectorized_elementwise_kernel<(int)4, at::native::tanh_kernel_cuda(at::"
        "TensorIteratorBase &)::[lambda() (instance 2)]::operator ()() const>(int, T2, T3)",
        VECTORIZED.format(4, TANH),
    ),
    "running number": ("triton_poi_fused_add_mul_3", "triton_poi_fused_add_mul_11"),
    "number or none": (
        "triton_red_fused__to_copy_mm_mul_t_0",
        "triton_red_fused__to_copy_mm_mul_t",
    ),
    "hash": ("gemm_0a1b2c3d4e5f6789_tn", "gemm_ffeeddcc00112233_tn"),
    "template arguments": ("void f<int, 4>(int*)", "void f<float, 8>(float*)"),
}

OTHER_KERNELS = {
    "functor": (VECTORIZED.format(4, "FillFunctor<float>"), VECTORIZED.format(4, TANH)),
    "operator in a functor": (
        VECTORIZED.format(
            4, "BinaryFunctor<float, float, float, binary_internal::MulFunctor<float> >"
        ),
        VECTORIZED.format(
            4, "BinaryFunctor<float, float, float, binary_internal::DivFunctor<float> >"
        ),
    ),
    "layout": ("nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT", "nvjet_sm90_tst_64x8_64x16_4x1_v_bz_NNT"),
    "split-K or not": (
        "nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT",
        "nvjet_sm90_tst_64x8_64x16_4x1_v_bz_splitK_TNT",
    ),
    "what is fused": ("triton_poi_fused_add_3", "triton_poi_fused_mul_3"),
    "namespace": ("void a::kernel<1>(int)", "void b::kernel<1>(int)"),
    "architecture": ("nvjet_sm90_tst_64x8_64x16_v", "nvjet_sm100_tst_64x8_64x16_v"),
    "element type": ("sm80_xmma_gemm_f32f32_f32_nn", "sm80_xmma_gemm_f16f16_f32_nn"),
    "mangled functor": (MANGLED.format("FillFunctor"), MANGLED.format("SqrtFunctor")),
    "word that looks like no hash": ("gemm_deadbeef_tn", "gemm_12345678_tn"),
}


@pytest.mark.parametrize("pair", ONE_KERNEL.values(), ids=ONE_KERNEL)
def test_what_tuning_and_compiling_vary_is_not_in_the_stem(pair: tuple[str, str]) -> None:
    assert stem(pair[0]) == stem(pair[1])


@pytest.mark.parametrize("pair", OTHER_KERNELS.values(), ids=OTHER_KERNELS)
def test_kernels_that_compute_something_else_have_other_stems(pair: tuple[str, str]) -> None:
    assert stem(pair[0]) != stem(pair[1])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("", ""),
        ("   ", ""),
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL", "ncclDevKernel_AllReduce_Sum_f32_RING_LL"),
        ("triton_per_fused_mean_17", "triton_per_fused_mean"),
        ("nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT", "nvjet_sm90_tst_v_bz_TNT"),
        ("void ns::f<int>(int)", "ns::f"),
        ("graph 12", "12"),
        ("[CUDA graph 12]", "[CUDA graph]"),
    ],
)
def test_stems_by_hand(name: str, expected: str) -> None:
    assert stem(name) == expected


@given(st.text(max_size=80))
def test_any_text_has_a_stem_without_a_tile(name: str) -> None:
    assert stem(f"gemm_{name}_64x32") == stem(f"gemm_{name}_128x16")
    assert isinstance(stem(name), str)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("f<4, float>", "f<2, float>", ("4", "2")),
        ("nvjet_64x8_4x1_TNT", "nvjet_128x8_2x1_TNT", ("64x8_4x1", "128x8_2x1")),
        ("gemm_tn", "gemm_splitK_tn", ("", "splitK")),
        ("gemm_splitK_tn", "gemm_tn", ("splitK", "")),
        ("f<float>", "f<c10::BFloat16>", ("float", "c10::BFloat16")),
        ("same<1>", "same<1>", ("", "")),
        ("", "new", ("", "new")),
        ("", "", ("", "")),
    ],
)
def test_changed_words_by_hand(before: str, after: str, expected: tuple[str, str]) -> None:
    assert changed_words(before, after) == expected


@given(*[st.text(alphabet="ab1_<>, ", max_size=20)] * 2)
def test_changed_words_stand_in_their_names_and_are_none_only_between_equal_ones(
    before: str, after: str
) -> None:
    old, new = changed_words(before, after)
    assert old in before
    assert new in after
    if before == after:
        assert (old, new) == ("", "")
    elif (old, new) == ("", ""):  # only separators differ
        assert [word for word in before if word not in "_, "] == [
            word for word in after if word not in "_, "
        ]
