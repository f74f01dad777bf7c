"""Kernel families and short names, on names that profilers really printed."""

import csv
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.analysis.kernels import family, short_name, short_names
from tests.support.paths import DATA

FAMILIES = {
    "gemm": [
        "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT",
        "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize64x64x8_stage3_warpsize1x4x1_ffma_aligna4"
        "_alignc4_execute_split_k_kernel__5x_cublas",
        "void cutlass::Kernel2<cutlass_80_simt_sgemm_256x128_8x4_nn_align1>(T1::Params)",
        "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_tn",
        "volta_sgemm_64x64_nt",
        "void cublasLt::splitKreduce_kernel<32, 16, int, float, float, float, float, true, true,"
        " false>(cublasLt::cublasSplitKParams<float>, float const*, float const*, float*)",
        "gemm_splitK_INT_kernel",
        "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT128x128x64_MI16x16x1_SN_LDSB1",
        "void ck::kernel_gemm_xdl_cshuffle_v3<ck::GridwiseGemm_xdl_cshuffle_v3<int>, true>(int)",
        "_ZN5aiter37fmoe_bf16_pertokenFp8_g1u1_vs_silu_1tg_32x256E",
    ],
    "gemv": ["gemv_INT_revsplitK_kernel", "void gemvNSP_kernel<__nv_bfloat16, float>(int)"],
    "attention": [
        "void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<(int)128, (int)128, (int)64, (int)4,"
        " (bool)0, (bool)0, cutlass::bfloat16_t>, (bool)0>(flash::Flash_fwd_params)",
        "void cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnFwdSm90<int>>>(T1::Params)",
        "fmhaSm100aKernel_QkvE4m3OBfloat16H64PagedKvCausalP16VarSeqQ128Kv128PersistentContext",
        "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_31_64x128x64_kernel0_0",
        "kernel_unified_attention_2d",
        "void paged_attention_ll4mi_QKV_mfma16_kernel<0, __hip_bfloat16, __hip_bfloat16>(int)",
        "void ck_tile::kentry<256, 2, ck_tile::FmhaFwdKernel<int>>(int)",
        "_ZN5aiter24fmha_fwd_hd128_bf16_causalE",
        "aiter::mla_a16w16_qh16_m16x4_n16x1_coex0_mask1",
        "aiter::pa_bf16_pertokenFp8_gqa8_1tg_4w",
    ],
    "triton: pointwise": ["triton_poi_fused__scaled_dot_product_flash_attention_1"],
    "triton: reduction": ["triton_red_fused__to_copy_mean_2"],
    "triton: persistent reduction": ["triton_per_fused__softmax_0"],
    "triton: template": ["triton_tem_fused_mm_3"],
    "convolution": [
        "void cudnn::cnn::reduce_wgrad_nchw_helper<float, float>(void*, void const*, float, int)",
        "cudnn_infer_volta_scudnn_128x64_relu_medium_nn_v1",
        "_ZN2ck16tensor_operation6device37kernel_batched_gemm_xdlops_bwd_weightINS_47GridwiseGemm",
        "miopenSp3AsmConv_v30_3_1_gfx9_fp32_f2x3_stride1",
    ],
    "communication": [
        "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<(unsigned long)4096>)",
        "void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>"
        "(c10::BFloat16*, unsigned long, unsigned int**, unsigned long, unsigned long)",
        "ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)",
        "void aiter::cross_device_reduce_2stage<__hip_bfloat16, 8>(aiter::RankData*, int)",
    ],
    "elementwise": [
        "void at::native::vectorized_elementwise_kernel<(int)4, at::native::<unnamed>::"
        "launch_clamp_scalar(at::TensorIteratorBase &, c10::Scalar)::[lambda() (instance 1)]>(int)",
        "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native"
        "::(anonymous namespace)::masked_fill_kernel(at::TensorIterator&, c10::Scalar const&)::"
        "{lambda()#1}>(at::TensorIteratorBase&)::{lambda(int)#1}>(int)",
        "SubTensorOpWithCastTensor1d",
        "_ZN7sgl_hip10activation18act_and_mul_kernelI14__hip_bfloat16TnPFT_RKS3_EXadL_Z4siluIS2_",
    ],
    "cast/copy": [
        "void at::native::elementwise_kernel<(int)128, (int)4, void at::native::"
        "gpu_kernel_impl_nocast<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase &)::"
        "[lambda() (instance 3)]::operator ()() const>(int, T3)>",
        "void at::native::vectorized_elementwise_kernel<(int)8, at::native::"
        "bfloat16_copy_kernel_cuda(at::TensorIteratorBase &)::[lambda(float) (instance 1)]>(int)",
    ],
    "reduce": [
        "void at::native::reduce_kernel<(int)512, (int)1, at::native::ReduceOp<float, at::native::"
        "MeanOps<float, float, float, float>, unsigned int, float, (int)4, (int)4>>(T3)"
    ],
    "fill/memset": [
        "void at::native::vectorized_elementwise_kernel<(int)4, at::native::FillFunctor<unsigned"
        " char>, std::array<char *, (unsigned long)1>>(int, T2, T3)"
    ],
    "index/gather": ["void at::native::vectorized_gather_kernel<16, long>(char*, char*, long*)"],
    "softmax": ["void <unnamed>::softmax_warp_forward<c10::BFloat16, c10::BFloat16>(T2 *, int)"],
    "norm": [
        "std::enable_if<(((8)>(0)))&&vllm::_typeConvert<c10::BFloat16>::exists, void>::type"
        " vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*, long)",
        "_ZN7ck_tile6kentryILi1ENS_12Rmsnorm2dFwdINS_27Rmsnorm2dFwdPipelineOnePassINS_27Rmsnorm2d",
    ],
    "sort/topk": [
        "void at::native::sbtopk::gatherTopK<float, unsigned int, 2, false>(int)",
        "void rocprim::ROCPRIM_304_NS::detail::radix_sort_block_sort_kernel<rocprim::detail>(int)",
    ],
    "random": [
        "void at::native::<unnamed>::distribution_elementwise_grid_stride_kernel<float, (int)4>(T1)"
    ],
    "other": ["add_one(const float *, float *, int)"],
}

