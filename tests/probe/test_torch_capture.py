"""A torch capture with and without stacks and shapes, recorded on a CPU, read and audited."""

import gzip
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from harness.analysis.audit import conclude
from harness.captures.torch.read import read
from harness.evidence import tables as evidence
from harness.evidence.capture import Capture
from tests.support.paths import ROOT
from tests.support.torch_cpu import needs_torch, run

RECORD = """
import sys; sys.path.insert(0, sys.argv[1])
import contextlib, json, pathlib, torch
from harness.probe.hooks.torch_profiler import TorchProfiler

class Cell:
    device, out, settings = "cpu", pathlib.Path(sys.argv[2]), json.loads(sys.argv[3])
    exclusively = staticmethod(contextlib.nullcontext)
    declare = staticmethod(lambda name: 1)
    latency = staticmethod(lambda step: step().sum())
    sample = staticmethod(lambda *_: None)

class Wide(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.down = torch.nn.Linear(48, 32)
    def forward(self, x):
        return self.down(x)

with torch.inference_mode():
    model, x = torch.nn.Sequential(torch.nn.Linear(32, 48), Wide()), torch.ones(4, 32)
    hook = TorchProfiler(Cell())
    hook.measure("forward", lambda: model(x))
    hook.finish([])
"""


def recorded(folder: Path, settings: dict[str, Any]) -> Capture:
    """Return the capture of a step whose two products a GPU ran: a kernel is added for each."""
    folder.mkdir()
    run(RECORD, str(ROOT), str(folder), json.dumps(settings))
    path = folder / "trace.json.gz"
    trace = json.loads(gzip.decompress(path.read_bytes()))
    products = [each for each in trace["traceEvents"] if each["name"] == "aten::addmm"]
    assert len(products) == 2
    for at, each in enumerate(products, 1):
        ids = {"args": {"correlation": at, "device": 0, "stream": 7}, "ph": "X"}
        call = {"cat": "cuda_runtime", "name": "cudaLaunchKernel", "dur": 0.1}
        launched = each["ts"] + each["dur"] - 0.2  # after the operators that the product calls
        launch = {key: each[key] for key in ("pid", "tid")} | {"ts": launched}
        kernel = {"cat": "kernel", "name": f"gemm{at}", "pid": 0, "tid": 7, "dur": 5.0}
        trace["traceEvents"] += [
            call | launch | ids,
            kernel | {"ts": products[-1]["ts"] + 1e3 * at} | ids,
        ]
    path.write_bytes(gzip.compress(json.dumps(trace).encode()))
    found = read(path)
    tables = {name: found.get(name, evidence.empty(name)) for name in evidence.SCHEMAS}
    return Capture("trace.json.gz", tables, {}, "torch")


def paths(capture: Capture) -> dict[str, str]:
    """Return where each kernel belongs, by the audit."""
    return {row.kernel: row.path for row in conclude.audit([capture]).rows}


@pytest.mark.slow
@needs_torch
def test_stacks_name_the_module_of_a_kernel_and_shapes_its_inputs(tmp_path: Path) -> None:
    plain = recorded(tmp_path / "plain", {"warmup": 1, "steps": 1})
    assert paths(plain) == {"gemm1": "aten::addmm", "gemm2": "aten::addmm"}
    assert plain.tables["origins"]["inputs"].null_count() == plain.tables["origins"].height
    whole = recorded(tmp_path / "whole", {"stacks": True, "shapes": True})
    first, second = "Sequential_* / Linear_*", "Sequential_* / Wide_* / Linear_*"
    assert paths(whole) == {"gemm1": first, "gemm2": second}
    sizes = [json.loads(each)[0][:3] for each in whole.tables["origins"]["inputs"].cast(pl.String)]
    assert sizes == [[[48], [4, 32], [32, 48]], [[32], [4, 48], [48, 32]]]
