"""The rate and the durations of kernels, and how far ahead the host is."""

from harness.analysis.launch_rate import launch_rate
from tests.support.programs import APART, LATENCY, LAUNCH, US, Program


def rate(program: Program) -> dict[str, object]:
    tables = program.tables()
    (row,) = launch_rate(tables["gpu_ops"], tables["api_calls"]).iter_rows(named=True)
    return row


def test_a_host_that_is_behind_leaves_the_queue_empty() -> None:
    program = Program()
    for _ in range(100):
        program.work(10 * US)
        program.launch(2 * US)
    row = rate(program)
    span = 99 * (10 * US + LAUNCH) + 2 * US
    assert row["per_second"] == 100 / span * 1e9
    assert (row["kernels"], row["short_share"], row["median_ns"]) == (100, 1.0, 2 * US)
    assert (row["queued_ns"], row["queued_high_ns"]) == (LATENCY, LATENCY)


def test_a_host_that_is_ahead_fills_it() -> None:
    program = Program()
    for _ in range(101):
        program.launch(50 * US)
    row = rate(program)
    assert row["short_share"] == 0.0
    assert row["queued_ns"] == LATENCY + 50 * (50 * US + APART - LAUNCH)
