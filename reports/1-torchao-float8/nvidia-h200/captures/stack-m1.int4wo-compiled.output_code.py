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
        assert_size_stride(arg0_1, (512, 32, 32, 4), (4096, 128, 4, 1))
        assert_size_stride(arg1_1, (32, 4096, 2), (8192, 2, 1))
        assert_size_stride(arg2_1, (1, 4096), (4096, 1))
        assert_size_stride(arg3_1, (512, 32, 32, 4), (4096, 128, 4, 1))
        assert_size_stride(arg4_1, (32, 4096, 2), (8192, 2, 1))
        assert_size_stride(arg5_1, (512, 32, 32, 4), (4096, 128, 4, 1))
        assert_size_stride(arg6_1, (32, 4096, 2), (8192, 2, 1))
        assert_size_stride(arg7_1, (512, 32, 32, 4), (4096, 128, 4, 1))
        assert_size_stride(arg8_1, (32, 4096, 2), (8192, 2, 1))
        assert_size_stride(arg9_1, (512, 32, 32, 4), (4096, 128, 4, 1))
        assert_size_stride(arg10_1, (32, 4096, 2), (8192, 2, 1))
        assert_size_stride(arg11_1, (512, 32, 32, 4), (4096, 128, 4, 1))
        assert_size_stride(arg12_1, (32, 4096, 2), (8192, 2, 1))
        assert_size_stride(arg13_1, (512, 32, 32, 4), (4096, 128, 4, 1))
        assert_size_stride(arg14_1, (32, 4096, 2), (8192, 2, 1))
        assert_size_stride(arg15_1, (512, 32, 32, 4), (4096, 128, 4, 1))
        assert_size_stride(arg16_1, (32, 4096, 2), (8192, 2, 1))
        with torch.cuda._DeviceGuard(0):
            torch.cuda.set_device(0)
            # Topologically Sorted Source Nodes: [input_1], Original ATen: [aten._weight_int4pack_mm]
            buf0 = torch.ops.aten._weight_int4pack_mm.default(arg2_1, arg0_1, 128, arg1_1)
            del arg0_1
            del arg1_1
            del arg2_1
            buf1 = buf0
            assert_size_stride(buf1, (1, 4096), (4096, 1), 'torch.ops.aten._weight_int4pack_mm.default')
            assert_alignment(buf1, 16, 'torch.ops.aten._weight_int4pack_mm.default')
            del buf0
            # Topologically Sorted Source Nodes: [input_2], Original ATen: [aten._weight_int4pack_mm]
            buf2 = torch.ops.aten._weight_int4pack_mm.default(buf1, arg3_1, 128, arg4_1)
            del arg3_1
            del arg4_1
            del buf1
            buf3 = buf2
            assert_size_stride(buf3, (1, 4096), (4096, 1), 'torch.ops.aten._weight_int4pack_mm.default')
            assert_alignment(buf3, 16, 'torch.ops.aten._weight_int4pack_mm.default')
            del buf2
            # Topologically Sorted Source Nodes: [input_3], Original ATen: [aten._weight_int4pack_mm]
            buf4 = torch.ops.aten._weight_int4pack_mm.default(buf3, arg5_1, 128, arg6_1)
            del arg5_1
            del arg6_1
            del buf3
            buf5 = buf4
            assert_size_stride(buf5, (1, 4096), (4096, 1), 'torch.ops.aten._weight_int4pack_mm.default')
            assert_alignment(buf5, 16, 'torch.ops.aten._weight_int4pack_mm.default')
            del buf4
            # Topologically Sorted Source Nodes: [input_4], Original ATen: [aten._weight_int4pack_mm]
            buf6 = torch.ops.aten._weight_int4pack_mm.default(buf5, arg7_1, 128, arg8_1)
            del arg7_1
            del arg8_1
            del buf5
            buf7 = buf6
            assert_size_stride(buf7, (1, 4096), (4096, 1), 'torch.ops.aten._weight_int4pack_mm.default')
            assert_alignment(buf7, 16, 'torch.ops.aten._weight_int4pack_mm.default')
            del buf6
            # Topologically Sorted Source Nodes: [input_5], Original ATen: [aten._weight_int4pack_mm]
            buf8 = torch.ops.aten._weight_int4pack_mm.default(buf7, arg9_1, 128, arg10_1)
            del arg10_1
            del arg9_1
            del buf7
            buf9 = buf8
            assert_size_stride(buf9, (1, 4096), (4096, 1), 'torch.ops.aten._weight_int4pack_mm.default')
            assert_alignment(buf9, 16, 'torch.ops.aten._weight_int4pack_mm.default')
            del buf8
            # Topologically Sorted Source Nodes: [input_6], Original ATen: [aten._weight_int4pack_mm]
            buf10 = torch.ops.aten._weight_int4pack_mm.default(buf9, arg11_1, 128, arg12_1)
            del arg11_1
            del arg12_1
            del buf9
            buf11 = buf10
            assert_size_stride(buf11, (1, 4096), (4096, 1), 'torch.ops.aten._weight_int4pack_mm.default')
            assert_alignment(buf11, 16, 'torch.ops.aten._weight_int4pack_mm.default')
            del buf10
            # Topologically Sorted Source Nodes: [input_7], Original ATen: [aten._weight_int4pack_mm]
            buf12 = torch.ops.aten._weight_int4pack_mm.default(buf11, arg13_1, 128, arg14_1)
            del arg13_1
            del arg14_1
            del buf11
            buf13 = buf12
            assert_size_stride(buf13, (1, 4096), (4096, 1), 'torch.ops.aten._weight_int4pack_mm.default')
            assert_alignment(buf13, 16, 'torch.ops.aten._weight_int4pack_mm.default')
            del buf12
            # Topologically Sorted Source Nodes: [input_8], Original ATen: [aten._weight_int4pack_mm]
            buf14 = torch.ops.aten._weight_int4pack_mm.default(buf13, arg15_1, 128, arg16_1)
            del arg15_1
            del arg16_1
            del buf13
            buf15 = buf14
            assert_size_stride(buf15, (1, 4096), (4096, 1), 'torch.ops.aten._weight_int4pack_mm.default')
            assert_alignment(buf15, 16, 'torch.ops.aten._weight_int4pack_mm.default')
            del buf14
        return (buf15, )

