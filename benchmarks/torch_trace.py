"""Time and memory of `harness inspect` on large torch.profiler traces, beside HolisticTraceAnalysis.

    python benchmarks/torch_trace.py [--check] [--megabytes 500 1500] [--hta-python PYTHON]

Inputs are made by repeating a small trace that was recorded on an H200, each copy later in time and
with ids of its own. Every measurement is a process of its own, with the file in the page cache, the
best of RUNS for ours and one for the other. HolisticTraceAnalysis loads the trace and makes its
kernel breakdown; its `get_temporal_breakdown`, which is what busy and idle time are here, is left
out because it stops with an AssertionError where memsets overlap kernels. So it does less.
"""

import argparse
import gzip
import re
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "tests/data/torch/streams.json.gz"
HTA = "HolisticTraceAnalysis==0.5.0"
RUNS = 3

FASTER = 15.0
"""Times HolisticTraceAnalysis's speed, on the smallest input."""
SMALLER = 8.0
"""Times below HolisticTraceAnalysis's peak memory, on the smallest input."""
MOST_MB = 400.0
"""Of peak memory, on every input."""

INSPECT = [sys.executable, "-m", "harness", "inspect", "--json"]
HTA_SCRIPT = """
import sys
from hta.trace_analysis import TraceAnalysis
analysis = TraceAnalysis(trace_files={0: sys.argv[1]})
analysis.get_gpu_kernel_breakdown(visualize=False)
"""
_SHIFTED = re.compile(rb'("(?:ts|correlation|External id|id)": )(\d+)((?:\.\d+)?)')


@dataclass(frozen=True)
class Measurement:
    """Wall time and peak resident memory of one process."""

    seconds: float
    megabytes: float


def copies(trace: bytes, size: int) -> Iterator[bytes]:
    """Yield the text of a trace of about ``size`` bytes whose events are repetitions of one's."""
    begin = re.search(rb'"traceEvents": \[', trace)
    assert begin is not None
    end = trace.rindex(b"]")
    fields = _SHIFTED.split(trace[begin.end() : end].rstrip())
    texts, keys, numbers, fractions = fields[::4], fields[1::4], fields[2::4], fields[3::4]
    times = [int(n) for key, n in zip(keys, numbers, strict=True) if key == b'"ts": ']
    span_us = max(times) - min(times) + 1000
    ids = max(int(n) for key, n in zip(keys, numbers, strict=True) if key != b'"ts": ')
    yield trace[: begin.end()]
    written, index = 0, 0
    while written < size:
        parts = [b"," if index else b"", texts[0]]
        for key, number, fraction, text in zip(keys, numbers, fractions, texts[1:], strict=True):
            step = span_us if key == b'"ts": ' else ids
            parts += (key, b"%d" % (int(number) + index * step), fraction, text)
        yield (copy := b"".join(parts))
        written += len(copy)
        index += 1
    yield trace[end:]


def measure(argv: list[str], runs: int) -> Measurement:
    """Return the best of ``runs`` fresh processes."""
    best = min((_once(argv) for _ in range(runs)), key=lambda found: found.seconds)
    return best


def _once(argv: list[str]) -> Measurement:
    """Run one process under a small parent, so that its peak memory is its own."""
    begin = time.perf_counter()
    report = subprocess.run(
        [sys.executable, "-c", _PARENT, *argv], check=True, stdout=subprocess.PIPE, cwd=ROOT
    )
    return Measurement(time.perf_counter() - begin, int(report.stdout) / 1024)


_PARENT = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
