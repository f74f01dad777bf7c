# AOT ID: ['0_inference']
from ctypes import c_void_p, c_long, c_int
import torch
import math
import random
import os
import tempfile
from math import inf, nan
from cmath import nanj
from torch._inductor.hooks import run_intermediate_hooks
from torch._inductor.utils import maybe_profile
from torch._inductor.codegen.memory_planning import _align as align
from torch import device, empty_strided
from torch._inductor.async_compile import AsyncCompile
from torch._inductor.select_algorithm import extern_kernels
import triton
import triton.language as tl
from torch._inductor.runtime.triton_heuristics import start_graph, end_graph
from torch._C import _cuda_getCurrentRawStream as get_raw_stream

aten = torch.ops.aten
inductor_ops = torch.ops.inductor
_quantized = torch.ops._quantized
assert_size_stride = torch._C._dynamo.guards.assert_size_stride
assert_alignment = torch._C._dynamo.guards.assert_alignment
empty_strided_cpu = torch._C._dynamo.guards._empty_strided_cpu
empty_strided_cpu_pinned = torch._C._dynamo.guards._empty_strided_cpu_pinned
empty_strided_cuda = torch._C._dynamo.guards._empty_strided_cuda
empty_strided_xpu = torch._C._dynamo.guards._empty_strided_xpu
empty_strided_mtia = torch._C._dynamo.guards._empty_strided_mtia
reinterpret_tensor = torch._C._dynamo.guards._reinterpret_tensor
alloc_from_pool = torch.ops.inductor._alloc_from_pool
async_compile = AsyncCompile()
empty_strided_p2p = torch._C._distributed_c10d._SymmetricMemory.empty_strided_p2p


