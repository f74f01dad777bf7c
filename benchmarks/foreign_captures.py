"""First finding of captures that other projects publish, beside sums of each raw file.

    python benchmarks/foreign_captures.py FOLDER >docs/foreign-captures.md

FOLDER holds clones of the projects as FOLDER/OWNER/NAME. The sums use the standard library alone:
unions of the intervals of kernels, collectives and copies, over the time from a device's first
operation to the end of its last. So they share no code with the diagnosis that they are held to.
"""

import argparse
import gzip
import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterable
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

from timed import ROOT

CAPTURES = (
    (
        "AMD-AGI/TraceLens/tests/traces",
        "h100/Falconsai_nsfw_image_detection__1016002.json.gz",
        "An image classifier of 8 µs kernels; Python takes over 40 µs between two CUDA calls.",
    ),
    (
        "AMD-AGI/TraceLens/tests/traces",
        "mi300/Falconsai_nsfw_image_detection__1016002.json.gz",
        "The same on an MI300: here most gaps hold nothing but launches.",
    ),
    (
        "AMD-AGI/TraceLens/tests/traces",
        "h100/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz",
        "The host launches kernels of 29 µs faster than they run.",
    ),
    (
        "AMD-AGI/TraceLens/tests/traces",
        "h100/google_owlv2-large-patch14-ensemble__1016001.json.gz",
        "The GPU idles in the ranges of torch's data loader.",
    ),
    (
        "AMD-AGI/TraceLens/tests/traces",
        "mi300/resnet_act_checkpoint.json.gz",
        "RCCL's kernels run alone for twice as long as all others run.",
    ),
    (
        "AMD-AGI/TraceLens/tests/traces",
        "b200/eager_trace.json.gz",
        "Eager kernels of 6 µs; Python takes 68 µs between two CUDA calls.",
    ),
    (
        "AMD-AGI/TraceLens/tests/traces",
        "inference/vllm_decode_full/graph_execution.json.gz",
        "vLLM replays one CUDA graph for the whole decode step.",
    ),
    (
        "GindaChen/nsys-ai/tests/fixtures",
        "h100_2gpu_1s.sqlite",
        "Each GPU gets 25 GB from pinned memory, while hardly a kernel runs.",
    ),
    (
        "GindaChen/nsys-ai/tests/fixtures",
        "healthy_1pct.sqlite",
        "Kernels of 1 ms follow one another.",
    ),
    (
        "GindaChen/nsys-ai/tests/fixtures",
        "mfu_2gpu_before.sqlite",
        "The host waits once a step; nsys's part left out, the GPU then idles for under 5 %.",
    ),
    (
        "GindaChen/nsys-ai/tests/fixtures",
        "mfu_2gpu_after.sqlite",
        "Nearly twice the idle time of the capture before, by the same cause.",
    ),
    (
        "brycelelbach/nsightful/tests",
        "power_iteration__baseline.sqlite",
        "The host waits in 89 copies for results, each time before it launches more.",
    ),
    (
        "facebookresearch/HolisticTraceAnalysis/tests/data",
        "trace_diff/control/control.json.gz",
        "NCCL's kernels run alone for longer than the GPU idles.",
    ),
    (
        "facebookresearch/HolisticTraceAnalysis/tests/data",
        "trace_diff/test/test.json.gz",
        "The same with half of the share; in exchange the GPU hardly idles.",
    ),
    (
        "facebookresearch/HolisticTraceAnalysis/tests/data",
        "nccl_parser_config/nccl_data.json.gz",
        "Python takes 0.1 ms between two CUDA calls.",
    ),
    (
        "Athrun0109/CS336_assignment2",
        "result.sqlite",
        "Kernels of 3 µs on Windows; Python takes 47 µs between two CUDA calls.",
    ),
    (
        "jsun-012/assignment2-systems",
        "result.sqlite",
        "After the model's way to the GPU, its steps keep an RTX 3070 Ti busy.",
    ),
    (
        "RajaATAli/SC23_Programming-Your-GPU-with-OpenMP_Tutorial",
        "report3.sqlite",
        "OpenMP maps 0.5 GB to the GPU and back around each of 100 short kernels.",
    ),
    (
        "RajaATAli/SC23_Programming-Your-GPU-with-OpenMP_Tutorial",
        "report5.sqlite",
        "The same data mapped once; three copies still take most of the time.",
    ),
    (
        "RajaATAli/SC23_Programming-Your-GPU-with-OpenMP_Tutorial",
        "report6.sqlite",
        "The same copies beside kernels that take longer.",
    ),
    (
        "SMcMann/cudaHW",
        "report1.sqlite",
        "A kernel of one thread adds all elements.",
    ),
    (
        "PolPuigPuy/OpenACC_Project_PolPuig",
        "report4.sqlite",
        "OpenACC waits for the GPU, copies and allocates around each of 1,935 short kernels.",
    ),
    (
        "igouProto/CSC746CUDALab",
        "report1.sqlite",
        "A kernel of one block of one thread on the 108 multiprocessors of an A100.",
    ),
    (
        "igouProto/CSC746CUDALab",
        "report4.sqlite",
        "The host reads the result page by page out of managed memory; no call moves the pages.",
    ),
    (
        "FrancescoSaverioZuppichini/py4ai",
        "trace.json",
        "Kernels of 3 µs, launched one by one by eager torch of 2021.",
    ),
    (
        "FrancescoSaverioZuppichini/py4ai",
        "trace2.json",
        "The same with gaps of Python between the launches.",
    ),
    (
        "AMD-AGI/TraceLens/tests/traces",
        "h100/facebook_timesformer-base-finetuned-k400__1016002.json.gz",
        "A video transformer whose kernels follow one another; its attention is separate kernels.",
    ),
    (
        "AMD-AGI/TraceLens/tests/traces",
        "inference/xdit_sd_3.5/profile_trace_rank_0.json.gz",
        "One rank of a diffusion model; Python takes 65 µs between two HIP calls.",
    ),
    (
        "AMD-AGI/TraceLens/tests/traces",
        "inference/sglang_decode/sglang_Qwen3-8B_decode.json.gz",
        "One decode step; its annotation holds 0.46 s in which the first copy waits, before the"
        " graph is launched.",
    ),
    (
        "AMD-AGI/TraceLens/tests/traces",
        "inference/xdit_flux.1_aiter_sage/profile_trace_rank_0.json.gz",
        "One rank of xDiT's Flux replays HIP graphs; what the profiler adds is left out.",
    ),
    (
        "AMD-AGI/TraceLens/tests/traces",
        "inference/xdit_flux.1/capture_traces/capture_trace_rank_0.json.gz",
        "xDiT's Flux while its HIP graph is recorded; two gaps before copies are half of it.",
    ),
    (
        "AMD-AGI/TraceLens/tests/traces",
        "inference/xdit_flux.1_aiter_sage/capture_traces/capture_trace_rank_0.json.gz",
        "The same with other attention; one gap of host code in a compiled region is most of it.",
    ),
    (
        "AMD-AGI/TraceLens/tests/traces",
        "mi300/google_owlv2-large-patch14-ensemble__1016001.json.gz",
        "A vision-language detector; the GPU idles in the ranges of torch's data loader.",
    ),
    (
        "AMD-AGI/TraceLens/tests/traces",
        "mi300/facebook_timesformer-base-finetuned-k400__1016002.json.gz",
        "A video transformer whose attention runs as separate kernels.",
    ),
)
"""Captures, and why the first finding of each is right: project and folder, file, reason."""

