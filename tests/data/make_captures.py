"""Make the small real captures that the tests read; needs a GPU, torch, nsys and ncu on PATH.

    python tests/data/make_captures.py OUT [streams | graph | memset_overlap | processes]

``jax.sqlite.zst`` is what the recipe of JAX in docs/record.md left on an H200 with Nsight Systems
2025.3.2, without its rows of SCHED_EVENTS and most of nsys's words on processes without a GPU.

Each truth that the tests compare with is made by the profilers' own tools beside the capture.
"""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import torch

NSYS = [
    *("nsys", "profile", "-t", "cuda,nvtx,cublas", "--sample=none", "--cpuctxsw=none"),
    "--force-overwrite=true",
]
RANGE = ("-c", "cudaProfilerApi", "--capture-range-end=stop")
REPORTS = ("cuda_gpu_kern_sum", "cuda_gpu_mem_time_sum", "cuda_gpu_mem_size_sum", "nvtx_sum")


def streams() -> None:
    """Two streams that overlap, copies of every kind, nested ranges."""
    side = torch.cuda.Stream()
    a, b = torch.randn(2, 1024, 1024, device="cuda")
    pinned = torch.randn(1 << 20).pin_memory()
    pageable = torch.randn(1 << 18)
    torch.cuda.synchronize()
    for step in range(3):
        with torch.cuda.nvtx.range("step"):
            with torch.cuda.stream(side):
                for _ in range(4):
                    a = torch.sin(a @ a)
            with torch.cuda.nvtx.range(f"inner {step}"):
                for _ in range(4):
                    b = torch.relu(b @ b)
            moved = pinned.to("cuda", non_blocking=True)
            other = pageable.to("cuda")
            moved[: other.numel()].copy_(other)
            moved.cpu()
            torch.cuda.synchronize()


def graph() -> None:
    """A captured graph of nine kernels, replayed five times between eager kernels."""
    x = torch.randn(512, 512, device="cuda")
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        _chain(x)
    torch.cuda.synchronize()
    recorded = torch.cuda.CUDAGraph()
    with torch.cuda.graph(recorded):
        _chain(x)
    torch.cuda.synchronize()
    begin()
    for _ in range(5):
        with torch.cuda.nvtx.range("replay"):
            recorded.replay()
        x.mul_(0.5)
    torch.cuda.synchronize()


def memset_overlap() -> None:
    """Memsets on one stream while kernels run on another."""
    from cuda.bindings import runtime

    side = torch.cuda.Stream()
    a = torch.randn(2048, 2048, device="cuda")
    blank = torch.empty(64 << 20, dtype=torch.uint8, device="cuda")
    a @ a
    torch.cuda.synchronize()
    begin()
    for _ in range(4):
        for _ in range(3):  # torch fills with a kernel, so the runtime is asked for a memset
            runtime.cudaMemsetAsync(blank.data_ptr(), 0, blank.numel(), side.cuda_stream)
        for _ in range(3):
            a = torch.tanh(a @ a)
    torch.cuda.synchronize()


def processes() -> None:
    """Two processes at once, whose correlation ids both count from one."""
    script = [sys.executable, __file__, "run"]
    for child in [subprocess.Popen([*script, name]) for name in ("child_a", "child_b")]:
        child.wait()


def child_a() -> None:
    """One of the two: sums inside a range."""
    x = torch.randn(256, 256, device="cuda")
    for _ in range(6):
        with torch.cuda.nvtx.range("step"):
            x.sum()
            torch.cuda.synchronize()


def child_b() -> None:
    """The other: products and a softmax, without a range."""
    x = torch.randn(256, 256, device="cuda")
    for _ in range(6):
        torch.softmax(x @ x, dim=-1)
        torch.cuda.synchronize()


def small() -> None:
    """Launch for the counters: a copy, a product, a cast, a reduction, a softmax."""
    a = torch.randn(2048, 2048, device="cuda", dtype=torch.bfloat16)
    torch.cuda.synchronize()
    begin()
    b = a.clone()
    c = a @ b
    c.float().sum()
    torch.softmax(c, dim=-1)
    torch.cuda.synchronize()


def cast() -> None:
    """Launch for the instructions: a cast from float8, a sum."""
    x = torch.randn(512, 512, device="cuda").to(torch.float8_e4m3fn)
    y = torch.randn(512, 512, device="cuda")
    torch.cuda.synchronize()
    begin()
    x.to(torch.float32)
    y + y
    torch.cuda.synchronize()


def begin() -> None:
    torch.cuda.cudart().cudaProfilerStart()


def _chain(x: torch.Tensor) -> torch.Tensor:
    for _ in range(3):
        x = torch.relu(x @ x) + 1
    return x