# kernel path: /work/main/runs/1-torchao-float8/20261120-233828/scratch/cache/f8-0.14.1-compiled/inductor/5t/c5taw7johhlpqukpiunth3slribysho5brxrvodhvsbsuzkqw6up.py
# Topologically Sorted Source Nodes: [input_1], Original ATen: [aten.mm, aten._to_copy, aten.mul, aten.t]
# Source node to ATen node mapping:
#   input_1 => convert_element_type, convert_element_type_1, convert_element_type_2, convert_element_type_3, mul, mul_1, permute, sum_1, unsqueeze, unsqueeze_1
# Graph fragment:
#   %arg2_1 : Tensor "bf16[1, 4096][4096, 1]cuda:0" = PlaceHolder[target=arg2_1]
#   %arg0_1 : Tensor "f8e4m3fn[4096, 4096][4096, 1]cuda:0" = PlaceHolder[target=arg0_1]
#   %arg1_1 : Tensor "f32[4096, 1][1, 1]cuda:0" = PlaceHolder[target=arg1_1]
#   %convert_element_type_2 : Tensor "f32[1, 4096][4096, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%arg2_1, torch.float32), kwargs = {})
#   %unsqueeze : Tensor "f32[1, 4096, 1][4096, 1, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.unsqueeze.default](args = (%convert_element_type_2, 2), kwargs = {})
#   %convert_element_type : Tensor "f32[4096, 4096][4096, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%arg0_1, torch.float32), kwargs = {})
#   %mul : Tensor "f32[4096, 4096][4096, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%convert_element_type, %arg1_1), kwargs = {})
#   %convert_element_type_1 : Tensor "bf16[4096, 4096][4096, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%mul, torch.bfloat16), kwargs = {})
#   %permute : Tensor "bf16[4096, 4096][1, 4096]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.permute.default](args = (%convert_element_type_1, [1, 0]), kwargs = {})
#   %convert_element_type_3 : Tensor "f32[4096, 4096][1, 4096]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%permute, torch.float32), kwargs = {})
#   %unsqueeze_1 : Tensor "f32[1, 4096, 4096][4096, 1, 4096]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.unsqueeze.default](args = (%convert_element_type_3, 0), kwargs = {})
#   %mul_1 : Tensor "f32[1, 4096, 4096][4096, 1, 4096]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%unsqueeze, %unsqueeze_1), kwargs = {})
#   %sum_1 : Tensor "f32[1, 4096][4096, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.sum.dim_IntList](args = (%mul_1, [1]), kwargs = {})
#   return %sum_1
triton_red_fused__to_copy_mm_mul_t_0 = async_compile.triton('triton_red_fused__to_copy_mm_mul_t_0', '''
import triton
import triton.language as tl

from torch._inductor.runtime import triton_helpers, triton_heuristics
from torch._inductor.runtime.triton_helpers import libdevice, math as tl_math
from torch._inductor.runtime.hints import AutotuneHint, ReductionHint, TileHint, DeviceProperties
triton_helpers.set_driver_to_gpu()

@triton_heuristics.reduction(
    size_hints={'x': 4096, 'r0_': 4096},
    reduction_hint=ReductionHint.INNER,
    filename=__file__,
    triton_meta={'signature': {'in_ptr0': '*bf16', 'in_ptr1': '*fp8e4nv', 'in_ptr2': '*fp32', 'out_ptr0': '*fp32', 'xnumel': 'i32', 'r0_numel': 'i32', 'XBLOCK': 'constexpr', 'R0_BLOCK': 'constexpr'}, 'device': DeviceProperties(type='cuda', index=0, multi_processor_count=132, cc=90, major=9, regs_per_multiprocessor=65536, max_threads_per_multi_processor=2048, max_threads_per_block=1024, warp_size=32), 'constants': {}, 'native_matmul': False, 'enable_fp_fusion': True, 'launch_pdl': False, 'disable_ftz': False, 'configs': [{(0,): [['tt.divisibility', 16]], (1,): [['tt.divisibility', 16]], (2,): [['tt.divisibility', 16]], (3,): [['tt.divisibility', 16]], (4,): [['tt.divisibility', 16]], (5,): [['tt.divisibility', 16]]}]},
    inductor_meta={'grid_type': 'Grid1D', 'autotune_hints': set(), 'kernel_name': 'triton_red_fused__to_copy_mm_mul_t_0', 'mutated_arg_names': [], 'optimize_mem': True, 'no_x_dim': False, 'atomic_add_found': False, 'num_load': 3, 'num_store': 1, 'num_reduction': 1, 'backend_hash': '91D1D1166449D9E2EB66EB9770C9E2C3B0FEB787341F27FEB4D3F0338DA50336', 'assert_indirect_indexing': True, 'autotune_local_cache': True, 'autotune_pointwise': True, 'autotune_remote_cache': None, 'force_disable_caches': False, 'dynamic_scale_rblock': True, 'max_autotune': False, 'max_autotune_pointwise': False, 'min_split_scan_rblock': 256, 'spill_threshold': 16, 'store_cubin': False, 'deterministic': False, 'force_filter_reduction_configs': False, 'mix_order_reduction_allow_multi_stages': False, 'are_deterministic_algorithms_enabled': False, 'coordinate_descent_tuning': True, 'coordinate_descent_search_radius': 1, 'coordinate_descent_check_all_directions': True, 'tiling_scores': {'x': 49152, 'r0_': 16785408}}
)
@triton.jit
def triton_red_fused__to_copy_mm_mul_t_0(in_ptr0, in_ptr1, in_ptr2, out_ptr0, xnumel, r0_numel, XBLOCK : tl.constexpr, R0_BLOCK : tl.constexpr):
    xnumel = 4096
    r0_numel = 4096
    rnumel = r0_numel
    RBLOCK: tl.constexpr = R0_BLOCK
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:, None]
    xmask = tl.full([XBLOCK], True, tl.int1)[:, None]
    r0_base = tl.arange(0, R0_BLOCK)[None, :]
    rbase = r0_base
    x0 = xindex
    tmp4 = tl.load(in_ptr2 + (x0), None, eviction_policy='evict_last')
    _tmp10 = tl.full([XBLOCK, R0_BLOCK], 0, tl.float32)
    for r0_offset in tl.range(0, r0_numel, R0_BLOCK):
        r0_index = r0_offset + r0_base
        r0_mask = r0_index < r0_numel
        roffset = r0_offset
        rindex = r0_index
        r0_1 = r0_index
        tmp0 = tl.load(in_ptr0 + (r0_1), r0_mask, eviction_policy='evict_last', other=0.0).to(tl.float32)
        tmp2 = tl.load(in_ptr1 + (r0_1 + 4096*x0), r0_mask, eviction_policy='evict_first', other=0.0)
        tmp1 = tmp0.to(tl.float32)
        tmp3 = tmp2.to(tl.float32)
        tmp5 = tmp3 * tmp4
        tmp6 = tmp5.to(tl.float32)
        tmp7 = tmp6.to(tl.float32)
        tmp8 = tmp1 * tmp7
        tmp9 = tl.broadcast_to(tmp8, [XBLOCK, R0_BLOCK])
        tmp11 = _tmp10 + tmp9
        _tmp10 = tl.where(r0_mask, tmp11, _tmp10)
    tmp10 = tl.sum(_tmp10, 1)[:, None]
    tl.store(out_ptr0 + (x0), tmp10, None)
''', device_str='cuda')


