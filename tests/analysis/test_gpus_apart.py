"""Ratios across GPUs: what their own difference may account for decides nothing."""

import itertools
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.analysis import reliability
from harness.analysis.measured import Measured
from harness.analysis.metrics import Metrics
from harness.analysis.verdict import verdict as verdict_of
from harness.problem.model import Bound, Metric, Problem
from tests.support.small_evidence import Row, ceiling, cell, samples, tables

SAME, ABOVE, BELOW = Bound(between=(0.98, 1.02)), Bound(above=1), Bound(below=1)
FAST, SLOW, HOST = "GPU-fast", "GPU-slow", "GPU-fast-of-a-slow-host"
DEVICE = {"dram_read": 4500.0, "dram_copy": 4280.0, "bf16": 800.0, "graph_node": 0.9}
CEILINGS = {  # one reads memory 5 % slower, another's host launches 30 % slower
    FAST: DEVICE | {"launch": 4.0, "h2d_pinned": 55.0},
    SLOW: DEVICE | {"dram_read": 4500.0 / 1.05, "launch": 4.0, "h2d_pinned": 55.0},
    HOST: DEVICE | {"launch": 5.2, "h2d_pinned": 50.0},
}
Times = Sequence[Sequence[float]]
FLAT = [[1.0, 1.001, 0.999]] * 5


def measured(
    problem: Problem,
    of: Times,
    over: Times,
    ran: tuple[Sequence[str], Sequence[str]],
    ceilings: Mapping[str, Mapping[str, float]] = CEILINGS,
    **cells: Any,
) -> Measured:
    """Return "fast" over "slow" of the example, their rounds timed on the GPUs that ``ran``."""
    rows: list[Row] = []
    taken: list[Row] = []
    facts: list[Row] = []
    gpus = {}
    sample = problem.metrics["time"].sample
    for variant, times, on in (("fast", of, ran[0]), ("slow", over, ran[1])):
        for number, (values, gpu) in enumerate(zip(times, on, strict=True)):
            rows.append(cell(variant, number, **cells))
            gpus[rows[-1]["cell"]] = gpu
            taken += samples(rows[-1], sample or "none", *values)
            facts.append({"cell": rows[-1]["cell"], "name": "counted", "value": values[0]})
    known = [ceiling(gpu, *rate) for gpu, rates in ceilings.items() for rate in rates.items()]
    evidence = tables(cells=rows, samples=taken, facts=facts, ceilings=known)
    return Metrics(problem, evidence, gpus).ratio(
        ("time", "fast", "small"), ("time", "slow", "small")
    )


def apart(rounds: int, *gpus: str) -> tuple[list[str], list[str]]:
    return [gpus[0]] * rounds, [gpus[-1]] * rounds


def times(problem: Problem, **update: object) -> None:
    problem.metrics["time"] = problem.metrics["time"].model_copy(update=update)


@pytest.fixture
def example(example: Problem) -> Problem:
    """The example, its time the GPU's own."""
    times(example, sample="gpu_time")
    return example


def scaled(factor: float) -> Times:
    return [[value * factor for value in values] for values in FLAT]


@pytest.mark.parametrize(
    ("factor", "bound", "alone", "two"),
    [
        (1.03, ABOVE, "reproduced", "undecided"),
        (1.03, BELOW, "refuted", "undecided"),
        (1.03, SAME, "tie", "undecided"),
        (1.0, SAME, "reproduced", "undecided"),
        (1.2, ABOVE, "reproduced", "reproduced"),
        (1.2, BELOW, "refuted", "refuted"),
        (1 / 1.2, BELOW, "reproduced", "reproduced"),
    ],
)
def test_a_difference_has_to_exceed_that_of_the_gpus(
    example: Problem, factor: float, bound: Bound, alone: str, two: str
) -> None:
    first = measured(example, scaled(factor), FLAT, apart(5, SLOW))
    assert (verdict_of(first, bound), first.doubt, first.clock_factor) == (alone, "", 1.0)
    second = measured(example, scaled(factor), FLAT, apart(5, SLOW, FAST))
    assert verdict_of(second, bound) == two
    assert second.doubt == "timed on 2 GPUs whose ceilings differ by up to 5.0 % (dram_read)"
    assert (second.value, second.low, second.high) == (first.value, first.low, first.high)


