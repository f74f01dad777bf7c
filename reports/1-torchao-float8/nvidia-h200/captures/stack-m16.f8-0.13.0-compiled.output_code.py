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
            # Topologically Sorted Source Nodes: [input_1], Original ATen: [torchao.dequantize_affine_float8]
            buf0 = torch.ops.torchao.dequantize_affine_float8.default(arg0_1, arg1_1, torch.bfloat16)
            del arg0_1
            del arg1_1
            buf1 = buf0
            assert_size_stride(buf1, (4096, 4096), (4096, 1), 'torch.ops.torchao.dequantize_affine_float8.default')
            assert_alignment(buf1, 16, 'torch.ops.torchao.dequantize_affine_float8.default')
            del buf0
            buf2 = empty_strided_cuda((16, 4096), (4096, 1), torch.bfloat16)
            # Topologically Sorted Source Nodes: [input_1], Original ATen: [aten.t, aten.mm]
            extern_kernels.mm(arg2_1, reinterpret_tensor(buf1, (4096, 4096), (1, 4096), 0), out=buf2)
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
            buf5 = empty_strided_cuda((16, 4096), (4096, 1), torch.bfloat16)
            # Topologically Sorted Source Nodes: [input_2], Original ATen: [aten.t, aten.mm]
            extern_kernels.mm(buf2, reinterpret_tensor(buf4, (4096, 4096), (1, 4096), 0), out=buf5)
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
            # Topologically Sorted Source Nodes: [input_3], Original ATen: [aten.t, aten.mm]
            extern_kernels.mm(buf5, reinterpret_tensor(buf7, (4096, 4096), (1, 4096), 0), out=buf8)
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
            # Topologically Sorted Source Nodes: [input_4], Original ATen: [aten.t, aten.mm]
            extern_kernels.mm(buf8, reinterpret_tensor(buf10, (4096, 4096), (1, 4096), 0), out=buf11)
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
            # Topologically Sorted Source Nodes: [input_5], Original ATen: [aten.t, aten.mm]
            extern_kernels.mm(buf11, reinterpret_tensor(buf13, (4096, 4096), (1, 4096), 0), out=buf14)
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
            # Topologically Sorted Source Nodes: [input_6], Original ATen: [aten.t, aten.mm]
            extern_kernels.mm(buf14, reinterpret_tensor(buf16, (4096, 4096), (1, 4096), 0), out=buf17)
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
            # Topologically Sorted Source Nodes: [input_7], Original ATen: [aten.t, aten.mm]
            extern_kernels.mm(buf17, reinterpret_tensor(buf19, (4096, 4096), (1, 4096), 0), out=buf20)
            del buf19
            # Topologically Sorted Source Nodes: [input_8], Original ATen: [torchao.dequantize_affine_float8]
            buf21 = torch.ops.torchao.dequantize_affine_float8.default(arg15_1, arg16_1, torch.bfloat16)
            del arg15_1
            del arg16_1
            buf22 = buf21
            assert_size_stride(buf22, (4096, 4096), (4096, 1), 'torch.ops.torchao.dequantize_affine_float8.default')
            assert_alignment(buf22, 16, 'torch.ops.torchao.dequantize_affine_float8.default')
            del buf21
            buf23 = buf17; del buf17  # reuse
            # Topologically Sorted Source Nodes: [input_8], Original ATen: [aten.t, aten.mm]
            extern_kernels.mm(buf20, reinterpret_tensor(buf22, (4096, 4096), (1, 4096), 0), out=buf23)
            del buf20
            del buf22
        return (buf23, )

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