# kernel path: /work/main/runs/1-torchao-float8/20261120-233828/scratch/cache/f8-0.14.1-compiled/inductor/y2/cy2n5dlupf2nndluptw67oxnlobmuqleksrbxqkda3i2cpffxs2z.py
# Topologically Sorted Source Nodes: [input_2], Original ATen: [aten.mm, aten._to_copy, aten.mul, aten.t]
# Source node to ATen node mapping:
#   input_2 => convert_element_type_5, convert_element_type_6, convert_element_type_8, mul_2, mul_3, permute_1, sum_2, unsqueeze_2, unsqueeze_3
# Graph fragment:
#   %sum_1 : Tensor "f32[1, 4096][4096, 1]cuda:0" = PlaceHolder[target=sum_1]
#   %arg3_1 : Tensor "f8e4m3fn[4096, 4096][4096, 1]cuda:0" = PlaceHolder[target=arg3_1]
#   %arg4_1 : Tensor "f32[4096, 1][1, 1]cuda:0" = PlaceHolder[target=arg4_1]
#   %unsqueeze_2 : Tensor "f32[1, 4096, 1][4096, 1, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.unsqueeze.default](args = (%sum_1, 2), kwargs = {})
#   %convert_element_type_5 : Tensor "f32[4096, 4096][4096, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%arg3_1, torch.float32), kwargs = {})
#   %mul_2 : Tensor "f32[4096, 4096][4096, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%convert_element_type_5, %arg4_1), kwargs = {})
#   %convert_element_type_6 : Tensor "bf16[4096, 4096][4096, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%mul_2, torch.bfloat16), kwargs = {})
#   %permute_1 : Tensor "bf16[4096, 4096][1, 4096]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.permute.default](args = (%convert_element_type_6, [1, 0]), kwargs = {})
#   %convert_element_type_8 : Tensor "f32[4096, 4096][1, 4096]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%permute_1, torch.float32), kwargs = {})
#   %unsqueeze_3 : Tensor "f32[1, 4096, 4096][4096, 1, 4096]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.unsqueeze.default](args = (%convert_element_type_8, 0), kwargs = {})
#   %mul_3 : Tensor "f32[1, 4096, 4096][4096, 1, 4096]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%unsqueeze_2, %unsqueeze_3), kwargs = {})
#   %sum_2 : Tensor "f32[1, 4096][4096, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.sum.dim_IntList](args = (%mul_3, [1]), kwargs = {})
#   return %sum_2
triton_red_fused__to_copy_mm_mul_t_1 = async_compile.triton('triton_red_fused__to_copy_mm_mul_t_1', '''
import triton
import triton.language as tl

from torch._inductor.runtime import triton_helpers, triton_heuristics
from torch._inductor.runtime.triton_helpers import libdevice, math as tl_math
from torch._inductor.runtime.hints import AutotuneHint, ReductionHint, TileHint, DeviceProperties
triton_helpers.set_driver_to_gpu()

@triton_heuristics.reduction(
    size_hints={'x': 4096, 'r0_': 4096},
    reduction_hint=ReductionHint.INNER,
    filename=__file__,
    triton_meta={'signature': {'in_ptr0': '*fp32', 'in_ptr1': '*fp8e4nv', 'in_ptr2': '*fp32', 'out_ptr0': '*fp32', 'xnumel': 'i32', 'r0_numel': 'i32', 'XBLOCK': 'constexpr', 'R0_BLOCK': 'constexpr'}, 'device': DeviceProperties(type='cuda', index=0, multi_processor_count=132, cc=90, major=9, regs_per_multiprocessor=65536, max_threads_per_multi_processor=2048, max_threads_per_block=1024, warp_size=32), 'constants': {}, 'native_matmul': False, 'enable_fp_fusion': True, 'launch_pdl': False, 'disable_ftz': False, 'configs': [{(0,): [['tt.divisibility', 16]], (1,): [['tt.divisibility', 16]], (2,): [['tt.divisibility', 16]], (3,): [['tt.divisibility', 16]], (4,): [['tt.divisibility', 16]], (5,): [['tt.divisibility', 16]]}]},
    inductor_meta={'grid_type': 'Grid1D', 'autotune_hints': set(), 'kernel_name': 'triton_red_fused__to_copy_mm_mul_t_1', 'mutated_arg_names': [], 'optimize_mem': True, 'no_x_dim': False, 'atomic_add_found': False, 'num_load': 3, 'num_store': 1, 'num_reduction': 1, 'backend_hash': '91D1D1166449D9E2EB66EB9770C9E2C3B0FEB787341F27FEB4D3F0338DA50336', 'assert_indirect_indexing': True, 'autotune_local_cache': True, 'autotune_pointwise': True, 'autotune_remote_cache': None, 'force_disable_caches': False, 'dynamic_scale_rblock': True, 'max_autotune': False, 'max_autotune_pointwise': False, 'min_split_scan_rblock': 256, 'spill_threshold': 16, 'store_cubin': False, 'deterministic': False, 'force_filter_reduction_configs': False, 'mix_order_reduction_allow_multi_stages': False, 'are_deterministic_algorithms_enabled': False, 'coordinate_descent_tuning': True, 'coordinate_descent_search_radius': 1, 'coordinate_descent_check_all_directions': True, 'tiling_scores': {'x': 49152, 'r0_': 16793600}}
)
@triton.jit
def triton_red_fused__to_copy_mm_mul_t_1(in_ptr0, in_ptr1, in_ptr2, out_ptr0, xnumel, r0_numel, XBLOCK : tl.constexpr, R0_BLOCK : tl.constexpr):
    xnumel = 4096
    r0_numel = 4096
    rnumel = r0_numel
    RBLOCK: tl.constexpr = R0_BLOCK
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:, None]
    xmask = tl.full([XBLOCK], True, tl.int1)[:, None]
    r0_base = tl.arange(0, R0_BLOCK)[None, :]
    rbase = r0_base
    x0 = xindex
    tmp3 = tl.load(in_ptr2 + (x0), None, eviction_policy='evict_last')
    _tmp9 = tl.full([XBLOCK, R0_BLOCK], 0, tl.float32)
    for r0_offset in tl.range(0, r0_numel, R0_BLOCK):
        r0_index = r0_offset + r0_base
        r0_mask = r0_index < r0_numel
        roffset = r0_offset
        rindex = r0_index
        r0_1 = r0_index
        tmp0 = tl.load(in_ptr0 + (r0_1), r0_mask, eviction_policy='evict_last', other=0.0)
        tmp1 = tl.load(in_ptr1 + (r0_1 + 4096*x0), r0_mask, eviction_policy='evict_first', other=0.0)
        tmp2 = tmp1.to(tl.float32)
        tmp4 = tmp2 * tmp3
        tmp5 = tmp4.to(tl.float32)
        tmp6 = tmp5.to(tl.float32)
        tmp7 = tmp0 * tmp6
        tmp8 = tl.broadcast_to(tmp7, [XBLOCK, R0_BLOCK])
        tmp10 = _tmp9 + tmp8
        _tmp9 = tl.where(r0_mask, tmp10, _tmp9)
    tmp9 = tl.sum(_tmp9, 1)[:, None]
    tl.store(out_ptr0 + (x0), tmp9, None)
''', device_str='cuda')