SHORT = {
    FAMILIES["gemm"][2]: "Kernel2<cutlass_80_simt_sgemm_256x128_8x4_nn_align1>",
    FAMILIES["attention"][0]: "flash_fwd_kernel",
    FAMILIES["elementwise"][0]: "vectorized_elementwise_kernel<launch_clamp_scalar>",
    FAMILIES["cast/copy"][0]: "elementwise_kernel<direct_copy_kernel_cuda>",
    FAMILIES["reduce"][0]: "reduce_kernel<MeanOps>",
    FAMILIES["norm"][0]: "fused_add_rms_norm_kernel",
    "void internal::gemvx::kernel<int, int, float>(T1)": "gemvx::kernel",
    "nvjet_tst_64x8": "nvjet_tst_64x8",
}


@pytest.mark.parametrize(
    ("expected", "name"), [(each, name) for each, names in FAMILIES.items() for name in names]
)
def test_family_of_real_names(expected: Any, name: str) -> None:
    assert family(name) == expected


@pytest.mark.parametrize(("name", "expected"), SHORT.items())
def test_short_names_keep_the_function_and_its_functor(name: str, expected: Any) -> None:
    assert short_name(name) == expected


def test_every_kernel_of_the_real_captures_has_a_family_and_a_name_of_its_own() -> None:
    names = set()
    for path in DATA.glob("nsys/*_cuda_gpu_kern_sum.csv"):
        with path.open(newline="") as file:
            names |= {row["Name"] for row in csv.DictReader(file)}
    assert names
    assert "other" not in {family(name) for name in names}
    shortened = short_names(sorted(names), 40)
    assert len(set(shortened.values())) == len(names)


def test_a_name_that_is_too_long_keeps_both_ends() -> None:
    name = "nvjet_" + "x" * 100 + "_TNN"
    assert short_name(name, 15) == "nvjet_x…xxx_TNN"


names = st.one_of(
    st.text(max_size=40),
    st.text("ab<>()[]{}:,# ", max_size=40),
    st.sampled_from([name for group in FAMILIES.values() for name in group]),
)


@given(st.lists(names, max_size=12), st.integers(12, 60))
def test_no_two_names_become_one_and_none_is_too_long(given_names: Any, limit: int) -> None:
    shortened = short_names(given_names, limit)
    assert set(shortened) == set(given_names)
    assert len(set(shortened.values())) == len(shortened)
    assert all(len(short) <= limit for short in shortened.values())


@given(names)
def test_any_text_has_a_family(name: str) -> None:
    assert family(name)
