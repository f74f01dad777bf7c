"""The lanes of a timeline page: nothing lost, nothing on top of another, idle time by its cause."""

import polars as pl
import pytest

from harness.analysis.diagnose.timeline_tracks import tracks_of
from harness.analysis.idle import causes as idle_causes
from harness.evidence import tables as evidence
from harness.evidence.capture import Capture
from harness.extract import door
from harness.view import lanes
from harness.view.lanes import Lane
from tests.support.paths import DATA
from tests.support.programs import US, Program


def waiting() -> Capture:
    """A program that waits for each of its kernels, within ranges that hold each other."""
    made = Program()
    with made.marked("outer"):
        for _ in range(20):
            with made.marked("inner"):
                made.launch(100 * US)
                made.synchronise()
                made.work(60 * US)
    return made.capture()


def of_kind(found: lanes.Timeline, what: str) -> list[Lane]:
    return [lane for lane in found.lanes if lane.what == what]


def test_ranges_within_ranges_lie_a_lane_deeper() -> None:
    outer, inner = of_kind(lanes.timeline(waiting()), lanes.RANGE)
    assert outer.events["name"].to_list() == ["outer"]
    assert inner.events["name"].to_list() == ["inner"] * 20
    assert (outer.label, inner.label) == ("host: ranges", "")


@pytest.mark.parametrize("name", ["streams", "graph_node", "memset_overlap"])
def test_all_operations_and_calls_are_drawn_and_none_on_another(name: str) -> None:
    subject = door.capture(DATA / f"nsys/{name}.sqlite.zst")
    capture = subject.captures["nsys"]
    found = lanes.timeline(capture)
    for what, table in ((lanes.STREAM, "gpu_ops"), (lanes.CALL, "api_calls")):
        drawn = pl.concat([lane.events for lane in of_kind(found, what)])
        whole = capture.tables[table].drop_nulls(["start_ns", "duration_ns"])
        assert drawn.height == whole.height > 0
        assert drawn["duration_ns"].sum() == whole["duration_ns"].sum()
    for lane in found.lanes:
        ends = lane.events["start_ns"] + lane.events["duration_ns"]
        starts = lane.events["start_ns"]
        assert starts.is_sorted()
        assert (starts[1:] >= ends[:-1]).all(), lane.label


def test_idle_time_has_the_causes_that_the_diagnosis_names() -> None:
    capture = waiting()
    (track,) = tracks_of(capture)
    (idle,) = of_kind(lanes.timeline(capture), lanes.IDLE)
    drawn = idle.events.filter(pl.col("kind") == idle_causes.SYNCHRONISE)["duration_ns"].sum()
    told = track.idle_ns(idle_causes.SYNCHRONISE)
    assert drawn == told + track.taken_off_ns(idle_causes.SYNCHRONISE)
    assert told > 0
    assert set(idle.events["kind"]) <= set(lanes.CAUSES)


def test_collectives_are_told_from_kernels() -> None:
    made = Program()
    for _ in range(5):
        made.launch(100 * US, "gemm")
        made.launch(50 * US, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgs)")
    (stream,) = of_kind(lanes.timeline(made.capture()), lanes.STREAM)
    assert stream.events["kind"].to_list() == ["kernel", lanes.COLLECTIVE] * 5


def wide(count: int) -> Capture:
    """A launch from each of so many threads to a stream each; of the first thread, two."""
    at = [100 * number for number in range(count)] + [100 * count]
    who = [*range(count), 0]
    host = {"start_ns": at, "duration_ns": [10] * len(at), "thread": who, "correlation": at}
    work = {"start_ns": at, "duration_ns": [50] * len(at), "stream": who, "correlation": at}
    tables = {name: evidence.empty(name) for name in evidence.SCHEMAS} | {
        "gpu_ops": evidence.frame(
            "gpu_ops", work | {"name": ["k"] * len(at), "kind": ["kernel"] * len(at)}
        ),
        "api_calls": evidence.frame("api_calls", host | {"name": ["cudaLaunchKernel"] * len(at)}),
    }
    return Capture("", tables, {}, "torch")


def test_many_threads_and_streams_share_lanes() -> None:
    found = lanes.timeline(wide(100))
    labels = [lane.label for lane in found.lanes]
    assert labels.count("36 other threads: CUDA calls") == 1
    assert labels.count("GPU: 36 other streams") == 1
    assert "thread 64: CUDA calls" in labels
    assert "thread 65: CUDA calls" not in labels
    assert sum(lane.events.height for lane in of_kind(found, lanes.STREAM)) == 101
    assert sum(lane.events.height for lane in of_kind(found, lanes.CALL)) == 101
    assert found.hidden == 0


def test_few_threads_and_streams_have_their_own() -> None:
    labels = [lane.label for lane in lanes.timeline(wide(64)).lanes]
    assert not any("other" in label for label in labels)
    assert labels.index("GPU: stream 0") < labels.index("GPU: stream 63")


def test_what_lies_too_deep_is_counted() -> None:
    at = list(range(20))
    ranges = {"start_ns": at, "duration_ns": [99 - each for each in at], "name": ["r"] * 20}
    tables = wide(1).tables | {"ranges": evidence.frame("ranges", ranges | {"thread": [0] * 20})}
    found = lanes.timeline(Capture("", tables, {}, "torch"))
    assert len(of_kind(found, lanes.RANGE)) == 12
    assert found.hidden == 8