# kernel path: /work/main/runs/1-torchao-float8/20261120-233828/scratch/cache/f8-0.14.1-compiled/inductor/5q/c5qdbmhhlsvagjnumsmwi6tzjdbbvh2m66ebqxcajh7iu3wmu6t4.py
# Topologically Sorted Source Nodes: [input_8], Original ATen: [aten.mm, aten._to_copy, aten.mul, aten.t]
# Source node to ATen node mapping:
#   input_8 => convert_element_type_35, convert_element_type_36, convert_element_type_38, convert_element_type_39, mul_14, mul_15, permute_7, sum_8, unsqueeze_14, unsqueeze_15
# Graph fragment:
#   %sum_7 : Tensor "f32[1, 4096][4096, 1]cuda:0" = PlaceHolder[target=sum_7]
#   %arg15_1 : Tensor "f8e4m3fn[4096, 4096][4096, 1]cuda:0" = PlaceHolder[target=arg15_1]
#   %arg16_1 : Tensor "f32[4096, 1][1, 1]cuda:0" = PlaceHolder[target=arg16_1]
#   %sum_8 : Tensor "f32[1, 4096][4096, 1]cuda:0" = PlaceHolder[target=sum_8]
#   %unsqueeze_14 : Tensor "f32[1, 4096, 1][4096, 1, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.unsqueeze.default](args = (%sum_7, 2), kwargs = {})
#   %convert_element_type_35 : Tensor "f32[4096, 4096][4096, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%arg15_1, torch.float32), kwargs = {})
#   %mul_14 : Tensor "f32[4096, 4096][4096, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%convert_element_type_35, %arg16_1), kwargs = {})
#   %convert_element_type_36 : Tensor "bf16[4096, 4096][4096, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%mul_14, torch.bfloat16), kwargs = {})
#   %permute_7 : Tensor "bf16[4096, 4096][1, 4096]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.permute.default](args = (%convert_element_type_36, [1, 0]), kwargs = {})
#   %convert_element_type_38 : Tensor "f32[4096, 4096][1, 4096]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%permute_7, torch.float32), kwargs = {})
#   %unsqueeze_15 : Tensor "f32[1, 4096, 4096][4096, 1, 4096]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.unsqueeze.default](args = (%convert_element_type_38, 0), kwargs = {})
#   %mul_15 : Tensor "f32[1, 4096, 4096][4096, 1, 4096]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%unsqueeze_14, %unsqueeze_15), kwargs = {})
#   %sum_8 : Tensor "f32[1, 4096][4096, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.sum.dim_IntList](args = (%mul_15, [1]), kwargs = {})
#   %convert_element_type_39 : Tensor "bf16[1, 4096][4096, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%sum_8, torch.bfloat16), kwargs = {})
#   return %sum_8,%convert_element_type_39
triton_red_fused__to_copy_mm_mul_t_2 = async_compile.triton('triton_red_fused__to_copy_mm_mul_t_2', '''
import triton
import triton.language as tl

from torch._inductor.runtime import triton_helpers, triton_heuristics
from torch._inductor.runtime.triton_helpers import libdevice, math as tl_math
from torch._inductor.runtime.hints import AutotuneHint, ReductionHint, TileHint, DeviceProperties
triton_helpers.set_driver_to_gpu()

@triton_heuristics.reduction(
    size_hints={'x': 4096, 'r0_': 4096},
    reduction_hint=ReductionHint.INNER,
    filename=__file__,
    triton_meta={'signature': {'in_ptr0': '*fp32', 'in_ptr1': '*fp8e4nv', 'in_ptr2': '*fp32', 'out_ptr1': '*bf16', 'xnumel': 'i32', 'r0_numel': 'i32', 'XBLOCK': 'constexpr', 'R0_BLOCK': 'constexpr'}, 'device': DeviceProperties(type='cuda', index=0, multi_processor_count=132, cc=90, major=9, regs_per_multiprocessor=65536, max_threads_per_multi_processor=2048, max_threads_per_block=1024, warp_size=32), 'constants': {}, 'native_matmul': False, 'enable_fp_fusion': True, 'launch_pdl': False, 'disable_ftz': False, 'configs': [{(0,): [['tt.divisibility', 16]], (1,): [['tt.divisibility', 16]], (2,): [['tt.divisibility', 16]], (3,): [['tt.divisibility', 16]], (4,): [['tt.divisibility', 16]], (5,): [['tt.divisibility', 16]]}]},
    inductor_meta={'grid_type': 'Grid1D', 'autotune_hints': set(), 'kernel_name': 'triton_red_fused__to_copy_mm_mul_t_2', 'mutated_arg_names': [], 'optimize_mem': True, 'no_x_dim': False, 'atomic_add_found': False, 'num_load': 3, 'num_store': 1, 'num_reduction': 1, 'backend_hash': '91D1D1166449D9E2EB66EB9770C9E2C3B0FEB787341F27FEB4D3F0338DA50336', 'assert_indirect_indexing': True, 'autotune_local_cache': True, 'autotune_pointwise': True, 'autotune_remote_cache': None, 'force_disable_caches': False, 'dynamic_scale_rblock': True, 'max_autotune': False, 'max_autotune_pointwise': False, 'min_split_scan_rblock': 256, 'spill_threshold': 16, 'store_cubin': False, 'deterministic': False, 'force_filter_reduction_configs': False, 'mix_order_reduction_allow_multi_stages': False, 'are_deterministic_algorithms_enabled': False, 'coordinate_descent_tuning': True, 'coordinate_descent_search_radius': 1, 'coordinate_descent_check_all_directions': True, 'tiling_scores': {'x': 32768, 'r0_': 16793600}}
)
@triton.jit
def triton_red_fused__to_copy_mm_mul_t_2(in_ptr0, in_ptr1, in_ptr2, out_ptr1, xnumel, r0_numel, XBLOCK : tl.constexpr, R0_BLOCK : tl.constexpr):
    xnumel = 4096
    r0_numel = 4096
    rnumel = r0_numel
    RBLOCK: tl.constexpr = R0_BLOCK
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:, None]
    xmask = tl.full([XBLOCK], True, tl.int1)[:, None]
    r0_base = tl.arange(0, R0_BLOCK)[None, :]
    rbase = r0_base
    x0 = xindex
    tmp3 = tl.load(in_ptr2 + (x0), None, eviction_policy='evict_last')
    _tmp9 = tl.full([XBLOCK, R0_BLOCK], 0, tl.float32)
    for r0_offset in tl.range(0, r0_numel, R0_BLOCK):
        r0_index = r0_offset + r0_base
        r0_mask = r0_index < r0_numel
        roffset = r0_offset
        rindex = r0_index
        r0_1 = r0_index
        tmp0 = tl.load(in_ptr0 + (r0_1), r0_mask, eviction_policy='evict_last', other=0.0)
        tmp1 = tl.load(in_ptr1 + (r0_1 + 4096*x0), r0_mask, eviction_policy='evict_first', other=0.0)
        tmp2 = tmp1.to(tl.float32)
        tmp4 = tmp2 * tmp3
        tmp5 = tmp4.to(tl.float32)
        tmp6 = tmp5.to(tl.float32)
        tmp7 = tmp0 * tmp6
        tmp8 = tl.broadcast_to(tmp7, [XBLOCK, R0_BLOCK])
        tmp10 = _tmp9 + tmp8
        _tmp9 = tl.where(r0_mask, tmp10, _tmp9)
    tmp9 = tl.sum(_tmp9, 1)[:, None]
    tmp11 = tmp9.to(tl.float32)
    tl.store(out_ptr1 + (x0), tmp11, None)
''', device_str='cuda')