WORDS = {
    "healthy_1pct.sqlite": (
        "Calling ~1% dispatch cost a bottleneck is the credibility-ending failure.",
        "GindaChen/nsys-ai/blob/main/tests/test_abstention.py",
        "agrees",
    ),
    "mfu_2gpu_after.sqlite": (
        "idle rose by 41.35 ms",
        "GindaChen/nsys-ai/blob/main/docs/user/reading-a-diff.md",
        "broader",
    ),
    "report3.sqlite": (
        "Map clause to handle data transfer from CPU to GPU",
        "RajaATAli/SC23_Programming-Your-GPU-with-OpenMP_Tutorial/blob/master/heat.c",
        "broader",
    ),
    "inference/xdit_flux.1/capture_traces/capture_trace_rank_0.json.gz": (
        "captures per-kernel shapes and call stack information during the graph capture phase",
        "AMD-AGI/TraceLens/pull/848",
        "other",
    ),
    "inference/xdit_flux.1_aiter_sage/capture_traces/capture_trace_rank_0.json.gz": (
        "captures per-kernel shapes and call stack information during the graph capture phase",
        "AMD-AGI/TraceLens/pull/848",
        "broader",
    ),
}
"""By capture: what its author says of the cause, where, and how the first finding relates to it."""

TITLE = "# Captures of other projects\n\n"

