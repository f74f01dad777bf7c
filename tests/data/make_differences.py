"""Make captures that differ in one planted thing each; needs a GPU, torch, nsys and ncu on PATH.

    python tests/data/make_differences.py OUT [NAME …]

A step is a product, an addition, a softmax and a copy to the device. ``same_1`` to ``same_4`` are
it, made by four processes; every other name changes what it says. keep_differences.py makes them as
small as those in ``differences``.
"""

import subprocess
import sys
from pathlib import Path

import torch

NSYS = [
    *("nsys", "profile", "-t", "cuda,nvtx", "--sample=none", "--cpuctxsw=none"),
    *("-c", "cudaProfilerApi", "--capture-range-end=stop", "--force-overwrite=true"),
]
NCU = ["ncu", "--force-overwrite", "--section=SpeedOfLight", "--section=LaunchStats"]
NCU += ["--section=Occupancy", "--section=WarpStateStats"]
NCU += ["--metrics=dram__bytes_read.sum,dram__bytes_write.sum"]
SAME = ("same_1", "same_2", "same_3", "same_4")
CHANGED = ("added", "template", "doubled", "streams", "pageable", "longer")
COUNTED = ("same_1", "same_2", "template", "longer")
STEPS = 12


class Step:
    """What is launched in a step, with what ``changed`` asks for."""

    def __init__(self, changed: str) -> None:
        self.changed = changed
        self.a = torch.randn(1024, 1024, device="cuda")
        offset = 2 if changed == "template" else 0  # 8 bytes: halves the vector of the loads
        u, v, w = (torch.randn(8 * 1024 * 1024 + 4, device="cuda") for _ in range(3))
        self.u, self.v, self.sum = (one[offset : offset + 8 * 1024 * 1024] for one in (u, v, w))
        rows = 8192 if changed == "longer" else 4096
        self.scores = torch.randn(rows, 1024, device="cuda")
        self.host = torch.randn(1 << 20)
        if changed != "pageable":
            self.host = self.host.pin_memory()
        self.there = torch.empty(1 << 20, device="cuda")
        self.side = torch.cuda.Stream()

    def __call__(self) -> None:
        """Run one step and wait for it."""
        if self.changed == "streams":
            self.side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(self.side):
                self.a @ self.a
        else:
            self.a @ self.a
        torch.add(self.u, self.v, out=self.sum)
        torch.softmax(self.scores, dim=-1)
        if self.changed == "doubled":
            torch.softmax(self.scores, dim=-1)
        if self.changed == "added":
            torch.tanh(self.scores)
        self.there.copy_(self.host, non_blocking=True)
        torch.cuda.synchronize()


def run(name: str, steps: int) -> None:
    """Run the steps inside the profiler's range, each in a range of its own."""
    step = Step(name)
    for _ in range(20):
        step()
    torch.cuda.cudart().cudaProfilerStart()
    for _ in range(steps):
        with torch.cuda.nvtx.range("step:planted"):
            step()
    torch.cuda.cudart().cudaProfilerStop()


def trace(name: str, out: Path) -> None:
    """Make a torch trace of the same."""
    step = Step(name)
    for _ in range(20):
        step()
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profile:
        for _ in range(STEPS):
            with torch.profiler.record_function("step:planted"):
                step()
    profile.export_chrome_trace(str(out / f"{name}.json.gz"))


def memory(name: str, out: Path) -> None:
    """Make a memory snapshot; ``leaked`` holds 48 MiB more, from one line."""
    torch.cuda.memory._record_memory_history(max_entries=10_000, stacks="python")
    kept = [torch.empty(4 << 20, device="cuda") for _ in range(3)]
    if name == "leaked":
        kept.append(torch.empty(12 << 20, device="cuda"))
    kept[0].add_(kept[1])
    torch.cuda.synchronize()
    torch.cuda.memory._dump_snapshot(str(out / f"{name}.pickle"))


def make(out: Path, names: tuple[str, ...]) -> None:
    """Make every capture of ``names``, each in a process of its own."""
    out.mkdir(parents=True, exist_ok=True)
    script = [sys.executable, __file__]
    for name in names:
        if name in ("held", "leaked"):
            _do([*script, "memory", name, str(out)])
            continue
        _do([*NSYS, "-o", str(out / name), *script, "run", name, str(STEPS)])
        export = ("--type=sqlite", "--force-overwrite=true", "-o", f"{out / name}.sqlite")
        _do(["nsys", "export", *export, f"{out / name}.nsys-rep"])
        _do([*script, "trace", name, str(out)])
        if name in COUNTED:
            _do(
                [*NCU, "--profile-from-start=off", "-o", str(out / name), *script, "run", name, "3"]
            )


def _do(argv: list[str]) -> None:
    subprocess.run(argv, check=True)


if __name__ == "__main__":
    if sys.argv[1] == "run":
        run(sys.argv[2], int(sys.argv[3]))
    elif sys.argv[1] == "trace":
        trace(sys.argv[2], Path(sys.argv[3]))
    elif sys.argv[1] == "memory":
        memory(sys.argv[2], Path(sys.argv[3]))
    else:
        make(Path(sys.argv[1]), tuple(sys.argv[2:]) or (*SAME, *CHANGED, "held", "leaked"))
