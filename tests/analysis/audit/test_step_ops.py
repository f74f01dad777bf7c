"""The operations of a step: those of the busiest device that works in it, and how long they ran."""

from pathlib import Path
from typing import Any

import pytest

from harness.analysis.audit import conclude, step_ops
from harness.captures.torch.read import read
from harness.evidence import tables as evidence
from harness.evidence.capture import Capture
from harness.evidence.tables import Tables
from harness.ground.errors import UsageError
from tests.support.training_trace import Event, Kernel, Layer, Step, events, write

STEP = Step([Layer("Linear_0", "aten::mm", "MmBackward0", [Kernel("gemm", 40)])])
MARKS = ("ProfilerStep#1", "other")


def tables(folder: Path, of: list[Event]) -> Tables:
    found = read(write(folder / "trace.json", of))
    return {name: found.get(name, evidence.empty(name)) for name in evidence.SCHEMAS}


def on_the_gpu(of: list[Event]) -> list[Event]:
    return [event for event in of if event["cat"] == "kernel"]


def busier_elsewhere(of: list[Event]) -> list[Event]:
    """The same kernels on a second device, a hundred times as long, after all steps."""
    late = max(event["ts"] for event in of) + 1_000_000
    return [
        event
        | {"ts": late + event["ts"], "dur": 100 * event["dur"]}
        | {"args": event["args"] | {"device": 1, "correlation": 100_000 + number}}
        for number, event in enumerate(on_the_gpu(of))
    ]


@pytest.mark.parametrize("mark", MARKS)
def test_a_device_that_works_in_no_step_has_none(tmp_path: Path, mark: str) -> None:
    of: list[Any] = [
        event | {"name": mark} if event["name"].startswith("ProfilerStep") else event
        for event in events(STEP)
    ]
    alone = step_ops.launched(tables(tmp_path, of))
    both = step_ops.launched(tables(tmp_path, [*of, *busier_elsewhere(of)]))
    assert (alone.steps.rule == "profiler") == (mark in MARKS[:1])
    if alone.steps.rule == "profiler":
        assert (both.lengths_ns, both.busy_ns) == (alone.lengths_ns, alone.busy_ns)
    assert set(both.ops["device"]) == ({0} if (alone.steps.rule == "profiler") else {1})


def test_kernels_that_last_no_time_are_no_step(tmp_path: Path) -> None:
    of = events(STEP)
    for event in on_the_gpu(of):
        event["dur"] = 0
    with pytest.raises(UsageError, match=r"^trace.json: no timed work on a GPU in it$"):
        conclude.audit([Capture("trace.json", tables(tmp_path, of), {}, "torch")])


def test_what_lasts_no_time_beside_the_window_is_no_step(tmp_path: Path) -> None:
    instant = {"dur": 0, "ts": 5.0}
    of = [event | instant for event in on_the_gpu(events(STEP))]
    assert not any(step_ops.launched(tables(tmp_path, of)).busy_ns)
