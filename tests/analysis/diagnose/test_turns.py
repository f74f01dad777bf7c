"""Devices that compute in turn, and ranks that wait in all-to-alls: by what each of them did."""

from collections.abc import Sequence

import polars as pl
import pytest

from harness.analysis.diagnose import conclude
from harness.analysis.diagnose.finding import Finding
from harness.evidence import tables as evidence
from harness.evidence.capture import Capture
from tests.support.paths import DATA
from tests.support.programs import APART, MS, US, Program

ALL_TO_ALL = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"
ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_f32"
TURNS = 24
APART_IDS = 1_000_000
"""What keeps the correlation ids of two programs apart."""


def findings(capture: Capture) -> dict[str, Finding]:
    return {each.id: each for each in conclude.diagnose([capture]).findings}


def together(devices: Sequence[Program]) -> Capture:
    """Return one capture of several devices, as of one process."""
    first, *others = (device.tables() for device in devices)
    for number, other in enumerate(others, 1):
        apart = pl.col("correlation") + number * APART_IDS
        for name in ("gpu_ops", "api_calls", "ranges"):
            moved = other[name]
            if name != "ranges":
                moved = moved.with_columns(apart)
            if name != "gpu_ops":
                moved = moved.with_columns(thread=pl.lit(number + 1, pl.Int64))
            first[name] = pl.concat([first[name], moved])
    return Capture("both", first, {}, "nsys")


