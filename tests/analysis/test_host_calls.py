"""The kinds of host calls, by names of CUDA's runtime and driver and of HIP."""

import pytest

from harness.analysis.idle import host_calls

NAMES = {
    host_calls.LAUNCH: (
        *("cudaLaunchKernelExC_v11060", "cuLaunchKernelEx", "cudaGraphLaunch_v10000"),
        *("hipLaunchKernel", "hipExtModuleLaunchKernel", "hipModuleLaunchKernel"),
        *("hipGraphLaunch", "hipLaunchCooperativeKernel"),
    ),
    host_calls.SYNCHRONISE: ("cudaStreamSynchronize", "hipDeviceSynchronize"),
    host_calls.ALLOCATE: (
        *("cudaMalloc_v3020", "cuMemCreate", "hipMalloc", "hipFree", "hipHostMalloc"),
        *("hipExtMallocWithFlags", "hipMemCreate", "hipMemMap"),
    ),
    host_calls.LOAD: (
        *("cuLibraryLoadData", "hipModuleLoadData", "cuModuleLoadDataEx", "cuLibraryGetKernel"),
        *("cuModuleGetFunction", "hipModuleGetFunction"),
    ),
    host_calls.COPY: ("cudaMemcpyAsync", "hipMemcpyWithStream"),
    host_calls.OTHER: ("cudaMallocAsync", "hipMallocAsync", "hipEventRecord", "hipGetDevice"),
}


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind, names in NAMES.items() for name in names]
)
def test_a_call_has_the_kind_of_its_work(kind: str, name: str) -> None:
    assert host_calls.kind(name) == kind
