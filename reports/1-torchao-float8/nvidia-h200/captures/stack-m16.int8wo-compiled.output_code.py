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


# kernel path: /work/main/runs/1-torchao-float8/20261120-233828/scratch/cache/int8wo-compiled/inductor/sc/csc2ko6zukeq5jtoig7ufls4r5j32erjw5yzwd2yw7lm2nqibagm.py
# Topologically Sorted Source Nodes: [input_1], Original ATen: [aten._to_copy]
# Source node to ATen node mapping:
#   input_1 => convert_element_type_3
# Graph fragment:
#   %arg1_1 : Tensor "f32[4096, 1][1, 1]cuda:0" = PlaceHolder[target=arg1_1]
#   %convert_element_type_3 : Tensor "bf16[4096, 1][1, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%arg1_1, torch.bfloat16), kwargs = {})
#   return %convert_element_type_3
triton_poi_fused__to_copy_0 = async_compile.triton('triton_poi_fused__to_copy_0', '''
import triton
import triton.language as tl

from torch._inductor.runtime import triton_helpers, triton_heuristics
from torch._inductor.runtime.triton_helpers import libdevice, math as tl_math
from torch._inductor.runtime.hints import AutotuneHint, ReductionHint, TileHint, DeviceProperties
triton_helpers.set_driver_to_gpu()

@triton_heuristics.pointwise(
    size_hints={'x': 4096}, 
    filename=__file__,
    triton_meta={'signature': {'in_ptr0': '*fp32', 'out_ptr0': '*bf16', 'xnumel': 'i32', 'XBLOCK': 'constexpr'}, 'device': DeviceProperties(type='cuda', index=0, multi_processor_count=132, cc=90, major=9, regs_per_multiprocessor=65536, max_threads_per_multi_processor=2048, max_threads_per_block=1024, warp_size=32), 'constants': {}, 'native_matmul': False, 'enable_fp_fusion': True, 'launch_pdl': False, 'disable_ftz': False, 'configs': [{(0,): [['tt.divisibility', 16]], (1,): [['tt.divisibility', 16]], (2,): [['tt.divisibility', 16]]}]},
    inductor_meta={'grid_type': 'Grid1D', 'autotune_hints': set(), 'kernel_name': 'triton_poi_fused__to_copy_0', 'mutated_arg_names': [], 'optimize_mem': True, 'no_x_dim': False, 'atomic_add_found': False, 'num_load': 1, 'num_store': 1, 'num_reduction': 0, 'backend_hash': '91D1D1166449D9E2EB66EB9770C9E2C3B0FEB787341F27FEB4D3F0338DA50336', 'assert_indirect_indexing': True, 'autotune_local_cache': True, 'autotune_pointwise': True, 'autotune_remote_cache': None, 'force_disable_caches': False, 'dynamic_scale_rblock': True, 'max_autotune': False, 'max_autotune_pointwise': False, 'min_split_scan_rblock': 256, 'spill_threshold': 16, 'store_cubin': False, 'deterministic': False, 'force_filter_reduction_configs': False, 'mix_order_reduction_allow_multi_stages': False, 'are_deterministic_algorithms_enabled': False, 'coordinate_descent_tuning': True, 'coordinate_descent_search_radius': 1, 'coordinate_descent_check_all_directions': True, 'tiling_scores': {'x': 32768}},
    min_elem_per_thread=0
)
@triton.jit
def triton_poi_fused__to_copy_0(in_ptr0, out_ptr0, xnumel, XBLOCK : tl.constexpr):
    xnumel = 4096
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:]
    xmask = tl.full([XBLOCK], True, tl.int1)[:]
    x0 = xindex
    tmp0 = tl.load(in_ptr0 + (x0), None)
    tmp1 = tmp0.to(tl.float32)
    tl.store(out_ptr0 + (x0), tmp1, None)
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
        assert_size_stride(arg3_1, (16, 4096), (4096, 1))
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
            buf0 = empty_strided_cuda((4096, 1), (1, 1), torch.bfloat16)
            # Topologically Sorted Source Nodes: [input_1], Original ATen: [aten._to_copy]
            stream0 = get_raw_stream(0)
            triton_poi_fused__to_copy_0.run(arg1_1, buf0, 4096, stream=stream0)
            del arg1_1
            # Topologically Sorted Source Nodes: [input_1], Original ATen: [aten._to_copy, aten.view, aten.mul]
            buf1 = extern_kernels._weight_int8pack_mm(arg3_1, arg0_1, reinterpret_tensor(buf0, (4096, ), (1, ), 0))
            assert_size_stride(buf1, (16, 4096), (4096, 1), "torch._inductor.fx_passes.functools.partial(<function _register_woq_lowering.<locals>.woq_int8 at 0x7fd46eb35440>, Match(..., [[1, 0], torch.bfloat16], {'x': arg3_1, 'weight': arg0_1, 'scales': view_1}))")
            del arg0_1
            del arg3_1
            buf2 = buf0; del buf0  # reuse
            # Topologically Sorted Source Nodes: [input_2], Original ATen: [aten._to_copy]
            stream0 = get_raw_stream(0)
            triton_poi_fused__to_copy_0.run(arg5_1, buf2, 4096, stream=stream0)
            del arg5_1
            # Topologically Sorted Source Nodes: [input_2], Original ATen: [aten._to_copy, aten.view, aten.mul]
            buf3 = extern_kernels._weight_int8pack_mm(buf1, arg4_1, reinterpret_tensor(buf2, (4096, ), (1, ), 0))
            assert_size_stride(buf3, (16, 4096), (4096, 1), "torch._inductor.fx_passes.functools.partial(<function _register_woq_lowering.<locals>.woq_int8 at 0x7fd46eb35440>, Match(..., [[1, 0], torch.bfloat16], {'x': mul, 'weight': arg4_1, 'scales': view_4}))")
            del arg4_1
            del buf1
            buf4 = buf2; del buf2  # reuse
            # Topologically Sorted Source Nodes: [input_3], Original ATen: [aten._to_copy]
            stream0 = get_raw_stream(0)
            triton_poi_fused__to_copy_0.run(arg8_1, buf4, 4096, stream=stream0)
            del arg8_1
            # Topologically Sorted Source Nodes: [input_3], Original ATen: [aten._to_copy, aten.view, aten.mul]
            buf5 = extern_kernels._weight_int8pack_mm(buf3, arg7_1, reinterpret_tensor(buf4, (4096, ), (1, ), 0))
            assert_size_stride(buf5, (16, 4096), (4096, 1), "torch._inductor.fx_passes.functools.partial(<function _register_woq_lowering.<locals>.woq_int8 at 0x7fd46eb35440>, Match(..., [[1, 0], torch.bfloat16], {'x': mul_1, 'weight': arg7_1, 'scales': view_7}))")
            del arg7_1
            del buf3
            buf6 = buf4; del buf4  # reuse
            # Topologically Sorted Source Nodes: [input_4], Original ATen: [aten._to_copy]
            stream0 = get_raw_stream(0)
            triton_poi_fused__to_copy_0.run(arg11_1, buf6, 4096, stream=stream0)
            del arg11_1
            # Topologically Sorted Source Nodes: [input_4], Original ATen: [aten._to_copy, aten.view, aten.mul]
            buf7 = extern_kernels._weight_int8pack_mm(buf5, arg10_1, reinterpret_tensor(buf6, (4096, ), (1, ), 0))
            assert_size_stride(buf7, (16, 4096), (4096, 1), "torch._inductor.fx_passes.functools.partial(<function _register_woq_lowering.<locals>.woq_int8 at 0x7fd46eb35440>, Match(..., [[1, 0], torch.bfloat16], {'x': mul_2, 'weight': arg10_1, 'scales': view_10}))")
            del arg10_1
            del buf5
            buf8 = buf6; del buf6  # reuse
            # Topologically Sorted Source Nodes: [input_5], Original ATen: [aten._to_copy]
            stream0 = get_raw_stream(0)
            triton_poi_fused__to_copy_0.run(arg14_1, buf8, 4096, stream=stream0)
            del arg14_1
            # Topologically Sorted Source Nodes: [input_5], Original ATen: [aten._to_copy, aten.view, aten.mul]
            buf9 = extern_kernels._weight_int8pack_mm(buf7, arg13_1, reinterpret_tensor(buf8, (4096, ), (1, ), 0))
            assert_size_stride(buf9, (16, 4096), (4096, 1), "torch._inductor.fx_passes.functools.partial(<function _register_woq_lowering.<locals>.woq_int8 at 0x7fd46eb35440>, Match(..., [[1, 0], torch.bfloat16], {'x': mul_3, 'weight': arg13_1, 'scales': view_13}))")
            del arg13_1
            del buf7
            buf10 = buf8; del buf8  # reuse
            # Topologically Sorted Source Nodes: [input_6], Original ATen: [aten._to_copy]
            stream0 = get_raw_stream(0)
            triton_poi_fused__to_copy_0.run(arg17_1, buf10, 4096, stream=stream0)
            del arg17_1
            # Topologically Sorted Source Nodes: [input_6], Original ATen: [aten._to_copy, aten.view, aten.mul]
            buf11 = extern_kernels._weight_int8pack_mm(buf9, arg16_1, reinterpret_tensor(buf10, (4096, ), (1, ), 0))
            assert_size_stride(buf11, (16, 4096), (4096, 1), "torch._inductor.fx_passes.functools.partial(<function _register_woq_lowering.<locals>.woq_int8 at 0x7fd46eb35440>, Match(..., [[1, 0], torch.bfloat16], {'x': mul_4, 'weight': arg16_1, 'scales': view_16}))")
            del arg16_1
            del buf9
            buf12 = buf10; del buf10  # reuse
            # Topologically Sorted Source Nodes: [input_7], Original ATen: [aten._to_copy]
            stream0 = get_raw_stream(0)
            triton_poi_fused__to_copy_0.run(arg20_1, buf12, 4096, stream=stream0)
            del arg20_1
            # Topologically Sorted Source Nodes: [input_7], Original ATen: [aten._to_copy, aten.view, aten.mul]
            buf13 = extern_kernels._weight_int8pack_mm(buf11, arg19_1, reinterpret_tensor(buf12, (4096, ), (1, ), 0))
            assert_size_stride(buf13, (16, 4096), (4096, 1), "torch._inductor.fx_passes.functools.partial(<function _register_woq_lowering.<locals>.woq_int8 at 0x7fd46eb35440>, Match(..., [[1, 0], torch.bfloat16], {'x': mul_5, 'weight': arg19_1, 'scales': view_19}))")
            del arg19_1
            del buf11
            buf14 = buf12; del buf12  # reuse
            # Topologically Sorted Source Nodes: [input_8], Original ATen: [aten._to_copy]
            stream0 = get_raw_stream(0)
            triton_poi_fused__to_copy_0.run(arg23_1, buf14, 4096, stream=stream0)
            del arg23_1
            # Topologically Sorted Source Nodes: [input_8], Original ATen: [aten._to_copy, aten.view, aten.mul]
            buf15 = extern_kernels._weight_int8pack_mm(buf13, arg22_1, reinterpret_tensor(buf14, (4096, ), (1, ), 0))
            assert_size_stride(buf15, (16, 4096), (4096, 1), "torch._inductor.fx_passes.functools.partial(<function _register_woq_lowering.<locals>.woq_int8 at 0x7fd46eb35440>, Match(..., [[1, 0], torch.bfloat16], {'x': mul_6, 'weight': arg22_1, 'scales': view_22}))")
            del arg22_1
            del buf13
            del buf14
        return (buf15, )

runner = Runner(partitions=[])
call = runner.call
recursively_apply_fns = runner.recursively_apply_fns


def get_args():
    from torch._dynamo.testing import rand_strided
    arg0_1 = rand_strided((4096, 4096), (4096, 1), device='cuda:0', dtype=torch.int8)
    arg1_1 = rand_strided((4096, 1), (1, 1), device='cuda:0', dtype=torch.float32)
    arg2_1 = rand_strided((4096, 1), (1, 1), device='cuda:0', dtype=torch.int8)
    arg3_1 = rand_strided((16, 4096), (4096, 1), device='cuda:0', dtype=torch.bfloat16)
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
