"""One step over time: which step is shown, when its parts start, how busy the GPU was."""

import polars as pl

from harness.analysis import step_timeline
from harness.analysis.metrics import Metrics
from harness.evidence.tables import Tables
from harness.problem.model import Problem
from tests.support.small_evidence import cell, tables
from tests.support.timelines import Op, timeline


def captured(*steps: list[Op]) -> Tables:
    """Return the evidence of one capture of ``fast`` that holds these steps."""
    of = cell("fast", capture="nsys")
    name = of["cell"]
    fact = {"cell": name, "name": "declared step:made", "value": float(len(steps))}
    evidence = tables(cells=[of], facts=[fact])
    for table, rows in timeline(steps).items():
        if not rows.is_empty():
            evidence[table] = rows.insert_column(0, pl.lit(name).alias("cell"))
    return evidence


def metrics(problem: Problem, *steps: list[Op]) -> Metrics:
    """Return the metrics of one capture of ``fast`` that holds these steps."""
    return Metrics(problem, captured(*steps))


def test_the_step_of_median_length_is_shown_from_its_own_start(example: Problem) -> None:
    long, middle, short = ([Op("k", time), Op("k", time)] for time in (90_000, 20_000, 5_000))
    step = step_timeline.of(metrics(example, long, middle, short), "fast", "small")
    assert step is not None
    assert step.ops["duration_ns"].to_list() == [20_000, 20_000]
    # The made step launches at 0 and 100 ns, and its first operation starts 10,100 ns after that.
    assert step.calls["start_ns"].to_list()[:2] == [0, 100]
    assert step.ops["start_ns"].to_list() == [10_100, 30_200]
    assert (step.gpus["busy_ns"].to_list(), step.length_ns) == ([40_000], 50_700)
    assert step.kind == "nsys"


def test_operations_at_the_same_time_are_busy_once(example: Problem) -> None:
    both = [Op("k", 4_000), Op("k", 4_000, stream=8, after=-3_000)]
    step = step_timeline.of(metrics(example, both), "fast", "small")
    assert step is not None
    assert step.gpus["busy_ns"].to_list() == [5_000]


def test_what_another_rank_s_gpu_ran_in_the_step_s_time_is_shown_cut_at_its_ends(
    example: Problem,
) -> None:
    """The other rank has no range of the step's name, as only one rank opens it."""
    evidence = captured([Op("k", 20_000), Op("k", 20_000)])
    own = evidence["gpu_ops"]
    beside = [
        ("ncclDevKernel_SendRecv", -5_000, 15_000),
        ("k", 20_000, 5_000),
        ("k", 49_000, 9_000),
        ("k", 60_000, 1_000),
        ("k", -9_000, 9_000),
    ]
    other = pl.DataFrame(beside, schema=["name", "start_ns", "duration_ns"], orient="row")
    other = other.with_columns(cell=pl.lit(own["cell"][0]), kind=pl.lit("kernel"), device=1)
    missing = [pl.lit(None).alias(name) for name in own.columns if name not in other.columns]
    other = other.with_columns(missing).select(own.columns).cast(own.schema)
    evidence["gpu_ops"] = pl.concat([own, other])
    step = step_timeline.of(Metrics(example, evidence), "fast", "small")
    assert step is not None
    on_other = step.ops.filter(pl.col("device") == 1)
    assert on_other.select("start_ns", "duration_ns").rows() == [
        (0, 10_000),
        (20_000, 5_000),
        (49_000, 1_700),
    ]
    assert step.gpus.select("device", "busy_ns", "communication_ns").rows() == [
        (0, 40_000, 0),
        (1, 16_700, 10_000),
    ]


def test_without_a_timeline_there_is_no_step(example: Problem) -> None:
    assert step_timeline.of(metrics(example, [Op("k", 1)]), "slow", "small") is None
    assert step_timeline.of(metrics(example, []), "fast", "small") is None