def test_the_same_thing_on_two_gpus_is_never_called_different(example: Problem) -> None:
    draw, called = random.Random(1), 0

    def process(slower: float) -> list[float]:
        luck = draw.gauss(0, 0.003)
        return [slower * math.exp(luck + draw.gauss(0, 0.01)) for _ in range(9)]

    for _ in range(60):
        of, over = ([process(slower) for _ in range(5)] for slower in (1.05, 1.0))
        ratio = measured(example, of, over, apart(5, SLOW, FAST))
        assert verdict_of(replace(ratio, clock_factor=1.0), ABOVE) == "reproduced"
        called += {verdict_of(ratio, bound) for bound in (ABOVE, BELOW)} != {"undecided"}
    assert called == 0


@pytest.mark.parametrize(
    "ceilings",
    [
        {},
        {FAST: CEILINGS[FAST]},
        {SLOW: CEILINGS[SLOW]},
        {FAST: CEILINGS[FAST], SLOW: {"dram_read": 4500.0}},
        {FAST: CEILINGS[FAST], SLOW: {"launch": 4.0}},
        {FAST: CEILINGS[FAST], SLOW: CEILINGS[SLOW] | {"bf16": 0.0}},
    ],
)
def test_where_no_two_gpus_are_known_nothing_is_decided(
    example: Problem, ceilings: Mapping[str, Mapping[str, float]]
) -> None:
    ratio = measured(example, scaled(9.0), FLAT, apart(5, SLOW, FAST), ceilings)
    assert (verdict_of(ratio, ABOVE), ratio.clock_factor) == ("undecided", math.inf)
    assert ratio.doubt == "timed on 2 GPUs whose ceilings are not all known"
    alone = measured(example, scaled(9.0), FLAT, apart(5, SLOW), ceilings)
    assert (verdict_of(alone, ABOVE), alone.doubt) == ("reproduced", "")


@pytest.mark.parametrize("missing", [{}, {"dram_read": 4500.0}, DEVICE | {"bf16": 0.0}])
def test_an_unknown_gpu_may_be_as_far_from_the_known_as_these_are_apart(
    example: Problem, missing: Mapping[str, float]
) -> None:
    ceilings = {FAST: CEILINGS[FAST], SLOW: CEILINGS[SLOW], "GPU-unknown": missing}
    for factor, verdict in ((1.08, "undecided"), (1.2, "reproduced")):
        ratio = measured(example, scaled(factor), FLAT, apart(5, "GPU-unknown", FAST), ceilings)
        assert ratio.clock_factor == pytest.approx(1.05**2)
        assert verdict_of(ratio, ABOVE) == verdict
    assert ratio.doubt == (
        "timed on 2 GPUs whose ceilings are not all known; others differ by up to 5.0 %"
    )


@pytest.mark.parametrize(
    ("sample", "factor"), [("gpu_time", 1.0), ("gpu_time_cold", 1.0), ("wall_time", 1.3)]
)
def test_the_host_counts_where_it_is_in_the_time(
    example: Problem, sample: str, factor: float
) -> None:
    times(example, sample=sample)
    ratio = measured(example, FLAT, FLAT, apart(5, HOST, FAST))
    assert ratio.clock_factor == pytest.approx(factor)
    assert ratio.doubt.startswith("timed on 2 GPUs")


def test_the_host_counts_where_it_is_in_one_of_the_times(example: Problem) -> None:
    latency = {"label": "latency", "unit": "ms", "capture": "timing", "sample": "latency"}
    example.metrics["latency"] = Metric.model_validate(latency)
    rows = [cell("fast"), cell("slow")]
    taken = [*samples(rows[0], "gpu_time", 1.0, 1.1), *samples(rows[1], "latency", 1.0, 1.1)]
    known = [ceiling(gpu, *rate) for gpu in (FAST, HOST) for rate in CEILINGS[gpu].items()]
    evidence = tables(cells=rows, samples=taken, ceilings=known)
    metrics = Metrics(example, evidence, {rows[0]["cell"]: FAST, rows[1]["cell"]: HOST})
    ratio = metrics.ratio(("time", "fast", "small"), ("latency", "slow", "small"))
    assert ratio.clock_factor == pytest.approx(1.3)


def with_events(fast_us: float, slow_us: float) -> dict[str, dict[str, float]]:
    return {
        FAST: CEILINGS[FAST] | {"event_pair": fast_us},
        SLOW: CEILINGS[SLOW] | {"event_pair": slow_us},
    }


