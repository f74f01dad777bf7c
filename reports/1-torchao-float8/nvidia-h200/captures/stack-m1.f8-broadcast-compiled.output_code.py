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


# kernel path: /work/main/runs/1-torchao-float8/20261120-233828/scratch/cache/f8-broadcast-compiled/inductor/5o/c5o2e3hoiok7mghmj67nuobhood4s2gdkoph7hhbzip2x2cu3lll.py
# Topologically Sorted Source Nodes: [input_1], Original ATen: [aten.mm, aten.t]
# Source node to ATen node mapping:
#   input_1 => convert_element_type, convert_element_type_1, mul, permute, sum_1, unsqueeze, unsqueeze_1
# Graph fragment:
#   %arg2_1 : Tensor "bf16[1, 4096][4096, 1]cuda:0" = PlaceHolder[target=arg2_1]
#   %dequantize_affine_float8 : Tensor "bf16[4096, 4096][4096, 1]cuda:0" = PlaceHolder[target=dequantize_affine_float8]
#   %convert_element_type : Tensor "f32[1, 4096][4096, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%arg2_1, torch.float32), kwargs = {})
#   %unsqueeze : Tensor "f32[1, 4096, 1][4096, 1, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.unsqueeze.default](args = (%convert_element_type, 2), kwargs = {})
#   %permute : Tensor "bf16[4096, 4096][1, 4096]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.permute.default](args = (%dequantize_affine_float8, [1, 0]), kwargs = {})
#   %convert_element_type_1 : Tensor "f32[4096, 4096][1, 4096]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%permute, torch.float32), kwargs = {})
#   %unsqueeze_1 : Tensor "f32[1, 4096, 4096][4096, 1, 4096]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.unsqueeze.default](args = (%convert_element_type_1, 0), kwargs = {})
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
    triton_meta={'signature': {'in_ptr0': '*bf16', 'in_ptr1': '*bf16', 'out_ptr0': '*fp32', 'xnumel': 'i32', 'r0_numel': 'i32', 'XBLOCK': 'constexpr', 'R0_BLOCK': 'constexpr'}, 'device': DeviceProperties(type='cuda', index=0, multi_processor_count=132, cc=90, major=9, regs_per_multiprocessor=65536, max_threads_per_multi_processor=2048, max_threads_per_block=1024, warp_size=32), 'constants': {}, 'native_matmul': False, 'enable_fp_fusion': True, 'launch_pdl': False, 'disable_ftz': False, 'configs': [{(0,): [['tt.divisibility', 16]], (1,): [['tt.divisibility', 16]], (2,): [['tt.divisibility', 16]], (3,): [['tt.divisibility', 16]], (4,): [['tt.divisibility', 16]]}]},
    inductor_meta={'grid_type': 'Grid1D', 'autotune_hints': set(), 'kernel_name': 'triton_red_fused_mm_t_0', 'mutated_arg_names': [], 'optimize_mem': True, 'no_x_dim': False, 'atomic_add_found': False, 'num_load': 2, 'num_store': 1, 'num_reduction': 1, 'backend_hash': '91D1D1166449D9E2EB66EB9770C9E2C3B0FEB787341F27FEB4D3F0338DA50336', 'assert_indirect_indexing': True, 'autotune_local_cache': True, 'autotune_pointwise': True, 'autotune_remote_cache': None, 'force_disable_caches': False, 'dynamic_scale_rblock': True, 'max_autotune': False, 'max_autotune_pointwise': False, 'min_split_scan_rblock': 256, 'spill_threshold': 16, 'store_cubin': False, 'deterministic': False, 'force_filter_reduction_configs': False, 'mix_order_reduction_allow_multi_stages': False, 'are_deterministic_algorithms_enabled': False, 'coordinate_descent_tuning': True, 'coordinate_descent_search_radius': 1, 'coordinate_descent_check_all_directions': True, 'tiling_scores': {'x': 32768, 'r0_': 33562624}}
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
        tmp2 = tl.load(in_ptr1 + (r0_1 + 4096*x0), r0_mask, eviction_policy='evict_first', other=0.0).to(tl.float32)
        tmp1 = tmp0.to(tl.float32)
        tmp3 = tmp2.to(tl.float32)
        tmp4 = tmp1 * tmp3
        tmp5 = tl.broadcast_to(tmp4, [XBLOCK, R0_BLOCK])
        tmp7 = _tmp6 + tmp5
        _tmp6 = tl.where(r0_mask, tmp7, _tmp6)
    tmp6 = tl.sum(_tmp6, 1)[:, None]
    tl.store(out_ptr0 + (x0), tmp6, None)
