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


# kernel path: /work/main/runs/1-torchao-float8/20261120-233828/scratch/cache/int8wo-compiled/inductor/nm/cnmj5iel5l7ihgrbpuz3tbuuqmi24lc6rerod6ffmv3ff7nfei36.py
# Topologically Sorted Source Nodes: [input_1], Original ATen: [aten.mm, aten.t]
# Source node to ATen node mapping:
#   input_1 => convert_element_type_1, convert_element_type_default_7, mul, permute, sum_1, unsqueeze, unsqueeze_1
# Graph fragment:
#   %arg3_1 : Tensor "bf16[1, 4096][4096, 1]cuda:0" = PlaceHolder[target=arg3_1]
#   %arg0_1 : Tensor "i8[4096, 4096][4096, 1]cuda:0" = PlaceHolder[target=arg0_1]
#   %convert_element_type_1 : Tensor "f32[1, 4096][4096, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%arg3_1, torch.float32), kwargs = {})
#   %unsqueeze : Tensor "f32[1, 4096, 1][4096, 1, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.unsqueeze.default](args = (%convert_element_type_1, 2), kwargs = {})
#   %permute : Tensor "i8[4096, 4096][1, 4096]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.permute.default](args = (%arg0_1, [1, 0]), kwargs = {})
#   %convert_element_type_default_7 : Tensor "f32[4096, 4096][1, 4096]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%permute, torch.float32), kwargs = {})
#   %unsqueeze_1 : Tensor "f32[1, 4096, 4096][4096, 1, 4096]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.unsqueeze.default](args = (%convert_element_type_default_7, 0), kwargs = {})
#   %mul : Tensor "f32[1, 4096, 4096][4096, 1, 4096]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%unsqueeze, %unsqueeze_1), kwargs = {})
#   %sum_1 : Tensor "f32[1, 4096][4096, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.sum.dim_IntList](args = (%mul, [1]), kwargs = {})
#   return %sum_1
triton_red_fused_mm_t_0 = async_compile.triton('triton_red_fused_mm_t_0', '''
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
    triton_meta={'signature': {'in_ptr0': '*bf16', 'in_ptr1': '*i8', 'out_ptr0': '*fp32', 'xnumel': 'i32', 'r0_numel': 'i32', 'XBLOCK': 'constexpr', 'R0_BLOCK': 'constexpr'}, 'device': DeviceProperties(type='cuda', index=0, multi_processor_count=132, cc=90, major=9, regs_per_multiprocessor=65536, max_threads_per_multi_processor=2048, max_threads_per_block=1024, warp_size=32), 'constants': {}, 'native_matmul': False, 'enable_fp_fusion': True, 'launch_pdl': False, 'disable_ftz': False, 'configs': [{(0,): [['tt.divisibility', 16]], (1,): [['tt.divisibility', 16]], (2,): [['tt.divisibility', 16]], (3,): [['tt.divisibility', 16]], (4,): [['tt.divisibility', 16]]}]},
    inductor_meta={'grid_type': 'Grid1D', 'autotune_hints': set(), 'kernel_name': 'triton_red_fused_mm_t_0', 'mutated_arg_names': [], 'optimize_mem': True, 'no_x_dim': False, 'atomic_add_found': False, 'num_load': 2, 'num_store': 1, 'num_reduction': 1, 'backend_hash': '91D1D1166449D9E2EB66EB9770C9E2C3B0FEB787341F27FEB4D3F0338DA50336', 'assert_indirect_indexing': True, 'autotune_local_cache': True, 'autotune_pointwise': True, 'autotune_remote_cache': None, 'force_disable_caches': False, 'dynamic_scale_rblock': True, 'max_autotune': False, 'max_autotune_pointwise': False, 'min_split_scan_rblock': 256, 'spill_threshold': 16, 'store_cubin': False, 'deterministic': False, 'force_filter_reduction_configs': False, 'mix_order_reduction_allow_multi_stages': False, 'are_deterministic_algorithms_enabled': False, 'coordinate_descent_tuning': True, 'coordinate_descent_search_radius': 1, 'coordinate_descent_check_all_directions': True, 'tiling_scores': {'x': 32768, 'r0_': 16785408}}
)
@triton.jit
def triton_red_fused_mm_t_0(in_ptr0, in_ptr1, out_ptr0, xnumel, r0_numel, XBLOCK : tl.constexpr, R0_BLOCK : tl.constexpr):
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
    _tmp6 = tl.full([XBLOCK, R0_BLOCK], 0, tl.float32)
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
        tmp4 = tmp1 * tmp3
        tmp5 = tl.broadcast_to(tmp4, [XBLOCK, R0_BLOCK])
        tmp7 = _tmp6 + tmp5
        _tmp6 = tl.where(r0_mask, tmp7, _tmp6)
    tmp6 = tl.sum(_tmp6, 1)[:, None]
    tl.store(out_ptr0 + (x0), tmp6, None)
''', device_str='cuda')


