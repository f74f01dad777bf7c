"""What kind of work a host call into CUDA or HIP does, by its name."""

import re

import polars as pl

LAUNCH = "launch"
SYNCHRONISE = "synchronise"
COPY = "copy"
ALLOCATE = "allocate"
LOAD = "load"
OTHER = "other"

GRAPH = "GraphLaunch"
"""In the names of calls that launch a graph: those of CUDA, of its driver and of HIP."""

KINDS = pl.Enum([LAUNCH, SYNCHRONISE, COPY, ALLOCATE, LOAD, OTHER])

_KINDS = (
    # cudaLaunchKernelExC, cuLaunchKernelEx, cudaGraphLaunch, hipExtModuleLaunchKernel,
    # hipGraphLaunch
    (LAUNCH, re.compile(r"Launch(Cooperative|Kernel|HostFunc)|GraphLaunch|LaunchGrid")),
    # They return when the device, the stream or the event has finished.
    (SYNCHRONISE, re.compile(r"(Device|Stream|Event|Ctx|Context|Thread)Synchronize")),
    # Memory of the driver's, not of a pool: cudaFree waits for the device (CUDA Runtime API,
    # "API synchronization behavior"). The stream-ordered cudaMallocAsync is left out.
    (
        ALLOCATE,
        re.compile(
            r"^(cuda|hip)(Ext)?(Malloc|Free)(Host|Managed|Pitch|3D|Array|WithFlags)?$"
            r"|^(cuda|hip)Host(Alloc|Malloc|Free|Register|Unregister)"
            r"|^(cu|hip)Mem(Alloc|Free)(Host|Managed|Pitch)?$"
            r"|^(cu|hip)Mem(Host(Alloc|Register|Unregister)|Create|Release|Map|Unmap|SetAccess)$"
        ),
    ),
    # Code is brought onto the device: after compilation, or at the first use of a kernel, which
    # lazy loading puts off until it is looked up (CUDA Programming Guide, "Lazy Loading").
    (LOAD, re.compile(r"(Module|Library)(Load|Unload|GetFunction|GetKernel)|^cuLink|^hiprtcLink")),
    (COPY, re.compile(r"Memcpy|^cuMemcpy")),
)
_SUFFIX = re.compile(r"(_v\d+|_ptsz|_ptds|_spt)+$")


def launches_graph(names: pl.Expr) -> pl.Expr:
    """Return whether calls launch a graph."""
    return names.cast(pl.String).str.contains(GRAPH).fill_null(value=False)


def kind(name: str) -> str:
    """Return the kind of a call: LAUNCH, SYNCHRONISE, COPY, ALLOCATE, LOAD or OTHER.

    The version that nsys appends to a name (``cudaMalloc_v3020``) does not matter.
    """
    plain = _SUFFIX.sub("", name)
    return next((known for known, pattern in _KINDS if pattern.search(plain)), OTHER)


def kinds(names: pl.Series) -> pl.Series:
    """Return the kind of each call by its name, null where the name is."""
    different = names.drop_nulls().unique()
    decided = pl.Series([kind(name) for name in different.cast(pl.String)], dtype=KINDS)
    return names.replace_strict(different, decided, default=None, return_dtype=KINDS).alias("kind")