WORK = {
    "streams": streams,
    "graph": graph,
    "memset_overlap": memset_overlap,
    "processes": processes,
    "child_a": child_a,
    "child_b": child_b,
    "small": small,
    "cast": cast,
}


def run(name: str) -> None:
    """Run one workload inside the profiler's range."""
    if name == "processes":  # each child has a range of its own
        processes()
        return
    torch.cuda.init()
    if name == "streams":
        a = torch.randn(1024, 1024, device="cuda")
        a @ a
        torch.cuda.synchronize()
        begin()
    WORK[name]()
    torch.cuda.cudart().cudaProfilerStop()


def trace(name: str, out: Path) -> None:
    """Make a torch trace of one workload."""
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    profile = torch.profiler.profile(activities=activities, record_shapes=True)
    with profile, torch.profiler.record_function("whole"):
        WORK[name]()
    profile.export_chrome_trace(str(out / f"{name}.json.gz"))


def memory(out: Path) -> None:
    """Make a memory snapshot with a graph's private pool; beside it the allocator's totals."""
    torch.cuda.memory._record_memory_history(max_entries=100_000, stacks="python")
    kept = [torch.randn(256, 1024, device="cuda") for _ in range(4)]
    for tensor in kept:
        (tensor @ tensor.T).sum()
    graph()
    del kept[1]
    torch.cuda.synchronize()
    torch.cuda.memory._dump_snapshot(str(out / "graph.pickle"))
    stats = torch.cuda.memory_stats()
    totals = {key: stats[f"{key}_bytes.all.current"] for key in ("allocated", "reserved")}
    totals["peak_allocated"] = stats["allocated_bytes.all.peak"]
    (out / "graph.json").write_text(json.dumps(totals))


def make(out: Path, only: str = "") -> None:
    """Make every capture, or those of one workload, each in a process of its own."""
    script = [sys.executable, __file__]
    for folder in ("nsys", "ncu", "torch", "memory"):
        (out / folder).mkdir(parents=True, exist_ok=True)
    modes = [
        ("streams", "streams", "node"),
        ("graph_node", "graph", "node"),
        ("graph_level", "graph", "graph"),
        ("memset_overlap", "memset_overlap", "node"),
        ("processes", "processes", "node"),
    ]
    for name, work, granularity in modes:
        if only not in ("", work):
            continue
        report = out / "nsys" / name
        flags = [f"--cuda-graph-trace={granularity}", "-o", str(report)]
        flags += RANGE if work != "processes" else ()
        _do([*NSYS, *flags, *script, "run", work])
        export = ("--type=sqlite", "--force-overwrite=true", "-o", f"{report}.sqlite")
        _do(["nsys", "export", *export, f"{report}.nsys-rep"])
        for kind in REPORTS:
            arguments = ["--report", kind, "--format", "csv", "--force-export=true"]
            _do(["nsys", "stats", *arguments, "-o", str(report), f"{report}.nsys-rep"])
    for name in ("streams", "graph", "memset_overlap"):
        if only in ("", name):
            _do([*script, "trace", name, str(out / "torch")])
    if only:
        return
    report = out / "ncu" / "small.ncu-rep"
    flags = ["--set", "full", "--clock-control", "none", "--profile-from-start", "off", "-f"]
    _do(["ncu", *flags, "-o", str(report), *script, "run", "small"])
    page = ["--csv", "--page", "raw", "--print-units", "base", "--print-fp"]
    csv = _do(["ncu", "--import", str(report), *page])
    report.with_suffix(".csv.gz").write_bytes(gzip.compress(csv.encode(), mtime=0))
    source = out / "ncu" / "source.ncu-rep"
    flags = ["--section=SourceCounters", "--section=SpeedOfLight", *flags[2:]]
    _do(["ncu", *flags, "-o", str(source), *script, "run", "cast"])
    csv = _do(["ncu", "--import", str(source), "--csv", "--page", "source"])
    packed = gzip.compress(csv.encode(), mtime=0)  # four of its columns are kept
    source.with_suffix(".csv.gz").write_bytes(packed)
    _do([*script, "memory", str(out / "memory")])


def _do(argv: list[str]) -> str:
    done = subprocess.run(argv, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        print(f"failed: {' '.join(argv)}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return done.stdout


if __name__ == "__main__":
    if sys.argv[1] == "run":
        run(sys.argv[2])
    elif sys.argv[1] == "trace":
        trace(sys.argv[2], Path(sys.argv[3]))
    elif sys.argv[1] == "memory":
        memory(Path(sys.argv[2]))
    else:
        make(Path(sys.argv[1]), *sys.argv[2:3])