# kernel path: /work/main/runs/1-torchao-float8/20261120-233828/scratch/cache/int8wo-compiled/inductor/gu/cgu2cem45zpqtnse5juoxbf77w3gnawkc4xys6mcqwqllrvm6p7c.py
# Topologically Sorted Source Nodes: [input_1, input_2], Original ATen: [aten.mm, aten._to_copy, aten.view, aten.mul, aten.t]
# Source node to ATen node mapping:
#   input_1 => convert_element_type_3, convert_element_type_4, mul_1, view_1
#   input_2 => convert_element_type_6, convert_element_type_default_6, mul_2, permute_1, sum_2, unsqueeze_2, unsqueeze_3
# Graph fragment:
#   %sum_1 : Tensor "f32[1, 4096][4096, 1]cuda:0" = PlaceHolder[target=sum_1]
#   %arg1_1 : Tensor "f32[4096, 1][1, 1]cuda:0" = PlaceHolder[target=arg1_1]
#   %arg4_1 : Tensor "i8[4096, 4096][4096, 1]cuda:0" = PlaceHolder[target=arg4_1]
#   %convert_element_type_3 : Tensor "bf16[1, 4096][4096, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%sum_1, torch.bfloat16), kwargs = {})
#   %convert_element_type_4 : Tensor "bf16[4096, 1][1, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%arg1_1, torch.bfloat16), kwargs = {})
#   %view_1 : Tensor "bf16[4096][1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.reshape.default](args = (%convert_element_type_4, [4096]), kwargs = {})
#   %mul_1 : Tensor "bf16[1, 4096][4096, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%convert_element_type_3, %view_1), kwargs = {})
#   %convert_element_type_6 : Tensor "f32[1, 4096][4096, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%mul_1, torch.float32), kwargs = {})
#   %unsqueeze_2 : Tensor "f32[1, 4096, 1][4096, 1, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.unsqueeze.default](args = (%convert_element_type_6, 2), kwargs = {})
#   %permute_1 : Tensor "i8[4096, 4096][1, 4096]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.permute.default](args = (%arg4_1, [1, 0]), kwargs = {})
#   %convert_element_type_default_6 : Tensor "f32[4096, 4096][1, 4096]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%permute_1, torch.float32), kwargs = {})
#   %unsqueeze_3 : Tensor "f32[1, 4096, 4096][4096, 1, 4096]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.unsqueeze.default](args = (%convert_element_type_default_6, 0), kwargs = {})
#   %mul_2 : Tensor "f32[1, 4096, 4096][4096, 1, 4096]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%unsqueeze_2, %unsqueeze_3), kwargs = {})
#   %sum_2 : Tensor "f32[1, 4096][4096, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.sum.dim_IntList](args = (%mul_2, [1]), kwargs = {})
#   return %sum_2
triton_red_fused__to_copy_mm_mul_t_view_1 = async_compile.triton('triton_red_fused__to_copy_mm_mul_t_view_1', '''
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
    triton_meta={'signature': {'in_ptr0': '*fp32', 'in_ptr1': '*fp32', 'in_ptr2': '*i8', 'out_ptr0': '*fp32', 'xnumel': 'i32', 'r0_numel': 'i32', 'XBLOCK': 'constexpr', 'R0_BLOCK': 'constexpr'}, 'device': DeviceProperties(type='cuda', index=0, multi_processor_count=132, cc=90, major=9, regs_per_multiprocessor=65536, max_threads_per_multi_processor=2048, max_threads_per_block=1024, warp_size=32), 'constants': {}, 'native_matmul': False, 'enable_fp_fusion': True, 'launch_pdl': False, 'disable_ftz': False, 'configs': [{(0,): [['tt.divisibility', 16]], (1,): [['tt.divisibility', 16]], (2,): [['tt.divisibility', 16]], (3,): [['tt.divisibility', 16]], (4,): [['tt.divisibility', 16]], (5,): [['tt.divisibility', 16]]}]},
    inductor_meta={'grid_type': 'Grid1D', 'autotune_hints': set(), 'kernel_name': 'triton_red_fused__to_copy_mm_mul_t_view_1', 'mutated_arg_names': [], 'optimize_mem': True, 'no_x_dim': False, 'atomic_add_found': False, 'num_load': 3, 'num_store': 1, 'num_reduction': 1, 'backend_hash': '91D1D1166449D9E2EB66EB9770C9E2C3B0FEB787341F27FEB4D3F0338DA50336', 'assert_indirect_indexing': True, 'autotune_local_cache': True, 'autotune_pointwise': True, 'autotune_remote_cache': None, 'force_disable_caches': False, 'dynamic_scale_rblock': True, 'max_autotune': False, 'max_autotune_pointwise': False, 'min_split_scan_rblock': 256, 'spill_threshold': 16, 'store_cubin': False, 'deterministic': False, 'force_filter_reduction_configs': False, 'mix_order_reduction_allow_multi_stages': False, 'are_deterministic_algorithms_enabled': False, 'coordinate_descent_tuning': True, 'coordinate_descent_search_radius': 1, 'coordinate_descent_check_all_directions': True, 'tiling_scores': {'x': 32768, 'r0_': 16809984}}
)
@triton.jit
def triton_red_fused__to_copy_mm_mul_t_view_1(in_ptr0, in_ptr1, in_ptr2, out_ptr0, xnumel, r0_numel, XBLOCK : tl.constexpr, R0_BLOCK : tl.constexpr):
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
    _tmp10 = tl.full([XBLOCK, R0_BLOCK], 0, tl.float32)
    for r0_offset in tl.range(0, r0_numel, R0_BLOCK):
        r0_index = r0_offset + r0_base
        r0_mask = r0_index < r0_numel
        roffset = r0_offset
        rindex = r0_index
        r0_1 = r0_index
        tmp0 = tl.load(in_ptr0 + (r0_1), r0_mask, eviction_policy='evict_last', other=0.0)
        tmp2 = tl.load(in_ptr1 + (r0_1), r0_mask, eviction_policy='evict_last', other=0.0)
        tmp6 = tl.load(in_ptr2 + (r0_1 + 4096*x0), r0_mask, eviction_policy='evict_first', other=0.0)
        tmp1 = tmp0.to(tl.float32)
        tmp3 = tmp2.to(tl.float32)
        tmp4 = tmp1 * tmp3
        tmp5 = tmp4.to(tl.float32)
        tmp7 = tmp6.to(tl.float32)
        tmp8 = tmp5 * tmp7
        tmp9 = tl.broadcast_to(tmp8, [XBLOCK, R0_BLOCK])
        tmp11 = _tmp10 + tmp9
        _tmp10 = tl.where(r0_mask, tmp11, _tmp10)
    tmp10 = tl.sum(_tmp10, 1)[:, None]
    tl.store(out_ptr0 + (x0), tmp10, None)
''', device_str='cuda')