@pytest.mark.parametrize(
    ("unit", "long", "factor", "most"),
    [
        (
            "µs",
            2000.0,
            1.05 + 1.6 / 2000,
            "dram_read",
        ),  # a pair of events stands around a step once
        ("ms", 2.0, 1.05 + 1.6 / 2000, "dram_read"),
        ("µs", 4.0, 1.05 + 1.6 / 4, "event_pair"),
        ("GB/s", 2000.0, 2.9 / 1.3, "event_pair"),  # no time: how long its steps were is not known
    ],
)
def test_a_pair_of_events_adds_what_it_takes_to_a_step(
    example: Problem, unit: str, long: float, factor: float, most: str
) -> None:
    times(example, unit=unit)
    of = [[long * value for value in values] for values in ([1.0, 1.001, 1.002],) * 5]
    ratio = measured(example, of, of, apart(5, SLOW, FAST), with_events(1.3, 2.9))
    assert ratio.clock_factor == pytest.approx(factor)
    assert ratio.doubt.endswith(f" ({most})")


@pytest.mark.parametrize(
    ("sides", "least"),
    [
        ([("ms", [3.0, 2.0]), ("µs", [2500.0])], 2000.0),
        ([("ms", [3.0]), ("GB/s", [1.0])], None),
        ([("ms", [3.0]), ("tok/s", [0.0])], None),
        ([("tok/s", [250.0, 400.0]), ("tok/s", [12.5])], 2500.0),
        ([("ms", [3.0, 0.0]), ("ms", [2.0])], None),
        ([("ms", []), ("ms", [])], None),
    ],
)
def test_the_least_time_is_that_of_both_sides(
    sides: list[tuple[str, list[float]]], least: float | None
) -> None:
    assert reliability.least_us(sides) == least


def test_steps_around_which_events_stand_differ_by_no_more_than_the_factor(
    example: Problem,
) -> None:
    """A step of 50 µs on a GPU whose memory is 5 % slower, and whose events take 1.6 µs more."""
    times(example, unit="µs")
    of, over = [[50 * 1.05 + 2.9] * 3] * 5, [[50 + 1.3] * 3] * 5
    ratio = measured(example, of, over, apart(5, SLOW, FAST), with_events(1.3, 2.9))
    assert ratio.value is not None
    assert 1.05 < ratio.value < ratio.clock_factor < 1.1


@pytest.mark.parametrize(
    ("ran", "factor", "gpus"),
    [
        (([FAST, SLOW], [FAST, SLOW]), 1.0, 0),  # each round on one GPU
        (([FAST, SLOW], [SLOW, FAST]), 1.05, 2),
        (([FAST, SLOW], [FAST, FAST]), 1.05, 2),  # one round of two
        (([FAST, SLOW, FAST], [FAST, SLOW]), 1.0, 0),  # the third has no other side
        (([FAST, FAST], [HOST, SLOW]), 1.05, 3),  # the round whose GPUs differ most
        (([FAST, FAST], [FAST, "GPU-unknown"]), 1.05**2, 2),
    ],
)
def test_what_counts_is_the_gpus_of_each_round(
    example: Problem, ran: tuple[list[str], list[str]], factor: float, gpus: int
) -> None:
    sides = [FLAT[: len(on)] for on in ran]
    ratio = measured(example, sides[0], sides[1], ran)
    assert ratio.clock_factor == pytest.approx(factor)
    assert ratio.doubt.startswith(f"timed on {gpus} GPUs" if gpus else "")
    assert bool(ratio.doubt) is bool(gpus)


def test_rounds_on_one_gpu_alone_count_where_there_are_two(example: Problem) -> None:
    ran = [FAST, FAST, SLOW], [FAST, FAST, FAST]
    sides = ([2.0, 2.0], [2.2, 2.2], [9.0, 9.0]), ([1.0, 1.0], [1.0, 1.0], [1.0, 1.0])
    ratio = measured(example, *sides, ran)
    assert ratio.value == pytest.approx((2.0 * 2.2) ** 0.5)
    left_out = "round 2 left out: its sides ran on different GPUs"
    assert (ratio.rounds, ratio.samples, ratio.doubt) == (2, 4, left_out)
    assert ratio.clock_factor == 1.0
    more = [[*side, [1.0, 1.0]] for side in sides]
    ratio = measured(example, more[0], more[1], ([*ran[0], SLOW], [*ran[1], FAST]))
    assert ratio.doubt == "rounds 2, 3 left out: their sides ran on different GPUs"
    too_few = measured(example, *sides, ([FAST, SLOW, SLOW], ran[1]))
    assert too_few.rounds == 3
    assert too_few.doubt


