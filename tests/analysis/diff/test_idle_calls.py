"""Idle time by the CUDA call that the host was in, by hand, in differences, and in their words."""

from harness.analysis.diff import gpu, step_breakdown
from harness.evidence import tables as evidence
from harness.evidence.tables import Tables
from harness.report.headline import headline
from harness.report.step_difference import gpu_time
from tests.support.timelines import rows

LAUNCH, MALLOC, SYNC = "cudaLaunchKernel_v7000", "cudaMalloc_v3020", "cudaStreamSynchronize"
Call = tuple[str, int, int]


def capture(malloc_ns: int) -> Tables:
    """Return one step of 100 + ``malloc_ns`` ns: work, an allocation while idle, work, a wait."""
    later = 40 + malloc_ns
    ops = [(0, 30, 1), (later + 10, 30, 2)]
    calls: list[tuple[str, int, int, int | None]] = [
        (LAUNCH, 0, 5, 1),
        (MALLOC, 40, malloc_ns, None),
        (LAUNCH, later, 10, 2),
        (SYNC, later + 45, 10, None),
    ]
    filled = {
        "gpu_ops": [
            {"kind": "kernel", "name": "k", "start_ns": at, "duration_ns": for_ns, "device": 0}
            | {"correlation": correlation, "stream": 7}
            for at, for_ns, correlation in ops
        ],
        "api_calls": [
            {"name": name, "start_ns": at, "duration_ns": for_ns, "thread": 1}
            | {"correlation": correlation}
            for name, at, for_ns, correlation in calls
        ],
        "ranges": [
            {"name": "step:s", "start_ns": 0, "duration_ns": later + 60, "thread": 1},
        ],
    }
    return {name: rows(name, filled.get(name, [])) for name in evidence.SCHEMAS}


def test_idle_time_is_counted_by_call_without_its_version() -> None:
    made = capture(500)
    steps = step_breakdown.steps(made)
    # Idle 30 … 550, while the host allocates 40 … 540 and launches 540 … 550; then 580 … 600.
    assert step_breakdown.idle_by_call(steps, made["api_calls"]) == {
        "cudaLaunchKernel": 10,
        "cudaMalloc": 500,
        "cudaStreamSynchronize": 10,
    }


def test_a_gap_names_its_calls_and_the_sentence_the_one_that_grew() -> None:
    diff = gpu.compare(capture(500), capture(4_500))
    by_label = {row.label: row.calls for row in diff.rows if row.calls}
    assert by_label == {
        "idle while the host is in a CUDA call": (
            ("cudaMalloc", 500, 4_500),
            ("cudaLaunchKernel", 10, 10),
        ),
        "idle while the host waits for the GPU": (("cudaStreamSynchronize", 10, 10),),
    }
    sentence = headline(diff)
    assert "idle time while the host is in a CUDA call, mostly cudaMalloc, grew by 4 µs" in sentence
    assert sentence.endswith("100 % of the change.")
    notes = gpu_time(diff, "nsys").brief
    assert notes == [
        "idle while the host is in a CUDA call:"
        " cudaMalloc 0.500 → 4.500 µs, cudaLaunchKernel 0.010 → 0.010 µs"
    ]