async_compile.wait(globals())
del async_compile

class Runner:
    def __init__(self, partitions):
        self.partitions = partitions

    def recursively_apply_fns(self, fns):
        new_callables = []
        for fn, c in zip(fns, self.partitions):
            new_callables.append(fn(c))
        self.partitions = new_callables

    def call(self, args):
        arg0_1, arg1_1, arg2_1, arg3_1, arg4_1, arg5_1, arg6_1, arg7_1, arg8_1, arg9_1, arg10_1, arg11_1, arg12_1, arg13_1, arg14_1, arg15_1, arg16_1 = args
        args.clear()
        assert_size_stride(arg0_1, (4096, 4096), (4096, 1))
        assert_size_stride(arg1_1, (4096, 1), (1, 1))
        assert_size_stride(arg2_1, (1, 4096), (4096, 1))
        assert_size_stride(arg3_1, (4096, 4096), (4096, 1))
        assert_size_stride(arg4_1, (4096, 1), (1, 1))
        assert_size_stride(arg5_1, (4096, 4096), (4096, 1))
        assert_size_stride(arg6_1, (4096, 1), (1, 1))
        assert_size_stride(arg7_1, (4096, 4096), (4096, 1))
        assert_size_stride(arg8_1, (4096, 1), (1, 1))
        assert_size_stride(arg9_1, (4096, 4096), (4096, 1))
        assert_size_stride(arg10_1, (4096, 1), (1, 1))
        assert_size_stride(arg11_1, (4096, 4096), (4096, 1))
        assert_size_stride(arg12_1, (4096, 1), (1, 1))
        assert_size_stride(arg13_1, (4096, 4096), (4096, 1))
        assert_size_stride(arg14_1, (4096, 1), (1, 1))
        assert_size_stride(arg15_1, (4096, 4096), (4096, 1))
        assert_size_stride(arg16_1, (4096, 1), (1, 1))
        with torch.cuda._DeviceGuard(0):
            torch.cuda.set_device(0)
            buf0 = empty_strided_cuda((1, 4096), (4096, 1), torch.float32)
            # Topologically Sorted Source Nodes: [input_1], Original ATen: [aten.mm, aten._to_copy, aten.mul, aten.t]
            stream0 = get_raw_stream(0)
            triton_red_fused__to_copy_mm_mul_t_0.run(arg2_1, arg0_1, arg1_1, buf0, 4096, 4096, stream=stream0)
            del arg0_1
            del arg1_1
            del arg2_1
            buf1 = empty_strided_cuda((1, 4096), (4096, 1), torch.float32)
            # Topologically Sorted Source Nodes: [input_2], Original ATen: [aten.mm, aten._to_copy, aten.mul, aten.t]
            stream0 = get_raw_stream(0)
            triton_red_fused__to_copy_mm_mul_t_1.run(buf0, arg3_1, arg4_1, buf1, 4096, 4096, stream=stream0)
            del arg3_1
            del arg4_1
            buf2 = buf0; del buf0  # reuse
            # Topologically Sorted Source Nodes: [input_3], Original ATen: [aten.mm, aten._to_copy, aten.mul, aten.t]
            stream0 = get_raw_stream(0)
            triton_red_fused__to_copy_mm_mul_t_1.run(buf1, arg5_1, arg6_1, buf2, 4096, 4096, stream=stream0)
            del arg5_1
            del arg6_1
            buf3 = buf1; del buf1  # reuse
            # Topologically Sorted Source Nodes: [input_4], Original ATen: [aten.mm, aten._to_copy, aten.mul, aten.t]
            stream0 = get_raw_stream(0)
            triton_red_fused__to_copy_mm_mul_t_1.run(buf2, arg7_1, arg8_1, buf3, 4096, 4096, stream=stream0)
            del arg7_1
            del arg8_1
            buf4 = buf2; del buf2  # reuse
            # Topologically Sorted Source Nodes: [input_5], Original ATen: [aten.mm, aten._to_copy, aten.mul, aten.t]
            stream0 = get_raw_stream(0)
            triton_red_fused__to_copy_mm_mul_t_1.run(buf3, arg9_1, arg10_1, buf4, 4096, 4096, stream=stream0)
            del arg10_1
            del arg9_1
            buf5 = buf3; del buf3  # reuse
            # Topologically Sorted Source Nodes: [input_6], Original ATen: [aten.mm, aten._to_copy, aten.mul, aten.t]
            stream0 = get_raw_stream(0)
            triton_red_fused__to_copy_mm_mul_t_1.run(buf4, arg11_1, arg12_1, buf5, 4096, 4096, stream=stream0)
            del arg11_1
            del arg12_1
            buf6 = buf4; del buf4  # reuse
            # Topologically Sorted Source Nodes: [input_7], Original ATen: [aten.mm, aten._to_copy, aten.mul, aten.t]
            stream0 = get_raw_stream(0)
            triton_red_fused__to_copy_mm_mul_t_1.run(buf5, arg13_1, arg14_1, buf6, 4096, 4096, stream=stream0)
            del arg13_1
            del arg14_1
            del buf5
            buf8 = empty_strided_cuda((1, 4096), (4096, 1), torch.bfloat16)
            # Topologically Sorted Source Nodes: [input_8], Original ATen: [aten.mm, aten._to_copy, aten.mul, aten.t]
            stream0 = get_raw_stream(0)
            triton_red_fused__to_copy_mm_mul_t_2.run(buf6, arg15_1, arg16_1, buf8, 4096, 4096, stream=stream0)
            del arg15_1
            del arg16_1
            del buf6
        return (buf8, )