def test_all_rounds_count_of_what_one_gpu_compared(example: Problem) -> None:
    times(example, paired=True)
    ran = [FAST, FAST, SLOW], [FAST, FAST, FAST]
    sides = ([2.0, 2.0], [2.2, 2.2], [2.1, 2.1]), ([1.0, 1.0], [1.0, 1.0], [1.0, 1.0])
    ratio = measured(example, *sides, ran)
    assert ratio.value == pytest.approx((2.0 * 2.2 * 2.1) ** (1 / 3))
    assert (ratio.rounds, ratio.doubt) == (3, "")


def test_sides_without_a_common_round_are_compared_by_the_first_of_each(example: Problem) -> None:
    rows = [cell("fast", 2), cell("fast", 3), cell("slow", 0), cell("slow", 1)]
    taken = [row for of in rows for row in samples(of, "gpu_time", 1.0, 1.1)]
    known = [ceiling(gpu, *rate) for gpu in (FAST, SLOW) for rate in CEILINGS[gpu].items()]
    evidence = tables(cells=rows, samples=taken, ceilings=known)
    for ran, factor in (((FAST, SLOW, FAST, SLOW), 1.0), ((FAST, FAST, SLOW, FAST), 1.05)):
        gpus = {row["cell"]: gpu for row, gpu in zip(rows, ran, strict=True)}
        sides = (("time", "fast", "small"), ("time", "slow", "small"))
        assert Metrics(example, evidence, gpus).ratio(*sides).clock_factor == pytest.approx(factor)


@pytest.mark.parametrize(
    "update", [{"paired": True}, {"sample": None, "fact": "counted"}], ids=["paired", "counted"]
)
def test_what_one_gpu_counted_or_compared_needs_no_room(
    example: Problem, update: dict[str, object]
) -> None:
    times(example, **update)
    ratio = measured(example, scaled(1.03), FLAT, apart(5, SLOW, FAST), {})
    assert (ratio.clock_factor, ratio.doubt) == (1.0, "")
    assert verdict_of(ratio, ABOVE) == "reproduced"


def test_nor_does_a_time_over_what_was_counted_or_a_single_value(example: Problem) -> None:
    counted = {"label": "counted", "unit": "", "capture": "timing", "fact": "counted"}
    example.metrics["counted"] = Metric.model_validate(counted)
    rows = [cell("fast"), cell("slow")]
    evidence = tables(
        cells=rows,
        samples=[row for of in rows for row in samples(of, "gpu_time", 1.0, 1.1)],
        facts=[{"cell": of["cell"], "name": "counted", "value": 2.0} for of in rows],
    )
    metrics = Metrics(example, evidence, {rows[0]["cell"]: FAST, rows[1]["cell"]: SLOW})
    per = metrics.ratio(("time", "fast", "small"), ("counted", "slow", "small"))
    alone = metrics.get("time", "fast", "small")
    assert (per.clock_factor, per.doubt, alone.clock_factor, alone.doubt) == (1.0, "", 1.0, "")


def test_room_for_the_clock_and_for_the_gpus_are_both_given(example: Problem) -> None:
    slowed: dict[str, Any] = {
        "doubt": "power cap in 9 of 9 looks",
        "sm_mhz_min": 1800.0,
        "sm_mhz_max": 1980.0,
    }
    ratio = measured(example, FLAT, FLAT, apart(5, SLOW, FAST), **slowed)
    assert ratio.clock_factor == pytest.approx(1.05 * 1980 / 1800)
    told = "; timed on 2 GPUs whose ceilings differ by up to 5.0 % (dram_read)"
    assert ratio.doubt.endswith(told)


def test_cells_of_no_gpu_are_of_one(example: Problem) -> None:
    rows = [cell("fast"), cell("slow")]
    taken = [row for of in rows for row in samples(of, "gpu_time", 1.0, 1.1)]
    sides = (("time", "fast", "small"), ("time", "slow", "small"))
    for gpus in (None, {row["cell"]: None for row in rows}):
        ratio = Metrics(example, tables(cells=rows, samples=taken), gpus).ratio(*sides)
        assert (ratio.clock_factor, ratio.doubt) == (1.0, "")


