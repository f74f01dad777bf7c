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


# kernel path: /work/main/runs/1-torchao-float8/20261120-233828/scratch/cache/f8-0.14.1-compiled/inductor/uu/cuubrpnaensfoo5gdfyud6kbmxbdwuiqc4chm6uvxucgocib3x7r.py
# Topologically Sorted Source Nodes: [input_1], Original ATen: [aten._to_copy, aten.mul]
# Source node to ATen node mapping:
#   input_1 => convert_element_type, convert_element_type_1, mul
# Graph fragment:
#   %arg0_1 : Tensor "f8e4m3fn[4096, 4096][4096, 1]cuda:0" = PlaceHolder[target=arg0_1]
#   %arg1_1 : Tensor "f32[4096, 1][1, 1]cuda:0" = PlaceHolder[target=arg1_1]
#   %convert_element_type : Tensor "f32[4096, 4096][4096, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%arg0_1, torch.float32), kwargs = {})
#   %mul : Tensor "f32[4096, 4096][4096, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%convert_element_type, %arg1_1), kwargs = {})
#   %convert_element_type_1 : Tensor "bf16[4096, 4096][4096, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%mul, torch.bfloat16), kwargs = {})
#   return %convert_element_type_1
triton_poi_fused__to_copy_mul_0 = async_compile.triton('triton_poi_fused__to_copy_mul_0', '''
import triton
import triton.language as tl

from torch._inductor.runtime import triton_helpers, triton_heuristics
from torch._inductor.runtime.triton_helpers import libdevice, math as tl_math
from torch._inductor.runtime.hints import AutotuneHint, ReductionHint, TileHint, DeviceProperties
triton_helpers.set_driver_to_gpu()

@triton_heuristics.pointwise(
    size_hints={'x': 16777216}, 
    filename=__file__,
    triton_meta={'signature': {'in_ptr0': '*fp8e4nv', 'in_ptr1': '*fp32', 'out_ptr0': '*bf16', 'xnumel': 'i32', 'XBLOCK': 'constexpr'}, 'device': DeviceProperties(type='cuda', index=0, multi_processor_count=132, cc=90, major=9, regs_per_multiprocessor=65536, max_threads_per_multi_processor=2048, max_threads_per_block=1024, warp_size=32), 'constants': {}, 'native_matmul': False, 'enable_fp_fusion': True, 'launch_pdl': False, 'disable_ftz': False, 'configs': [{(0,): [['tt.divisibility', 16]], (1,): [['tt.divisibility', 16]], (2,): [['tt.divisibility', 16]], (3,): [['tt.divisibility', 16]]}]},
    inductor_meta={'grid_type': 'Grid1D', 'autotune_hints': set(), 'kernel_name': 'triton_poi_fused__to_copy_mul_0', 'mutated_arg_names': [], 'optimize_mem': True, 'no_x_dim': False, 'atomic_add_found': False, 'num_load': 2, 'num_store': 1, 'num_reduction': 0, 'backend_hash': '91D1D1166449D9E2EB66EB9770C9E2C3B0FEB787341F27FEB4D3F0338DA50336', 'assert_indirect_indexing': True, 'autotune_local_cache': True, 'autotune_pointwise': True, 'autotune_remote_cache': None, 'force_disable_caches': False, 'dynamic_scale_rblock': True, 'max_autotune': False, 'max_autotune_pointwise': False, 'min_split_scan_rblock': 256, 'spill_threshold': 16, 'store_cubin': False, 'deterministic': False, 'force_filter_reduction_configs': False, 'mix_order_reduction_allow_multi_stages': False, 'are_deterministic_algorithms_enabled': False, 'coordinate_descent_tuning': True, 'coordinate_descent_search_radius': 1, 'coordinate_descent_check_all_directions': True, 'tiling_scores': {'x': 83886080}},
    min_elem_per_thread=2
)
@triton.jit
def triton_poi_fused__to_copy_mul_0(in_ptr0, in_ptr1, out_ptr0, xnumel, XBLOCK : tl.constexpr):
    xnumel = 16777216
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:]
    xmask = tl.full([XBLOCK], True, tl.int1)[:]
    x2 = xindex
    x1 = xindex // 4096
    tmp0 = tl.load(in_ptr0 + (x2), None)
    tmp2 = tl.load(in_ptr1 + (x1), None, eviction_policy='evict_last')
    tmp1 = tmp0.to(tl.float32)
    tmp3 = tmp1 * tmp2
    tmp4 = tmp3.to(tl.float32)
    tl.store(out_ptr0 + (x2), tmp4, None)
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
        assert_size_stride(arg2_1, (16, 4096), (4096, 1))
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
            buf0 = empty_strided_cuda((4096, 4096), (4096, 1), torch.bfloat16)
            # Topologically Sorted Source Nodes: [input_1], Original ATen: [aten._to_copy, aten.mul]
            stream0 = get_raw_stream(0)
            triton_poi_fused__to_copy_mul_0.run(arg0_1, arg1_1, buf0, 16777216, stream=stream0)
            del arg0_1
            del arg1_1
            buf1 = empty_strided_cuda((16, 4096), (4096, 1), torch.bfloat16)
            # Topologically Sorted Source Nodes: [input_1], Original ATen: [aten._to_copy, aten.mul, aten.t, aten.mm]
            extern_kernels.mm(arg2_1, reinterpret_tensor(buf0, (4096, 4096), (1, 4096), 0), out=buf1)
            del arg2_1
            buf2 = buf0; del buf0  # reuse
            # Topologically Sorted Source Nodes: [input_2], Original ATen: [aten._to_copy, aten.mul]
            stream0 = get_raw_stream(0)
            triton_poi_fused__to_copy_mul_0.run(arg3_1, arg4_1, buf2, 16777216, stream=stream0)
            del arg3_1
            del arg4_1
            buf3 = empty_strided_cuda((16, 4096), (4096, 1), torch.bfloat16)
            # Topologically Sorted Source Nodes: [input_2], Original ATen: [aten._to_copy, aten.mul, aten.t, aten.mm]
            extern_kernels.mm(buf1, reinterpret_tensor(buf2, (4096, 4096), (1, 4096), 0), out=buf3)
            buf4 = buf2; del buf2  # reuse
            # Topologically Sorted Source Nodes: [input_3], Original ATen: [aten._to_copy, aten.mul]
            stream0 = get_raw_stream(0)
            triton_poi_fused__to_copy_mul_0.run(arg5_1, arg6_1, buf4, 16777216, stream=stream0)
            del arg5_1
            del arg6_1
            buf5 = buf1; del buf1  # reuse
            # Topologically Sorted Source Nodes: [input_3], Original ATen: [aten._to_copy, aten.mul, aten.t, aten.mm]
            extern_kernels.mm(buf3, reinterpret_tensor(buf4, (4096, 4096), (1, 4096), 0), out=buf5)
            buf6 = buf4; del buf4  # reuse
            # Topologically Sorted Source Nodes: [input_4], Original ATen: [aten._to_copy, aten.mul]
            stream0 = get_raw_stream(0)
            triton_poi_fused__to_copy_mul_0.run(arg7_1, arg8_1, buf6, 16777216, stream=stream0)
            del arg7_1
            del arg8_1
            buf7 = buf3; del buf3  # reuse
            # Topologically Sorted Source Nodes: [input_4], Original ATen: [aten._to_copy, aten.mul, aten.t, aten.mm]
            extern_kernels.mm(buf5, reinterpret_tensor(buf6, (4096, 4096), (1, 4096), 0), out=buf7)
            buf8 = buf6; del buf6  # reuse
            # Topologically Sorted Source Nodes: [input_5], Original ATen: [aten._to_copy, aten.mul]
            stream0 = get_raw_stream(0)
            triton_poi_fused__to_copy_mul_0.run(arg9_1, arg10_1, buf8, 16777216, stream=stream0)
            del arg10_1
            del arg9_1
            buf9 = buf5; del buf5  # reuse
            # Topologically Sorted Source Nodes: [input_5], Original ATen: [aten._to_copy, aten.mul, aten.t, aten.mm]
            extern_kernels.mm(buf7, reinterpret_tensor(buf8, (4096, 4096), (1, 4096), 0), out=buf9)
            buf10 = buf8; del buf8  # reuse
            # Topologically Sorted Source Nodes: [input_6], Original ATen: [aten._to_copy, aten.mul]
            stream0 = get_raw_stream(0)
            triton_poi_fused__to_copy_mul_0.run(arg11_1, arg12_1, buf10, 16777216, stream=stream0)
            del arg11_1
            del arg12_1
            buf11 = buf7; del buf7  # reuse
            # Topologically Sorted Source Nodes: [input_6], Original ATen: [aten._to_copy, aten.mul, aten.t, aten.mm]
            extern_kernels.mm(buf9, reinterpret_tensor(buf10, (4096, 4096), (1, 4096), 0), out=buf11)
            buf12 = buf10; del buf10  # reuse
            # Topologically Sorted Source Nodes: [input_7], Original ATen: [aten._to_copy, aten.mul]
            stream0 = get_raw_stream(0)
            triton_poi_fused__to_copy_mul_0.run(arg13_1, arg14_1, buf12, 16777216, stream=stream0)
            del arg13_1
            del arg14_1
            buf13 = buf9; del buf9  # reuse
            # Topologically Sorted Source Nodes: [input_7], Original ATen: [aten._to_copy, aten.mul, aten.t, aten.mm]
            extern_kernels.mm(buf11, reinterpret_tensor(buf12, (4096, 4096), (1, 4096), 0), out=buf13)
            buf14 = buf12; del buf12  # reuse
            # Topologically Sorted Source Nodes: [input_8], Original ATen: [aten._to_copy, aten.mul]
            stream0 = get_raw_stream(0)
            triton_poi_fused__to_copy_mul_0.run(arg15_1, arg16_1, buf14, 16777216, stream=stream0)
            del arg15_1
            del arg16_1
            buf15 = buf11; del buf11  # reuse
            # Topologically Sorted Source Nodes: [input_8], Original ATen: [aten._to_copy, aten.mul, aten.t, aten.mm]
            extern_kernels.mm(buf13, reinterpret_tensor(buf14, (4096, 4096), (1, 4096), 0), out=buf15)
            del buf13
            del buf14
        return (buf15, )

runner = Runner(partitions=[])
call = runner.call
recursively_apply_fns = runner.recursively_apply_fns


def get_args():
    from torch._dynamo.testing import rand_strided
    arg0_1 = rand_strided((4096, 4096), (4096, 1), device='cuda:0', dtype=torch.float8_e4m3fn)
    arg1_1 = rand_strided((4096, 1), (1, 1), device='cuda:0', dtype=torch.float32)
    arg2_1 = rand_strided((16, 4096), (4096, 1), device='cuda:0', dtype=torch.bfloat16)
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