''', device_str='cuda')


# kernel path: /work/main/runs/1-torchao-float8/20261120-233828/scratch/cache/f8-broadcast-compiled/inductor/pe/cpeuzxhjfgctlp34vzxhs67vypythvozrwaxokj2kf7k2ztbm5m7.py
# Topologically Sorted Source Nodes: [input_2], Original ATen: [aten.mm, aten.t]
# Source node to ATen node mapping:
#   input_2 => convert_element_type_4, mul_1, permute_1, sum_2, unsqueeze_2, unsqueeze_3
# Graph fragment:
#   %sum_1 : Tensor "f32[1, 4096][4096, 1]cuda:0" = PlaceHolder[target=sum_1]
#   %dequantize_affine_float8_1 : Tensor "bf16[4096, 4096][4096, 1]cuda:0" = PlaceHolder[target=dequantize_affine_float8_1]
#   %unsqueeze_2 : Tensor "f32[1, 4096, 1][4096, 1, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.unsqueeze.default](args = (%sum_1, 2), kwargs = {})
#   %permute_1 : Tensor "bf16[4096, 4096][1, 4096]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.permute.default](args = (%dequantize_affine_float8_1, [1, 0]), kwargs = {})
#   %convert_element_type_4 : Tensor "f32[4096, 4096][1, 4096]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%permute_1, torch.float32), kwargs = {})
#   %unsqueeze_3 : Tensor "f32[1, 4096, 4096][4096, 1, 4096]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.unsqueeze.default](args = (%convert_element_type_4, 0), kwargs = {})
#   %mul_1 : Tensor "f32[1, 4096, 4096][4096, 1, 4096]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%unsqueeze_2, %unsqueeze_3), kwargs = {})
#   %sum_2 : Tensor "f32[1, 4096][4096, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.sum.dim_IntList](args = (%mul_1, [1]), kwargs = {})
#   return %sum_2
triton_red_fused_mm_t_1 = async_compile.triton('triton_red_fused_mm_t_1', '''
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
    triton_meta={'signature': {'in_ptr0': '*fp32', 'in_ptr1': '*bf16', 'out_ptr0': '*fp32', 'xnumel': 'i32', 'r0_numel': 'i32', 'XBLOCK': 'constexpr', 'R0_BLOCK': 'constexpr'}, 'device': DeviceProperties(type='cuda', index=0, multi_processor_count=132, cc=90, major=9, regs_per_multiprocessor=65536, max_threads_per_multi_processor=2048, max_threads_per_block=1024, warp_size=32), 'constants': {}, 'native_matmul': False, 'enable_fp_fusion': True, 'launch_pdl': False, 'disable_ftz': False, 'configs': [{(0,): [['tt.divisibility', 16]], (1,): [['tt.divisibility', 16]], (2,): [['tt.divisibility', 16]], (3,): [['tt.divisibility', 16]], (4,): [['tt.divisibility', 16]]}]},
    inductor_meta={'grid_type': 'Grid1D', 'autotune_hints': set(), 'kernel_name': 'triton_red_fused_mm_t_1', 'mutated_arg_names': [], 'optimize_mem': True, 'no_x_dim': False, 'atomic_add_found': False, 'num_load': 2, 'num_store': 1, 'num_reduction': 1, 'backend_hash': '91D1D1166449D9E2EB66EB9770C9E2C3B0FEB787341F27FEB4D3F0338DA50336', 'assert_indirect_indexing': True, 'autotune_local_cache': True, 'autotune_pointwise': True, 'autotune_remote_cache': None, 'force_disable_caches': False, 'dynamic_scale_rblock': True, 'max_autotune': False, 'max_autotune_pointwise': False, 'min_split_scan_rblock': 256, 'spill_threshold': 16, 'store_cubin': False, 'deterministic': False, 'force_filter_reduction_configs': False, 'mix_order_reduction_allow_multi_stages': False, 'are_deterministic_algorithms_enabled': False, 'coordinate_descent_tuning': True, 'coordinate_descent_search_radius': 1, 'coordinate_descent_check_all_directions': True, 'tiling_scores': {'x': 32768, 'r0_': 33570816}}
)
@triton.jit
def triton_red_fused_mm_t_1(in_ptr0, in_ptr1, out_ptr0, xnumel, r0_numel, XBLOCK : tl.constexpr, R0_BLOCK : tl.constexpr):
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
    _tmp5 = tl.full([XBLOCK, R0_BLOCK], 0, tl.float32)
    for r0_offset in tl.range(0, r0_numel, R0_BLOCK):
        r0_index = r0_offset + r0_base
        r0_mask = r0_index < r0_numel
        roffset = r0_offset
        rindex = r0_index
        r0_1 = r0_index
        tmp0 = tl.load(in_ptr0 + (r0_1), r0_mask, eviction_policy='evict_last', other=0.0)
        tmp1 = tl.load(in_ptr1 + (r0_1 + 4096*x0), r0_mask, eviction_policy='evict_first', other=0.0).to(tl.float32)
        tmp2 = tmp1.to(tl.float32)
        tmp3 = tmp0 * tmp2
        tmp4 = tl.broadcast_to(tmp3, [XBLOCK, R0_BLOCK])
        tmp6 = _tmp5 + tmp4
        _tmp5 = tl.where(r0_mask, tmp6, _tmp5)
    tmp5 = tl.sum(_tmp5, 1)[:, None]
    tl.store(out_ptr0 + (x0), tmp5, None)