rates = st.lists(st.floats(0.5, 2.0), min_size=4, max_size=4)
NAMES = ("dram_read", "bf16", "fp32", "launch")


@given(rates, rates, st.lists(st.floats(0.01, 1.0), min_size=4, max_size=4))
def test_no_step_made_of_what_ceilings_hold_up_differs_by_more_than_they(
    first: list[float], second: list[float], parts: list[float]
) -> None:
    known = [
        ceiling(gpu, name, rate)
        for gpu, of in ((FAST, first), (SLOW, second))
        for name, rate in zip(NAMES, of, strict=True)
    ]
    ceilings = tables(ceilings=known)["ceilings"]
    took = [
        sum(part / rate for part, rate in zip(parts, of, strict=True)) for of in (first, second)
    ]
    ratio = took[0] / took[1]
    both = itertools.permutations((FAST, SLOW))
    factor, again = (
        reliability.apart({(pair[0], pair[1])}, ceilings, ["wall_time"], None)[1] for pair in both
    )
    assert factor == again >= 1
    assert max(ratio, 1 / ratio) <= factor * (1 + 1e-9)
    assert reliability.apart({(FAST, SLOW)}, ceilings, ["gpu_time"], None)[1] <= factor


@given(st.floats(0.5, 2.0), st.floats(0, 0.2), st.floats(1.0, 2.0), st.floats(1.0, 2.0))
def test_a_larger_factor_only_ever_takes_a_verdict_back(
    value: float, width: float, factor: float, more: float
) -> None:
    ends = value / (1 + width), value * (1 + width)
    ratio = Measured("×", value, *ends, 5, 50, clock_factor=factor)
    for bound in (SAME, ABOVE, BELOW):
        before = verdict_of(ratio, bound)
        after = verdict_of(replace(ratio, clock_factor=factor * more), bound)
        assert after in (before, "undecided")


def test_both_sides_are_of_the_rounds_that_the_ratio_has(example: Problem) -> None:
    times = {"fast": [1.0, 1.0], "slow": [2.0, 2.0, 16.0]}  # the third round has one side
    rows = {name: [cell(name, at) for at in range(len(each))] for name, each in times.items()}
    sample = example.metrics["time"].sample or "none"
    taken = [
        row
        for name, values in times.items()
        for at, value in enumerate(values)
        for row in samples(rows[name][at], sample, value)
    ]
    metrics = Metrics(example, tables(cells=[*rows["fast"], *rows["slow"]], samples=taken))
    slow, fast = ("time", "slow", "small"), ("time", "fast", "small")
    assert metrics.get(*slow).value == pytest.approx(4.0)
    assert [each.value for each in metrics.sides(slow, fast)] == pytest.approx([2.0, 1.0])
    assert metrics.ratio(slow, fast).value == pytest.approx(2.0)


def test_a_rate_of_a_load_is_compared_on_one_gpu_as_a_sample_is(example: Problem) -> None:
    change = {
        "unit": "tokens/s",
        "capture": "load",
        "sample": None,
        "measure": "output_tokens_per_s",
    }
    example.metrics["rate"] = example.metrics["time"].model_copy(update=change)
    cells, requests, runs, gpus = [], [], [], {}
    for variant, counts, ran in (
        ("fast", (2, 2, 9), (FAST, FAST, SLOW)),
        ("slow", (1,) * 3, (FAST,) * 3),
    ):
        for number, (tokens, gpu) in enumerate(zip(counts, ran, strict=True)):
            row = cell(variant, number, capture="load")
            name = str(row["cell"])
            gpus[name] = gpu
            cells.append(row)
            request = {"request": 0, "due_ns": 0, "first_ns": 1, "prompt_tokens": 1, "mark": ""}
            requests.append({"cell": name, **request, "output_tokens": tokens})
            runs.append({"cell": name, "end_ns": 10**9})
    taken = tables(cells=cells, load_requests=requests, load_runs=runs)
    ratio = Metrics(example, taken, gpus).ratio(
        ("rate", "fast", "small"), ("rate", "slow", "small")
    )
    assert ratio.value == pytest.approx(2.0)
    assert ratio.doubt == "round 2 left out: its sides ran on different GPUs"
