"""An operator's GPU time is what trying every operator for every launch gives it."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.captures.torch import launches as launching
from harness.captures.torch.read import read
from harness.ground.errors import CaptureError
from tests.support.launches import Event, OperatorRow, operator_rows


def event(category: str, name: str, start: int, duration: int, **changes: Any) -> Event:
    return {"cat": category, "name": name, "tid": 1, "ts": start, "dur": duration} | changes


def launch(start: int, correlation: int, tid: int | str = 1) -> Event:
    args = {"correlation": correlation}
    return event("cuda_runtime", "cudaLaunchKernel", start, 2, tid=tid, args=args)


def kernel(duration: int, **args: int) -> Event:
    return event("kernel", "k", 1000, duration, tid=7, args=args)


def rows(folder: Path, events: list[Event]) -> list[OperatorRow]:
    (folder / "trace.json").write_text(json.dumps(events))
    return read(folder / "trace.json")["operators"].rows()


NESTED = [
    event("cpu_op", "outer", 0, 100),
    event("cpu_op", "inner", 10, 20),
    event("cpu_op", "later", 40, 5),
    event("cpu_op", "elsewhere", 0, 100, tid=2),
]


def test_a_kernel_belongs_to_the_innermost_operator_at_its_launch(tmp_path: Path) -> None:
    events = [
        *NESTED,
        *(launch(start, number) for number, start in enumerate((5, 12, 30, 43, 60, 101))),
        *(kernel(10**number, correlation=number) for number in range(6)),
    ]
    assert rows(tmp_path, events) == [
        ("outer", 1, 100_000, 10_001_000),  # before the others, and after them
        ("inner", 1, 20_000, 110_000),  # inside, and as it ends
        ("later", 1, 5_000, 1_000_000),
        ("elsewhere", 1, 100_000, 0),
        ("unattributed", 1, None, 100_000_000),
    ]


def test_phases_of_compilation_are_ranges_however_torch_records_them(tmp_path: Path) -> None:
    events = [
        event("user_annotation", "compile_fx_inner (dynamo_timed)", 0, 9),
        event("cpu_op", "_compile.compile_inner (dynamo_timed)", 10, 90, tid=2),
        event("cpu_op", "Torch-Compiled Region: 0/0", 100, 50),
        event("cpu_op", "TorchDynamo Cache Lookup", 100, 5),
    ]
    (tmp_path / "trace.json").write_text(json.dumps(events))
    assert read(tmp_path / "trace.json")["ranges"].rows() == [
        ("compile_fx_inner (dynamo_timed)", 0, 9_000, 1),
        ("_compile.compile_inner (dynamo_timed)", 10_000, 90_000, 2),
    ]


def test_an_external_id_does_not_decide(tmp_path: Path) -> None:
    """Kineto of 2022 and 2023 wrote the correlation there, which is some other operator's id."""
    events = [
        event("cpu_op", "first", 0, 10, args={"External id": 1}),
        event("cpu_op", "second", 20, 10, args={"External id": 2}),
        launch(21, 1),
        kernel(3, **{"External id": 1, "correlation": 1}),
    ]
    assert rows(tmp_path, events) == [
        ("first", 1, 10_000, 0),
        ("second", 1, 10_000, 3_000),
        ("unattributed", 0, None, 0),
    ]


@pytest.mark.parametrize(
    "work",
    [
        [kernel(3)],
        [kernel(3, correlation=1), launch(5, 2)],
        [kernel(3, correlation=1), launch(5, 1, tid="main")],
    ],
)
def test_no_launch_in_the_trace_leaves_the_gpu_time_unknown(
    tmp_path: Path, work: list[Event]
) -> None:
    found = rows(tmp_path, [event("cpu_op", "a", 0, 10), *work])
    assert found == [("a", 1, 10_000, None), ("unattributed", 1, None, 3_000)]


def test_the_first_of_several_calls_launched(tmp_path: Path) -> None:
    events = [*NESTED, launch(50, 1), launch(11, 1), launch(42, 1), kernel(3, correlation=1)]
    assert rows(tmp_path, events)[1] == ("inner", 1, 20_000, 3_000)


times = st.integers(0, 30)
threads = st.sampled_from([1, 2, "1", "main", None])
numbers = st.none() | st.integers(0, 4)
operator_events = st.builds(
    lambda name, start, duration, tid: event("cpu_op", name, start, duration, tid=tid),
    st.sampled_from("abc"),
    times,
    times,
    threads,
)
launches = st.builds(
    lambda start, number, tid: launch(start, 0, tid) | {"args": {"correlation": number}},
    times,
    numbers,
    threads,
)
kernels = st.builds(
    lambda number, duration: kernel(duration) | {"args": {"correlation": number}},
    numbers,
    st.integers(1, 9),
)


@given(events=st.lists(operator_events | launches | kernels, min_size=1, max_size=25))
@settings(max_examples=150, deadline=None)
def test_any_intervals_give_what_trying_every_operator_gives(
    tmp_path_factory: pytest.TempPathFactory, events: list[Event]
) -> None:
    """Also operators that overlap without one enclosing the other, which no sound trace has."""
    assert rows(tmp_path_factory.getbasetemp(), events) == operator_rows(events)


def test_operators_nested_too_deep_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launching, "_DEEPEST", 3)
    deep = [event("cpu_op", "a", start, 100 - 2 * start) for start in range(6)]
    with pytest.raises(CaptureError, match="nested more than 3 deep"):
        rows(tmp_path, [*deep, launch(99, 1), kernel(1, correlation=1)])


SHAPED = {"Input Dims": [[4, 2], [2, 8]], "Input type": ["float", "float"], "Input Strides": None}


def test_launches_have_the_inputs_of_their_operator_and_the_number_of_its_call(
    tmp_path: Path,
) -> None:
    """Two kernels of one call, one of the next, and one of an operator whose inputs are long."""
    events: list[dict[str, Any]] = []
    for number, (at, args) in enumerate([(0, SHAPED), (100, SHAPED), (200, None)]):
        long = {"Input Dims": [[number] * 3000]}
        shaped = args if args is not None else long
        events.append(_event("cpu_op", "aten::mm", at, 50, shaped))
        for kernel in range(2 if number == 0 else 1):
            identifier = {"correlation": 10 * number + kernel + 1}
            events.append(
                _event("cuda_runtime", "cudaLaunchKernel", at + 5 + kernel, 1, identifier)
            )
            events.append(_event("kernel", "k", at + 300, 5, {"device": 0, **identifier}))
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"traceEvents": events}, indent=2))
    origins = read(path)["origins"].sort("correlation")
    text = '[[[4,2],[2,8]],["float","float"],null,null]'
    assert origins["inputs"].cast(pl.String).to_list() == [text, text, text, None]
    assert origins["call"].to_list() == [1, 1, 2, None]


def _event(category: str, name: str, at: int, us: int, args: dict[str, Any]) -> dict[str, Any]:
    event = {"ph": "X", "cat": category, "name": name, "pid": 1, "tid": 7}
    return event | {"ts": at, "dur": us, "args": args}