PAGE = """\
Other projects publish these captures as inputs of their tests. A row gives the first finding with
the share of the time that it explains, and beside it sums of the raw file, which
[`foreign_captures.py`](../benchmarks/foreign_captures.py) makes without any code of the diagnosis:
how long kernels (or copies within the device) run, only collectives run, only copies from or to
the host run, and nothing runs, as parts of the time between the device's first operation and the
end of its last. The diagnosis leaves warm-up out, the sums do not. The diagnosis was developed
with the captures of AMD-AGI, GindaChen, brycelelbach and facebookresearch at hand, so their rows
show that it agrees with the files, not how it does on others; the other projects were looked up
when its thresholds stood.

| capture | first finding | kernels | only collectives | only host copies | idle | why |
| --- | --- | ---: | ---: | ---: | ---: | --- |
"""

AUTHORS = """
## What the authors say

Of the other captures, and of the memory snapshots below, a search of READMEs, documents, sources,
commit messages and issues, which was not exhaustive, found no word of the author on the cause.
*Agrees*: the author names what the finding names. *Broader*: both fit, but one of them says more
than the other: idle time or transfers without their kind, or a cause that happens once without
its name. *Other*: they differ. By its author, the capture of xDiT's Flux is a recording of a
graph, which happens once; so the finding `host-bound` and its advice to replay a graph are wrong
there, and `abstain` is right.

Larger traces of TraceLens (Wan 2.1 of diffusers, and the replays of Flux and HunyuanVideo under
xDiT) and HolisticTraceAnalysis (vision transformer) were not tried.

| capture | the author | first finding | relation |
| --- | --- | --- | --- |
"""

Interval = tuple[float, float]
Operations = dict[str, list[Interval]]
"""Start and end of each operation on one device, by what it is: kernel, collective, copy."""


def of_trace(path: Path) -> dict[Any, Operations]:
    """Return the operations of a Kineto trace by device, in µs."""
    kinds = {"gpu_memcpy": "copy", "gpu_memset": "kernel", "kernel": "kernel"}
    found: dict[Any, Operations] = {}
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    for event in events:
        kind = kinds.get(event.get("cat", "").lower())
        if event.get("ph") == "X" and kind:
            kind = "collective" if "nccl" in event["name"].lower() else kind
            kind = "kernel" if "DtoD" in event["name"] else kind
            start = float(event["ts"])
            device = found.setdefault(event["args"].get("device"), {})
            device.setdefault(kind, []).append((start, start + float(event["dur"])))
    return found