runner = Runner(partitions=[])
call = runner.call
recursively_apply_fns = runner.recursively_apply_fns


def get_args():
    from torch._dynamo.testing import rand_strided
    arg0_1 = rand_strided((4096, 4096), (4096, 1), device='cuda:0', dtype=torch.float8_e4m3fn)
    arg1_1 = rand_strided((4096, 1), (1, 1), device='cuda:0', dtype=torch.float32)
    arg2_1 = rand_strided((1, 4096), (4096, 1), device='cuda:0', dtype=torch.bfloat16)
    arg3_1 = rand_strided((4096, 4096), (4096, 1), device='cuda:0', dtype=torch.float8_e4m3fn)
    arg4_1 = rand_strided((4096, 1), (1, 1), device='cuda:0', dtype=torch.float32)
    arg5_1 = rand_strided((4096, 4096), (4096, 1), device='cuda:0', dtype=torch.float8_e4m3fn)
    arg6_1 = rand_strided((4096, 1), (1, 1), device='cuda:0', dtype=torch.float32)
    arg7_1 = rand_strided((4096, 4096), (4096, 1), device='cuda:0', dtype=torch.float8_e4m3fn)
    arg8_1 = rand_strided((4096, 1), (1, 1), device='cuda:0', dtype=torch.float32)
    arg9_1 = rand_strided((4096, 4096), (4096, 1), device='cuda:0', dtype=torch.float8_e4m3fn)
    arg10_1 = rand_strided((4096, 1), (1, 1), device='cuda:0', dtype=torch.float32)
    arg11_1 = rand_strided((4096, 4096), (4096, 1), device='cuda:0', dtype=torch.float8_e4m3fn)
    arg12_1 = rand_strided((4096, 1), (1, 1), device='cuda:0', dtype=torch.float32)
    arg13_1 = rand_strided((4096, 4096), (4096, 1), device='cuda:0', dtype=torch.float8_e4m3fn)
    arg14_1 = rand_strided((4096, 1), (1, 1), device='cuda:0', dtype=torch.float32)
    arg15_1 = rand_strided((4096, 4096), (4096, 1), device='cuda:0', dtype=torch.float8_e4m3fn)
    arg16_1 = rand_strided((4096, 1), (1, 1), device='cuda:0', dtype=torch.float32)
    return [arg0_1, arg1_1, arg2_1, arg3_1, arg4_1, arg5_1, arg6_1, arg7_1, arg8_1, arg9_1, arg10_1, arg11_1, arg12_1, arg13_1, arg14_1, arg15_1, arg16_1]


def benchmark_compiled_module(args, times=10, repeat=10):
    from torch._inductor.utils import print_performance
    fn = lambda: call(list(args))
    return print_performance(fn, times=times, repeat=repeat)


if __name__ == "__main__":
    from torch._inductor.wrapper_benchmark import compiled_module_main
    args = get_args()
    compiled_module_main('None', lambda times, repeat: benchmark_compiled_module(args, times=times, repeat=repeat))