''', device_str='cuda')


# kernel path: /work/main/runs/1-torchao-float8/20261120-233828/scratch/cache/f8-broadcast-compiled/inductor/uy/cuyajfa5khjuoodyunytbgapenk7u2hai4pk6vpy6j55mfgepbue.py
# Topologically Sorted Source Nodes: [input_8], Original ATen: [aten.mm, aten.t]
# Source node to ATen node mapping:
#   input_8 => convert_element_type_22, convert_element_type_23, mul_7, permute_7, sum_8, unsqueeze_14, unsqueeze_15
# Graph fragment:
#   %sum_7 : Tensor "f32[1, 4096][4096, 1]cuda:0" = PlaceHolder[target=sum_7]
#   %dequantize_affine_float8_7 : Tensor "bf16[4096, 4096][4096, 1]cuda:0" = PlaceHolder[target=dequantize_affine_float8_7]
#   %sum_8 : Tensor "f32[1, 4096][4096, 1]cuda:0" = PlaceHolder[target=sum_8]
#   %unsqueeze_14 : Tensor "f32[1, 4096, 1][4096, 1, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.unsqueeze.default](args = (%sum_7, 2), kwargs = {})
#   %permute_7 : Tensor "bf16[4096, 4096][1, 4096]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.permute.default](args = (%dequantize_affine_float8_7, [1, 0]), kwargs = {})
#   %convert_element_type_22 : Tensor "f32[4096, 4096][1, 4096]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%permute_7, torch.float32), kwargs = {})
#   %unsqueeze_15 : Tensor "f32[1, 4096, 4096][4096, 1, 4096]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.unsqueeze.default](args = (%convert_element_type_22, 0), kwargs = {})
#   %mul_7 : Tensor "f32[1, 4096, 4096][4096, 1, 4096]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%unsqueeze_14, %unsqueeze_15), kwargs = {})
#   %sum_8 : Tensor "f32[1, 4096][4096, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.sum.dim_IntList](args = (%mul_7, [1]), kwargs = {})
#   %convert_element_type_23 : Tensor "bf16[1, 4096][4096, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%sum_8, torch.bfloat16), kwargs = {})
#   return %sum_8,%convert_element_type_23
triton_red_fused_mm_t_2 = async_compile.triton('triton_red_fused_mm_t_2', '''
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
    triton_meta={'signature': {'in_ptr0': '*fp32', 'in_ptr1': '*bf16', 'out_ptr1': '*bf16', 'xnumel': 'i32', 'r0_numel': 'i32', 'XBLOCK': 'constexpr', 'R0_BLOCK': 'constexpr'}, 'device': DeviceProperties(type='cuda', index=0, multi_processor_count=132, cc=90, major=9, regs_per_multiprocessor=65536, max_threads_per_multi_processor=2048, max_threads_per_block=1024, warp_size=32), 'constants': {}, 'native_matmul': False, 'enable_fp_fusion': True, 'launch_pdl': False, 'disable_ftz': False, 'configs': [{(0,): [['tt.divisibility', 16]], (1,): [['tt.divisibility', 16]], (2,): [['tt.divisibility', 16]], (3,): [['tt.divisibility', 16]], (4,): [['tt.divisibility', 16]]}]},
    inductor_meta={'grid_type': 'Grid1D', 'autotune_hints': set(), 'kernel_name': 'triton_red_fused_mm_t_2', 'mutated_arg_names': [], 'optimize_mem': True, 'no_x_dim': False, 'atomic_add_found': False, 'num_load': 2, 'num_store': 1, 'num_reduction': 1, 'backend_hash': '91D1D1166449D9E2EB66EB9770C9E2C3B0FEB787341F27FEB4D3F0338DA50336', 'assert_indirect_indexing': True, 'autotune_local_cache': True, 'autotune_pointwise': True, 'autotune_remote_cache': None, 'force_disable_caches': False, 'dynamic_scale_rblock': True, 'max_autotune': False, 'max_autotune_pointwise': False, 'min_split_scan_rblock': 256, 'spill_threshold': 16, 'store_cubin': False, 'deterministic': False, 'force_filter_reduction_configs': False, 'mix_order_reduction_allow_multi_stages': False, 'are_deterministic_algorithms_enabled': False, 'coordinate_descent_tuning': True, 'coordinate_descent_search_radius': 1, 'coordinate_descent_check_all_directions': True, 'tiling_scores': {'x': 16384, 'r0_': 33570816}}
)
@triton.jit
def triton_red_fused_mm_t_2(in_ptr0, in_ptr1, out_ptr1, xnumel, r0_numel, XBLOCK : tl.constexpr, R0_BLOCK : tl.constexpr):
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
    _tmp5 = tl.full([XBLOCK, R0_BLOCK], 0, tl.float32)
    for r0_offset in tl.range(0, r0_numel, R0_BLOCK):
        r0_index = r0_offset + r0_base
        r0_mask = r0_index < r0_numel
        roffset = r0_offset
        rindex = r0_index
        r0_1 = r0_index
        tmp0 = tl.load(in_ptr0 + (r0_1), r0_mask, eviction_policy='evict_last', other=0.0)
        tmp1 = tl.load(in_ptr1 + (r0_1 + 4096*x0), r0_mask, eviction_policy='evict_first', other=0.0).to(tl.float32)
        tmp2 = tmp1.to(tl.float32)
        tmp3 = tmp0 * tmp2
        tmp4 = tl.broadcast_to(tmp3, [XBLOCK, R0_BLOCK])
        tmp6 = _tmp5 + tmp4
        _tmp5 = tl.where(r0_mask, tmp6, _tmp5)
    tmp5 = tl.sum(_tmp5, 1)[:, None]
    tmp7 = tmp5.to(tl.float32)
    tl.store(out_ptr1 + (x0), tmp7, None)
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
            # Topologically Sorted Source Nodes: [input_1], Original ATen: [torchao.dequantize_affine_float8]
            buf0 = torch.ops.torchao.dequantize_affine_float8.default(arg0_1, arg1_1, torch.bfloat16)
            del arg0_1
            del arg1_1
            buf1 = buf0
            assert_size_stride(buf1, (4096, 4096), (4096, 1), 'torch.ops.torchao.dequantize_affine_float8.default')
            assert_alignment(buf1, 16, 'torch.ops.torchao.dequantize_affine_float8.default')
            del buf0
            buf2 = empty_strided_cuda((1, 4096), (4096, 1), torch.float32)
            # Topologically Sorted Source Nodes: [input_1], Original ATen: [aten.mm, aten.t]
            stream0 = get_raw_stream(0)
            triton_red_fused_mm_t_0.run(arg2_1, buf1, buf2, 4096, 4096, stream=stream0)
            del arg2_1
            del buf1
            # Topologically Sorted Source Nodes: [input_2], Original ATen: [torchao.dequantize_affine_float8]
            buf3 = torch.ops.torchao.dequantize_affine_float8.default(arg3_1, arg4_1, torch.bfloat16)
            del arg3_1
            del arg4_1
            buf4 = buf3
            assert_size_stride(buf4, (4096, 4096), (4096, 1), 'torch.ops.torchao.dequantize_affine_float8.default')
            assert_alignment(buf4, 16, 'torch.ops.torchao.dequantize_affine_float8.default')
            del buf3
            buf5 = empty_strided_cuda((1, 4096), (4096, 1), torch.float32)
            # Topologically Sorted Source Nodes: [input_2], Original ATen: [aten.mm, aten.t]
            stream0 = get_raw_stream(0)
            triton_red_fused_mm_t_1.run(buf2, buf4, buf5, 4096, 4096, stream=stream0)
            del buf4
            # Topologically Sorted Source Nodes: [input_3], Original ATen: [torchao.dequantize_affine_float8]
            buf6 = torch.ops.torchao.dequantize_affine_float8.default(arg5_1, arg6_1, torch.bfloat16)
            del arg5_1
            del arg6_1
            buf7 = buf6
            assert_size_stride(buf7, (4096, 4096), (4096, 1), 'torch.ops.torchao.dequantize_affine_float8.default')
            assert_alignment(buf7, 16, 'torch.ops.torchao.dequantize_affine_float8.default')
            del buf6
            buf8 = buf2; del buf2  # reuse
            # Topologically Sorted Source Nodes: [input_3], Original ATen: [aten.mm, aten.t]
            stream0 = get_raw_stream(0)
            triton_red_fused_mm_t_1.run(buf5, buf7, buf8, 4096, 4096, stream=stream0)
            del buf7
            # Topologically Sorted Source Nodes: [input_4], Original ATen: [torchao.dequantize_affine_float8]
            buf9 = torch.ops.torchao.dequantize_affine_float8.default(arg7_1, arg8_1, torch.bfloat16)
            del arg7_1
            del arg8_1
            buf10 = buf9
            assert_size_stride(buf10, (4096, 4096), (4096, 1), 'torch.ops.torchao.dequantize_affine_float8.default')
            assert_alignment(buf10, 16, 'torch.ops.torchao.dequantize_affine_float8.default')
            del buf9
            buf11 = buf5; del buf5  # reuse
            # Topologically Sorted Source Nodes: [input_4], Original ATen: [aten.mm, aten.t]
            stream0 = get_raw_stream(0)
            triton_red_fused_mm_t_1.run(buf8, buf10, buf11, 4096, 4096, stream=stream0)
            del buf10
            # Topologically Sorted Source Nodes: [input_5], Original ATen: [torchao.dequantize_affine_float8]
            buf12 = torch.ops.torchao.dequantize_affine_float8.default(arg9_1, arg10_1, torch.bfloat16)
            del arg10_1
            del arg9_1
            buf13 = buf12
            assert_size_stride(buf13, (4096, 4096), (4096, 1), 'torch.ops.torchao.dequantize_affine_float8.default')
            assert_alignment(buf13, 16, 'torch.ops.torchao.dequantize_affine_float8.default')
            del buf12
            buf14 = buf8; del buf8  # reuse
            # Topologically Sorted Source Nodes: [input_5], Original ATen: [aten.mm, aten.t]
            stream0 = get_raw_stream(0)
            triton_red_fused_mm_t_1.run(buf11, buf13, buf14, 4096, 4096, stream=stream0)
            del buf13
            # Topologically Sorted Source Nodes: [input_6], Original ATen: [torchao.dequantize_affine_float8]
            buf15 = torch.ops.torchao.dequantize_affine_float8.default(arg11_1, arg12_1, torch.bfloat16)
            del arg11_1
            del arg12_1
            buf16 = buf15
            assert_size_stride(buf16, (4096, 4096), (4096, 1), 'torch.ops.torchao.dequantize_affine_float8.default')
            assert_alignment(buf16, 16, 'torch.ops.torchao.dequantize_affine_float8.default')
            del buf15
            buf17 = buf11; del buf11  # reuse
            # Topologically Sorted Source Nodes: [input_6], Original ATen: [aten.mm, aten.t]
            stream0 = get_raw_stream(0)
            triton_red_fused_mm_t_1.run(buf14, buf16, buf17, 4096, 4096, stream=stream0)
            del buf16
            # Topologically Sorted Source Nodes: [input_7], Original ATen: [torchao.dequantize_affine_float8]
            buf18 = torch.ops.torchao.dequantize_affine_float8.default(arg13_1, arg14_1, torch.bfloat16)
            del arg13_1
            del arg14_1
            buf19 = buf18
            assert_size_stride(buf19, (4096, 4096), (4096, 1), 'torch.ops.torchao.dequantize_affine_float8.default')
            assert_alignment(buf19, 16, 'torch.ops.torchao.dequantize_affine_float8.default')
            del buf18
            buf20 = buf14; del buf14  # reuse
            # Topologically Sorted Source Nodes: [input_7], Original ATen: [aten.mm, aten.t]
            stream0 = get_raw_stream(0)
            triton_red_fused_mm_t_1.run(buf17, buf19, buf20, 4096, 4096, stream=stream0)
            del buf17
            del buf19
            # Topologically Sorted Source Nodes: [input_8], Original ATen: [torchao.dequantize_affine_float8]
            buf21 = torch.ops.torchao.dequantize_affine_float8.default(arg15_1, arg16_1, torch.bfloat16)
            del arg15_1
            del arg16_1
            buf22 = buf21
            assert_size_stride(buf22, (4096, 4096), (4096, 1), 'torch.ops.torchao.dequantize_affine_float8.default')
            assert_alignment(buf22, 16, 'torch.ops.torchao.dequantize_affine_float8.default')
            del buf21
            buf24 = empty_strided_cuda((1, 4096), (4096, 1), torch.bfloat16)
            # Topologically Sorted Source Nodes: [input_8], Original ATen: [aten.mm, aten.t]
            stream0 = get_raw_stream(0)
            triton_red_fused_mm_t_2.run(buf20, buf22, buf24, 4096, 4096, stream=stream0)
            del buf20
            del buf22
        return (buf24, )

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