def stages(groups: int, handed_on: str = "copy") -> tuple[Program, Program]:
    """Return two stages that work on a batch alternately, in ``groups`` that are independent."""
    devices = Program(), Program(device=1)
    free = [0] * groups
    for _ in range(TURNS):
        for group in range(groups):
            for device in devices:
                device.wait_for(free[group])
                device.launch(2 * MS // groups)
                hand_on(device, handed_on)
                free[group] = device.ends
    return devices


def hand_on(device: Program, how: str) -> None:
    if how == "copy":
        device.copy(1 << 20, 10 * US, "Device", "Peer-to-Peer", stream=20)
        device.wait_for(device.ends, stream=20)
    else:
        device.launch(10 * US, how)


def received(devices: Sequence[Program]) -> Capture:
    """Return the stages' capture with kernels that receive from the end of a turn to the next."""
    capture = together(devices)
    ops = capture.tables["gpu_ops"].sort("device", "start_ns")
    begins = (pl.col("start_ns") + pl.col("duration_ns")).shift(1).over("device") + APART
    sent = pl.col("name").cast(pl.String) == ALL_TO_ALL
    waits = ops.filter(~sent).with_columns(
        duration_ns=pl.col("start_ns") - begins - APART,
        start_ns=begins,
        name=pl.lit(ALL_TO_ALL).cast(ops["name"].dtype),
    )
    capture.tables["gpu_ops"] = pl.concat([ops, waits.filter(pl.col("duration_ns") > 0)])
    return capture


def test_stages_that_take_turns_are_a_pipeline_of_bubbles() -> None:
    sick, healthy = stages(1), stages(4)
    first = next(iter(findings(together(sick)).values()))
    gained = 1 - max(each.ends for each in healthy) / max(each.ends for each in sick)
    assert first.id == "pipeline-bubble"
    assert first.gain == pytest.approx(gained, rel=0.1)
    found = findings(together(healthy))
    assert next(iter(found)) == "healthy"
    assert "pipeline-bubble" not in found


def test_a_stage_that_receives_until_its_turn_waits_for_it() -> None:
    found = findings(received(stages(1, ALL_TO_ALL)))
    assert next(iter(found)) == "pipeline-bubble"
    assert found["pipeline-bubble"].share == pytest.approx(0.5, abs=0.05)
    assert not found.keys() & {"straggler", "expert-imbalance", "abstain"}
    communicating = found.get("exposed-communication")
    assert communicating is None or (communicating.share or 0) < 0.05


def test_clocks_of_two_captures_tell_nothing_of_turns() -> None:
    captures = [each.capture(str(number)) for number, each in enumerate(stages(1))]
    assert "pipeline-bubble" not in {each.id for each in conclude.diagnose(captures).findings}


def one_forward_one_backward(*ranges: str) -> Capture:
    """Return a training step's capture of two stages and 8 micro-batches, with these ranges.

    Cut from the cell train.1f1b of study 12 by tests/data/keep_pipeline.py.
    """
    tables = {name: evidence.empty(name) for name in evidence.SCHEMAS}
    for name in ("gpu_ops", "api_calls", "ranges"):
        rows = pl.read_parquet(DATA / "pipeline" / f"{name}.parquet")
        if name == "ranges":
            rows = rows.filter(pl.any_horizontal(pl.col("name").str.starts_with(r) for r in ranges))
        tables[name] = evidence.frame(name, {key: rows[key] for key in rows.columns})
    return Capture("1f1b", tables, {}, "nsys")


def waited_for_the_other(ops: pl.DataFrame) -> int:
    """Return how long one device only transfers while the other computes, moment by moment."""
    moments = []
    for name, device, start, duration in ops.select(
        pl.col("name").cast(pl.String), "device", "start_ns", "duration_ns"
    ).iter_rows():
        state = (device, "SendRecv" in name)
        moments += [(start, state, 1), (start + duration, state, -1)]
    running = {(device, sends): 0 for device in (0, 1) for sends in (False, True)}
    total = before = 0
    for moment, state, change in sorted(moments):
        for device in (0, 1):
            waits = running[device, True] and not running[device, False]
            total += (moment - before) * bool(waits and running[1 - device, False])
        running[state] += change
        before = moment
    return total


def test_the_waits_of_a_pipeline_of_micro_batches_are_its_bubble() -> None:
    capture = one_forward_one_backward("step:", "NCCL:")
    begins = capture.tables["ranges"].filter(pl.col("name").cast(pl.String) == "step:step")
    starts, ops = begins["start_ns"], capture.tables["gpu_ops"]
    steps = ops.with_columns(step=starts.search_sorted(ops["start_ns"])).filter(pl.col("step") > 0)
    end = (pl.col("start_ns") + pl.col("duration_ns")).max()
    spans = steps.group_by("device", "step").agg(ns=end - pl.col("start_ns").min())
    first, *others = findings(capture).values()
    assert first.id == "pipeline-bubble"
    assert first.share == pytest.approx(waited_for_the_other(steps) / spans["ns"].sum(), rel=0.01)
    assert {each.id for each in others} <= {"exposed-communication"}


def test_a_pipeline_whose_calls_are_not_known_exchanges_no_tokens() -> None:
    assert "expert-imbalance" not in findings(one_forward_one_backward("step:"))


def layers(
    tokens: Sequence[tuple[int, int]],
    exchange: str = ALL_TO_ALL,
    *,
    grids: bool = True,
    calls: int = 0,
) -> tuple[Program, Program]:
    """Return two ranks that exchange tokens before and after the experts of each layer.

    ``tokens``: thousands of each rank, by layer in turn; a thousand takes 10 µs. Without ``grids``
    the kernels of both ranks look the same. ``calls``: of ncclSend and of ncclRecv, each.
    """
    ranks = Program(), Program(device=1)
    for turn in range(TURNS):
        for counts in ((50, 50), tokens[turn % len(tokens)]):
            for rank, count in zip(ranks, counts, strict=True):
                rank.launch(count * 10 * US, grid=f"{count if grids else 132},1,1")
            begun = [rank.ends + APART for rank in ranks]
            for rank, begin in zip(ranks, begun, strict=True):
                for name in ("NCCL:ncclSend", "NCCL:ncclRecv") * calls:
                    with rank.marked(name):
                        rank.work(100)
                rank.launch(max(begun) - begin + 20 * US, exchange)
    return ranks


@pytest.mark.parametrize(
    "tokens", [[(150, 50)], [(150, 50), (50, 150)]], ids=["always one rank", "now one, now another"]
)
def test_ranks_that_wait_for_the_rank_with_more_tokens(tokens: list[tuple[int, int]]) -> None:
    sick, healthy = layers(tokens), layers([(100, 100)])
    found = findings(together(sick))
    first = next(iter(found.values()))
    gained = 1 - max(each.ends for each in healthy) / max(each.ends for each in sick)
    assert first.id == "expert-imbalance"
    assert first.gain == pytest.approx(gained, rel=0.1)
    assert "straggler" not in found
    assert "expert-imbalance" not in findings(together(healthy))


def test_only_what_goes_to_every_rank_is_an_all_to_all() -> None:
    neighbours, every = (findings(together(layers([(150, 50)], calls=calls))) for calls in (1, 2))
    assert next(iter(every)) == "expert-imbalance"
    assert "expert-imbalance" not in neighbours
    assert neighbours["straggler"].stake > 0.05


@pytest.mark.parametrize(
    ("exchange", "grids"), [(ALL_REDUCE, True), (ALL_TO_ALL, False)], ids=["all-reduce", "grids"]
)
def test_the_late_rank_of_other_collectives_or_of_equal_grids_is_a_straggler(
    exchange: str, grids: bool
) -> None:
    found = findings(together(layers([(150, 50)], exchange, grids=grids)))
    assert "expert-imbalance" not in found
    assert found["straggler"].stake > 0.05