def of_export(path: Path) -> dict[Any, Operations]:
    """Return the operations of an nsys export by device, in ns."""
    found: dict[Any, Operations] = {}
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
        kernels = connection.execute(
            "SELECT deviceId, start, end, value FROM CUPTI_ACTIVITY_KIND_KERNEL"
            " JOIN StringIds ON id = demangledName"
        ).fetchall()
        for device, start, end, name in kernels:
            kind = "collective" if "nccl" in name.lower() else "kernel"
            found.setdefault(device, {}).setdefault(kind, []).append((start, end))
        for table, within in (("MEMCPY", "copyKind = 8"), ("MEMSET", "1")):
            if f"CUPTI_ACTIVITY_KIND_{table}" in tables:
                copies = f"SELECT deviceId, start, end, {within} FROM CUPTI_ACTIVITY_KIND_{table}"
                for device, start, end, inside in connection.execute(copies):
                    kind = "kernel" if inside else "copy"
                    found.setdefault(device, {}).setdefault(kind, []).append((start, end))
    return found


def covered(intervals: Iterable[Interval]) -> float:
    """Return the length of a union of intervals."""
    total, reached = 0.0, float("-inf")
    for start, end in sorted(intervals):
        total += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return total


def shares(device: Operations) -> list[float]:
    """Return the shares of kernels, of only collectives, of only host copies, and of idle time."""
    kernels, collectives, copies = (
        device.get(kind, []) for kind in ("kernel", "collective", "copy")
    )
    everything = [*kernels, *collectives, *copies]
    span = max(end for _, end in everything) - min(start for start, _ in everything)
    reached = [covered(kernels), covered(chain(kernels, collectives)), covered(everything), span]
    parts = [reached[0], *(after - before for before, after in pairwise(reached))]
    return [part / span for part in parts]


def first_finding(path: Path) -> tuple[str, float]:
    """Return the id of the first finding, and the share of the time that it explains."""
    argv = [sys.executable, "-m", "harness", "diagnose", str(path), "--json"]
    done = subprocess.run(argv, check=True, capture_output=True, text=True, cwd=ROOT)
    first = json.loads(done.stdout)["findings"][0]
    return first["id"], first["share"] or 0.0


def row(root: Path, folder: str, name: str, why: str) -> tuple[str, str]:
    """Return a capture's row and first finding; of several devices, the sums of all together."""
    path = root / folder / name
    devices = (of_export if path.suffix == ".sqlite" else of_trace)(path).values()
    each = [shares(device) for device in devices]
    means = [sum(values) / len(each) for values in zip(*each, strict=True)]
    finding, share = first_finding(path)
    named = f"`{finding}`" + (f" {share:.1%}" if share else "")
    project, url = (
        "/".join(folder.split("/")[:2]),
        f"https://github.com/{folder.split('/tests')[0]}",
    )
    cells = [f"[{project}]({url}) `{name}`", named, *(f"{mean:.1%}" for mean in means)]
    return "| " + " | ".join(cells).replace("%", " %") + f" | {why} |\n", finding


def authors(findings: dict[str, str]) -> str:
    """Return the table of what authors say of their captures, beside the first findings."""
    rows = [
        f"| `{name}` | [“{said}”](https://github.com/{where}) | `{findings[name]}` | {verdict} |\n"
        for name, (said, where, verdict) in WORDS.items()
    ]
    return AUTHORS + "".join(rows)


def counts() -> str:
    """Return how many captures are listed, and how findings relate to what authors say."""
    verdicts = [verdict for _, _, verdict in WORDS.values()]
    related = ", ".join(f"{verdicts.count(kind)} {kind}" for kind in ("agrees", "broader", "other"))
    projects = len({"/".join(folder.split("/")[:2]) for folder, _, _ in CAPTURES})
    return (
        f"Captures: {len(CAPTURES)}, of {projects} projects. Captures of which the author says\n"
        f"something that bears on the cause: {len(WORDS)}; of these {related}.\n\n"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="a folder of clones, OWNER/NAME each")
    root = parser.parse_args().folder
    sys.stdout.write(TITLE + counts() + PAGE)
    findings = {}
    for folder, name, why in CAPTURES:
        line, findings[name] = row(root, folder, name, why)
        sys.stdout.write(line)
    sys.stdout.write(authors(findings))
