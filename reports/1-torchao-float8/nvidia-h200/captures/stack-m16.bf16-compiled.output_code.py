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
        arg0_1, arg1_1, arg2_1, arg3_1, arg4_1, arg5_1, arg6_1, arg7_1, arg8_1 = args
        args.clear()
        assert_size_stride(arg0_1, (4096, 4096), (4096, 1))
        assert_size_stride(arg1_1, (16, 4096), (4096, 1))
        assert_size_stride(arg2_1, (4096, 4096), (4096, 1))
        assert_size_stride(arg3_1, (4096, 4096), (4096, 1))
        assert_size_stride(arg4_1, (4096, 4096), (4096, 1))
        assert_size_stride(arg5_1, (4096, 4096), (4096, 1))
        assert_size_stride(arg6_1, (4096, 4096), (4096, 1))
        assert_size_stride(arg7_1, (4096, 4096), (4096, 1))
        assert_size_stride(arg8_1, (4096, 4096), (4096, 1))
        with torch.cuda._DeviceGuard(0):
            torch.cuda.set_device(0)
            buf0 = empty_strided_cuda((16, 4096), (4096, 1), torch.bfloat16)
            # Topologically Sorted Source Nodes: [input_1], Original ATen: [aten.t, aten.mm]
            extern_kernels.mm(arg1_1, reinterpret_tensor(arg0_1, (4096, 4096), (1, 4096), 0), out=buf0)
            del arg0_1
            del arg1_1
            buf1 = empty_strided_cuda((16, 4096), (4096, 1), torch.bfloat16)
            # Topologically Sorted Source Nodes: [input_2], Original ATen: [aten.t, aten.mm]
            extern_kernels.mm(buf0, reinterpret_tensor(arg2_1, (4096, 4096), (1, 4096), 0), out=buf1)
            del arg2_1
            buf2 = buf0; del buf0  # reuse
            # Topologically Sorted Source Nodes: [input_3], Original ATen: [aten.t, aten.mm]
            extern_kernels.mm(buf1, reinterpret_tensor(arg3_1, (4096, 4096), (1, 4096), 0), out=buf2)
            del arg3_1
            buf3 = buf1; del buf1  # reuse
            # Topologically Sorted Source Nodes: [input_4], Original ATen: [aten.t, aten.mm]
            extern_kernels.mm(buf2, reinterpret_tensor(arg4_1, (4096, 4096), (1, 4096), 0), out=buf3)
            del arg4_1
            buf4 = buf2; del buf2  # reuse
            # Topologically Sorted Source Nodes: [input_5], Original ATen: [aten.t, aten.mm]
            extern_kernels.mm(buf3, reinterpret_tensor(arg5_1, (4096, 4096), (1, 4096), 0), out=buf4)
            del arg5_1
            buf5 = buf3; del buf3  # reuse
            # Topologically Sorted Source Nodes: [input_6], Original ATen: [aten.t, aten.mm]
            extern_kernels.mm(buf4, reinterpret_tensor(arg6_1, (4096, 4096), (1, 4096), 0), out=buf5)
            del arg6_1
            buf6 = buf4; del buf4  # reuse
            # Topologically Sorted Source Nodes: [input_7], Original ATen: [aten.t, aten.mm]
            extern_kernels.mm(buf5, reinterpret_tensor(arg7_1, (4096, 4096), (1, 4096), 0), out=buf6)
            del arg7_1
            buf7 = buf5; del buf5  # reuse
            # Topologically Sorted Source Nodes: [input_8], Original ATen: [aten.t, aten.mm]
            extern_kernels.mm(buf6, reinterpret_tensor(arg8_1, (4096, 4096), (1, 4096), 0), out=buf7)
            del arg8_1
            del buf6
        return (buf7, )

runner = Runner(partitions=[])
call = runner.call
recursively_apply_fns = runner.recursively_apply_fns


def get_args():
    from torch._dynamo.testing import rand_strided
    arg0_1 = rand_strided((4096, 4096), (4096, 1), device='cuda:0', dtype=torch.bfloat16)
    arg1_1 = rand_strided((16, 4096), (4096, 1), device='cuda:0', dtype=torch.bfloat16)
    arg2_1 = rand_strided((4096, 4096), (4096, 1), device='cuda:0', dtype=torch.bfloat16)
    arg3_1 = rand_strided((4096, 4096), (4096, 1), device='cuda:0', dtype=torch.bfloat16)
    arg4_1 = rand_strided((4096, 4096), (4096, 1), device='cuda:0', dtype=torch.bfloat16)
    arg5_1 = rand_strided((4096, 4096), (4096, 1), device='cuda:0', dtype=torch.bfloat16)
    arg6_1 = rand_strided((4096, 4096), (4096, 1), device='cuda:0', dtype=torch.bfloat16)
    arg7_1 = rand_strided((4096, 4096), (4096, 1), device='cuda:0', dtype=torch.bfloat16)
    arg8_1 = rand_strided((4096, 4096), (4096, 1), device='cuda:0', dtype=torch.bfloat16)
    return [arg0_1, arg1_1, arg2_1, arg3_1, arg4_1, arg5_1, arg6_1, arg7_1, arg8_1]


def benchmark_compiled_module(args, times=10, repeat=10):
    from torch._inductor.utils import print_performance
    fn = lambda: call(list(args))
    return print_performance(fn, times=times, repeat=repeat)


if __name__ == "__main__":
    from torch._inductor.wrapper_benchmark import compiled_module_main
    args = get_args()
    compiled_module_main('None', lambda times, repeat: benchmark_compiled_module(args, times=times, repeat=repeat))