runner = Runner(partitions=[])
call = runner.call
recursively_apply_fns = runner.recursively_apply_fns


def get_args():
    from torch._dynamo.testing import rand_strided
    arg0_1 = rand_strided((512, 32, 32, 4), (4096, 128, 4, 1), device='cuda:0', dtype=torch.int32)
    arg1_1 = rand_strided((32, 4096, 2), (8192, 2, 1), device='cuda:0', dtype=torch.bfloat16)
    arg2_1 = rand_strided((1, 4096), (4096, 1), device='cuda:0', dtype=torch.bfloat16)
    arg3_1 = rand_strided((512, 32, 32, 4), (4096, 128, 4, 1), device='cuda:0', dtype=torch.int32)
    arg4_1 = rand_strided((32, 4096, 2), (8192, 2, 1), device='cuda:0', dtype=torch.bfloat16)
    arg5_1 = rand_strided((512, 32, 32, 4), (4096, 128, 4, 1), device='cuda:0', dtype=torch.int32)
    arg6_1 = rand_strided((32, 4096, 2), (8192, 2, 1), device='cuda:0', dtype=torch.bfloat16)
    arg7_1 = rand_strided((512, 32, 32, 4), (4096, 128, 4, 1), device='cuda:0', dtype=torch.int32)
    arg8_1 = rand_strided((32, 4096, 2), (8192, 2, 1), device='cuda:0', dtype=torch.bfloat16)
    arg9_1 = rand_strided((512, 32, 32, 4), (4096, 128, 4, 1), device='cuda:0', dtype=torch.int32)
    arg10_1 = rand_strided((32, 4096, 2), (8192, 2, 1), device='cuda:0', dtype=torch.bfloat16)
    arg11_1 = rand_strided((512, 32, 32, 4), (4096, 128, 4, 1), device='cuda:0', dtype=torch.int32)
    arg12_1 = rand_strided((32, 4096, 2), (8192, 2, 1), device='cuda:0', dtype=torch.bfloat16)
    arg13_1 = rand_strided((512, 32, 32, 4), (4096, 128, 4, 1), device='cuda:0', dtype=torch.int32)
    arg14_1 = rand_strided((32, 4096, 2), (8192, 2, 1), device='cuda:0', dtype=torch.bfloat16)
    arg15_1 = rand_strided((512, 32, 32, 4), (4096, 128, 4, 1), device='cuda:0', dtype=torch.int32)
    arg16_1 = rand_strided((32, 4096, 2), (8192, 2, 1), device='cuda:0', dtype=torch.bfloat16)
    return [arg0_1, arg1_1, arg2_1, arg3_1, arg4_1, arg5_1, arg6_1, arg7_1, arg8_1, arg9_1, arg10_1, arg11_1, arg12_1, arg13_1, arg14_1, arg15_1, arg16_1]


def benchmark_compiled_module(args, times=10, repeat=10):
    from torch._inductor.utils import print_performance
    fn = lambda: call(list(args))
    return print_performance(fn, times=times, repeat=repeat)


if __name__ == "__main__":
    from torch._inductor.wrapper_benchmark import compiled_module_main
    args = get_args()
    compiled_module_main('None', lambda times, repeat: benchmark_compiled_module(args, times=times, repeat=repeat))