# kernel path: /work/main/runs/1-torchao-float8/20261120-233828/scratch/cache/int8wo-compiled/inductor/3p/c3p4x5wn25dlibqyirryrssbwa5mwodyv4ryy7gromr5lkksgkoc.py
# Topologically Sorted Source Nodes: [input_7, input_8], Original ATen: [aten.mm, aten._to_copy, aten.view, aten.mul, aten.t]
# Source node to ATen node mapping:
#   input_7 => convert_element_type_33, convert_element_type_34, mul_13, view_19
#   input_8 => convert_element_type_36, convert_element_type_38, convert_element_type_39, convert_element_type_default, mul_14, mul_15, permute_7, sum_8, unsqueeze_14, unsqueeze_15, view_22
# Graph fragment:
#   %sum_7 : Tensor "f32[1, 4096][4096, 1]cuda:0" = PlaceHolder[target=sum_7]
#   %arg20_1 : Tensor "f32[4096, 1][1, 1]cuda:0" = PlaceHolder[target=arg20_1]
#   %arg22_1 : Tensor "i8[4096, 4096][4096, 1]cuda:0" = PlaceHolder[target=arg22_1]
#   %sum_8 : Tensor "f32[1, 4096][4096, 1]cuda:0" = PlaceHolder[target=sum_8]
#   %arg23_1 : Tensor "f32[4096, 1][1, 1]cuda:0" = PlaceHolder[target=arg23_1]
#   %convert_element_type_33 : Tensor "bf16[1, 4096][4096, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%sum_7, torch.bfloat16), kwargs = {})
#   %convert_element_type_34 : Tensor "bf16[4096, 1][1, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%arg20_1, torch.bfloat16), kwargs = {})
#   %view_19 : Tensor "bf16[4096][1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.reshape.default](args = (%convert_element_type_34, [4096]), kwargs = {})
#   %mul_13 : Tensor "bf16[1, 4096][4096, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%convert_element_type_33, %view_19), kwargs = {})
#   %convert_element_type_36 : Tensor "f32[1, 4096][4096, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%mul_13, torch.float32), kwargs = {})
#   %unsqueeze_14 : Tensor "f32[1, 4096, 1][4096, 1, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.unsqueeze.default](args = (%convert_element_type_36, 2), kwargs = {})
#   %permute_7 : Tensor "i8[4096, 4096][1, 4096]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.permute.default](args = (%arg22_1, [1, 0]), kwargs = {})
#   %convert_element_type_default : Tensor "f32[4096, 4096][1, 4096]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%permute_7, torch.float32), kwargs = {})
#   %unsqueeze_15 : Tensor "f32[1, 4096, 4096][4096, 1, 4096]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.unsqueeze.default](args = (%convert_element_type_default, 0), kwargs = {})
#   %mul_14 : Tensor "f32[1, 4096, 4096][4096, 1, 4096]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%unsqueeze_14, %unsqueeze_15), kwargs = {})
#   %sum_8 : Tensor "f32[1, 4096][4096, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.sum.dim_IntList](args = (%mul_14, [1]), kwargs = {})
#   %convert_element_type_38 : Tensor "bf16[1, 4096][4096, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%sum_8, torch.bfloat16), kwargs = {})
#   %convert_element_type_39 : Tensor "bf16[4096, 1][1, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%arg23_1, torch.bfloat16), kwargs = {})
#   %view_22 : Tensor "bf16[4096][1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.reshape.default](args = (%convert_element_type_39, [4096]), kwargs = {})
#   %mul_15 : Tensor "bf16[1, 4096][4096, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%convert_element_type_38, %view_22), kwargs = {})
#   return %sum_8,%mul_15
triton_red_fused__to_copy_mm_mul_t_view_2 = async_compile.triton('triton_red_fused__to_copy_mm_mul_t_view_2', '''
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
    triton_meta={'signature': {'in_ptr0': '*fp32', 'in_ptr1': '*fp32', 'in_ptr2': '*i8', 'in_ptr3': '*fp32', 'out_ptr1': '*bf16', 'xnumel': 'i32', 'r0_numel': 'i32', 'XBLOCK': 'constexpr', 'R0_BLOCK': 'constexpr'}, 'device': DeviceProperties(type='cuda', index=0, multi_processor_count=132, cc=90, major=9, regs_per_multiprocessor=65536, max_threads_per_multi_processor=2048, max_threads_per_block=1024, warp_size=32), 'constants': {}, 'native_matmul': False, 'enable_fp_fusion': True, 'launch_pdl': False, 'disable_ftz': False, 'configs': [{(0,): [['tt.divisibility', 16]], (1,): [['tt.divisibility', 16]], (2,): [['tt.divisibility', 16]], (3,): [['tt.divisibility', 16]], (4,): [['tt.divisibility', 16]], (5,): [['tt.divisibility', 16]], (6,): [['tt.divisibility', 16]]}]},
    inductor_meta={'grid_type': 'Grid1D', 'autotune_hints': set(), 'kernel_name': 'triton_red_fused__to_copy_mm_mul_t_view_2', 'mutated_arg_names': [], 'optimize_mem': True, 'no_x_dim': False, 'atomic_add_found': False, 'num_load': 4, 'num_store': 1, 'num_reduction': 1, 'backend_hash': '91D1D1166449D9E2EB66EB9770C9E2C3B0FEB787341F27FEB4D3F0338DA50336', 'assert_indirect_indexing': True, 'autotune_local_cache': True, 'autotune_pointwise': True, 'autotune_remote_cache': None, 'force_disable_caches': False, 'dynamic_scale_rblock': True, 'max_autotune': False, 'max_autotune_pointwise': False, 'min_split_scan_rblock': 256, 'spill_threshold': 16, 'store_cubin': False, 'deterministic': False, 'force_filter_reduction_configs': False, 'mix_order_reduction_allow_multi_stages': False, 'are_deterministic_algorithms_enabled': False, 'coordinate_descent_tuning': True, 'coordinate_descent_search_radius': 1, 'coordinate_descent_check_all_directions': True, 'tiling_scores': {'x': 32768, 'r0_': 16809984}}
)
@triton.jit
def triton_red_fused__to_copy_mm_mul_t_view_2(in_ptr0, in_ptr1, in_ptr2, in_ptr3, out_ptr1, xnumel, r0_numel, XBLOCK : tl.constexpr, R0_BLOCK : tl.constexpr):
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
    _tmp10 = tl.full([XBLOCK, R0_BLOCK], 0, tl.float32)
    for r0_offset in tl.range(0, r0_numel, R0_BLOCK):
        r0_index = r0_offset + r0_base
        r0_mask = r0_index < r0_numel
        roffset = r0_offset
        rindex = r0_index
        r0_1 = r0_index
        tmp0 = tl.load(in_ptr0 + (r0_1), r0_mask, eviction_policy='evict_last', other=0.0)
        tmp2 = tl.load(in_ptr1 + (r0_1), r0_mask, eviction_policy='evict_last', other=0.0)
        tmp6 = tl.load(in_ptr2 + (r0_1 + 4096*x0), r0_mask, eviction_policy='evict_first', other=0.0)
        tmp1 = tmp0.to(tl.float32)
        tmp3 = tmp2.to(tl.float32)
        tmp4 = tmp1 * tmp3
        tmp5 = tmp4.to(tl.float32)
        tmp7 = tmp6.to(tl.float32)
        tmp8 = tmp5 * tmp7
        tmp9 = tl.broadcast_to(tmp8, [XBLOCK, R0_BLOCK])
        tmp11 = _tmp10 + tmp9
        _tmp10 = tl.where(r0_mask, tmp11, _tmp10)
    tmp10 = tl.sum(_tmp10, 1)[:, None]
    tmp13 = tl.load(in_ptr3 + (x0), None, eviction_policy='evict_last')
    tmp12 = tmp10.to(tl.float32)
    tmp14 = tmp13.to(tl.float32)
    tmp15 = tmp12 * tmp14
    tl.store(out_ptr1 + (x0), tmp15, None)
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
        arg0_1, arg1_1, arg2_1, arg3_1, arg4_1, arg5_1, arg6_1, arg7_1, arg8_1, arg9_1, arg10_1, arg11_1, arg12_1, arg13_1, arg14_1, arg15_1, arg16_1, arg17_1, arg18_1, arg19_1, arg20_1, arg21_1, arg22_1, arg23_1, arg24_1 = args
        args.clear()
        assert_size_stride(arg0_1, (4096, 4096), (4096, 1))
        assert_size_stride(arg1_1, (4096, 1), (1, 1))
        assert_size_stride(arg2_1, (4096, 1), (1, 1))
        assert_size_stride(arg3_1, (1, 4096), (4096, 1))
        assert_size_stride(arg4_1, (4096, 4096), (4096, 1))
        assert_size_stride(arg5_1, (4096, 1), (1, 1))
        assert_size_stride(arg6_1, (4096, 1), (1, 1))
        assert_size_stride(arg7_1, (4096, 4096), (4096, 1))
        assert_size_stride(arg8_1, (4096, 1), (1, 1))
        assert_size_stride(arg9_1, (4096, 1), (1, 1))
        assert_size_stride(arg10_1, (4096, 4096), (4096, 1))
        assert_size_stride(arg11_1, (4096, 1), (1, 1))
        assert_size_stride(arg12_1, (4096, 1), (1, 1))
        assert_size_stride(arg13_1, (4096, 4096), (4096, 1))
        assert_size_stride(arg14_1, (4096, 1), (1, 1))
        assert_size_stride(arg15_1, (4096, 1), (1, 1))
        assert_size_stride(arg16_1, (4096, 4096), (4096, 1))
        assert_size_stride(arg17_1, (4096, 1), (1, 1))
        assert_size_stride(arg18_1, (4096, 1), (1, 1))
        assert_size_stride(arg19_1, (4096, 4096), (4096, 1))
        assert_size_stride(arg20_1, (4096, 1), (1, 1))
        assert_size_stride(arg21_1, (4096, 1), (1, 1))
        assert_size_stride(arg22_1, (4096, 4096), (4096, 1))
        assert_size_stride(arg23_1, (4096, 1), (1, 1))
        assert_size_stride(arg24_1, (4096, 1), (1, 1))
        with torch.cuda._DeviceGuard(0):
            torch.cuda.set_device(0)
            buf0 = empty_strided_cuda((1, 4096), (4096, 1), torch.float32)
            # Topologically Sorted Source Nodes: [input_1], Original ATen: [aten.mm, aten.t]
            stream0 = get_raw_stream(0)
            triton_red_fused_mm_t_0.run(arg3_1, arg0_1, buf0, 4096, 4096, stream=stream0)
            del arg0_1
            del arg3_1
            buf1 = empty_strided_cuda((1, 4096), (4096, 1), torch.float32)
            # Topologically Sorted Source Nodes: [input_1, input_2], Original ATen: [aten.mm, aten._to_copy, aten.view, aten.mul, aten.t]
            stream0 = get_raw_stream(0)
            triton_red_fused__to_copy_mm_mul_t_view_1.run(buf0, arg1_1, arg4_1, buf1, 4096, 4096, stream=stream0)
            del arg1_1
            del arg4_1
            buf2 = buf0; del buf0  # reuse
            # Topologically Sorted Source Nodes: [input_2, input_3], Original ATen: [aten.mm, aten._to_copy, aten.view, aten.mul, aten.t]
            stream0 = get_raw_stream(0)
            triton_red_fused__to_copy_mm_mul_t_view_1.run(buf1, arg5_1, arg7_1, buf2, 4096, 4096, stream=stream0)
            del arg5_1
            del arg7_1
            buf3 = buf1; del buf1  # reuse
            # Topologically Sorted Source Nodes: [input_3, input_4], Original ATen: [aten.mm, aten._to_copy, aten.view, aten.mul, aten.t]
            stream0 = get_raw_stream(0)
            triton_red_fused__to_copy_mm_mul_t_view_1.run(buf2, arg8_1, arg10_1, buf3, 4096, 4096, stream=stream0)
            del arg10_1
            del arg8_1
            buf4 = buf2; del buf2  # reuse
            # Topologically Sorted Source Nodes: [input_4, input_5], Original ATen: [aten.mm, aten._to_copy, aten.view, aten.mul, aten.t]
            stream0 = get_raw_stream(0)
            triton_red_fused__to_copy_mm_mul_t_view_1.run(buf3, arg11_1, arg13_1, buf4, 4096, 4096, stream=stream0)
            del arg11_1
            del arg13_1
            buf5 = buf3; del buf3  # reuse
            # Topologically Sorted Source Nodes: [input_5, input_6], Original ATen: [aten.mm, aten._to_copy, aten.view, aten.mul, aten.t]
            stream0 = get_raw_stream(0)
            triton_red_fused__to_copy_mm_mul_t_view_1.run(buf4, arg14_1, arg16_1, buf5, 4096, 4096, stream=stream0)
            del arg14_1
            del arg16_1
            buf6 = buf4; del buf4  # reuse
            # Topologically Sorted Source Nodes: [input_6, input_7], Original ATen: [aten.mm, aten._to_copy, aten.view, aten.mul, aten.t]
            stream0 = get_raw_stream(0)
            triton_red_fused__to_copy_mm_mul_t_view_1.run(buf5, arg17_1, arg19_1, buf6, 4096, 4096, stream=stream0)
            del arg17_1
            del arg19_1
            del buf5
            buf8 = empty_strided_cuda((1, 4096), (4096, 1), torch.bfloat16)
            # Topologically Sorted Source Nodes: [input_7, input_8], Original ATen: [aten.mm, aten._to_copy, aten.view, aten.mul, aten.t]
            stream0 = get_raw_stream(0)
            triton_red_fused__to_copy_mm_mul_t_view_2.run(buf6, arg20_1, arg22_1, arg23_1, buf8, 4096, 4096, stream=stream0)
            del arg20_1
            del arg22_1
            del arg23_1
            del buf6
        return (buf8, )

runner = Runner(partitions=[])
call = runner.call
recursively_apply_fns = runner.recursively_apply_fns


def get_args():
    from torch._dynamo.testing import rand_strided
    arg0_1 = rand_strided((4096, 4096), (4096, 1), device='cuda:0', dtype=torch.int8)
    arg1_1 = rand_strided((4096, 1), (1, 1), device='cuda:0', dtype=torch.float32)
    arg2_1 = rand_strided((4096, 1), (1, 1), device='cuda:0', dtype=torch.int8)
    arg3_1 = rand_strided((1, 4096), (4096, 1), device='cuda:0', dtype=torch.bfloat16)
    arg4_1 = rand_strided((4096, 4096), (4096, 1), device='cuda:0', dtype=torch.int8)
    arg5_1 = rand_strided((4096, 1), (1, 1), device='cuda:0', dtype=torch.float32)
    arg6_1 = rand_strided((4096, 1), (1, 1), device='cuda:0', dtype=torch.int8)
    arg7_1 = rand_strided((4096, 4096), (4096, 1), device='cuda:0', dtype=torch.int8)
    arg8_1 = rand_strided((4096, 1), (1, 1), device='cuda:0', dtype=torch.float32)
    arg9_1 = rand_strided((4096, 1), (1, 1), device='cuda:0', dtype=torch.int8)
    arg10_1 = rand_strided((4096, 4096), (4096, 1), device='cuda:0', dtype=torch.int8)
    arg11_1 = rand_strided((4096, 1), (1, 1), device='cuda:0', dtype=torch.float32)
    arg12_1 = rand_strided((4096, 1), (1, 1), device='cuda:0', dtype=torch.int8)
    arg13_1 = rand_strided((4096, 4096), (4096, 1), device='cuda:0', dtype=torch.int8)
    arg14_1 = rand_strided((4096, 1), (1, 1), device='cuda:0', dtype=torch.float32)
    arg15_1 = rand_strided((4096, 1), (1, 1), device='cuda:0', dtype=torch.int8)
    arg16_1 = rand_strided((4096, 4096), (4096, 1), device='cuda:0', dtype=torch.int8)
    arg17_1 = rand_strided((4096, 1), (1, 1), device='cuda:0', dtype=torch.float32)
    arg18_1 = rand_strided((4096, 1), (1, 1), device='cuda:0', dtype=torch.int8)
    arg19_1 = rand_strided((4096, 4096), (4096, 1), device='cuda:0', dtype=torch.int8)
    arg20_1 = rand_strided((4096, 1), (1, 1), device='cuda:0', dtype=torch.float32)
    arg21_1 = rand_strided((4096, 1), (1, 1), device='cuda:0', dtype=torch.int8)
    arg22_1 = rand_strided((4096, 4096), (4096, 1), device='cuda:0', dtype=torch.int8)
    arg23_1 = rand_strided((4096, 1), (1, 1), device='cuda:0', dtype=torch.float32)
    arg24_1 = rand_strided((4096, 1), (1, 1), device='cuda:0', dtype=torch.int8)
    return [arg0_1, arg1_1, arg2_1, arg3_1, arg4_1, arg5_1, arg6_1, arg7_1, arg8_1, arg9_1, arg10_1, arg11_1, arg12_1, arg13_1, arg14_1, arg15_1, arg16_1, arg17_1, arg18_1, arg19_1, arg20_1, arg21_1, arg22_1, arg23_1, arg24_1]


def benchmark_compiled_module(args, times=10, repeat=10):
    from torch._inductor.utils import print_performance
    fn = lambda: call(list(args))
    return print_performance(fn, times=times, repeat=repeat)


if __name__ == "__main__":
    from torch._inductor.wrapper_benchmark import compiled_module_main
    args = get_args()
    compiled_module_main('None', lambda times, repeat: benchmark_compiled_module(args, times=times, repeat=repeat))
