"""The laws, by hand: bytes of small cases, bubbles of drawn schedules, crossings of curves."""

from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest


@pytest.fixture
def sizes(law: ModuleType) -> Any:
    """Two ranks, one layer of width 8 with 2 of 4 heads' keys, 10 tokens, numbers of 2 bytes."""
    return law.Sizes(ranks=2, layers=1, tokens=10, width=8, kv_width=4, hidden=16, element=2)


@pytest.mark.parametrize(
    ("kind", "bytes_sent"),
    [
        ("all-reduce", 1500),  # 3/4 of it out, 3/4 of it back
        ("one-shot", 1500),  # counted as an all-reduce
        ("all-gather", 750),
        ("reduce-scatter", 750),
        ("all-to-all", 1000),
        ("send", 1000),
    ],
)
def test_four_ranks_send(law: ModuleType, kind: str, bytes_sent: float) -> None:
    assert law.sent(kind, 1000, 4) == bytes_sent


@pytest.mark.parametrize(
    ("way", "bytes_sent"),
    [
        ("none", 0),
        ("tensor", 320),  # two all-reduces of 160 bytes, each sends as much with two ranks
        ("ring", 80),  # 5 tokens' keys and values, 4 numbers each
        ("ring-torch", 160),  # their heads repeated for all queries
        ("ulysses", 120),  # half of 5 tokens' 8 + 4 + 4 numbers, and of 8 results
        ("experts", 80),  # half of 5 rows go to one expert each, and come back
    ],
)
def test_a_forward_pass_sends(law: ModuleType, sizes: Any, way: str, bytes_sent: float) -> None:
    assert law.forward_bytes(way, sizes) == bytes_sent


def test_a_training_step_sends(law: ModuleType, sizes: Any) -> None:
    weights = 2 * (2 * 8 * 12 + 3 * 8 * 16 + 2 * 8 + 8)  # products, norms, the last norm
    assert law.training_bytes("data", sizes) == weights
    assert law.training_bytes("fsdp", sizes) == 1.5 * weights
    assert law.training_bytes("fsdp-keep", sizes) == weights
    assert law.training_bytes("pipeline", sizes) == 160  # 160 on, 160 back, of two ranks
    mixture = replace(sizes, experts=4, top=2)
    shared = 2 * (2 * 8 * 12 + 4 * 8 + 2 * 8 + 8)  # projections, router, norms, the last norm
    # half of 5 rows' two experts, there and back, forward and backward
    assert law.training_bytes("experts", mixture) == shared + 2 * 160
    assert law.training_bytes("data", mixture) == shared + 2 * 4 * 3 * 8 * 16


def test_bubbles_are_those_of_drawn_schedules(law: ModuleType) -> None:
    def of(schedule: str, ranks: int, micro: int, chunks: int = 1) -> float:
        case = law.Sizes(ranks, 4, 8, 8, 4, 16, 2, microbatches=micro, chunks=chunks)
        return float(law.bubble(schedule, case))

    assert of("naive", 4, 8) == 3  # three of four stages wait at any time
    assert of("1f1b", 4, 8) == drawn_wait(4, 8) / 8
    assert of("gpipe", 2, 4) == drawn_wait(2, 4) / 4
    assert of("interleaved", 4, 8, chunks=2) == of("1f1b", 4, 8) / 2
    assert of("zero", 2, 8) < of("interleaved", 2, 8, chunks=2)


def drawn_wait(stages: int, micro: int) -> float:
    """Return how long the first stage waits in a step, in microbatches forward and back.

    All forward passes, then all backward passes, by when each can begin.
    """
    ends: dict[tuple[str, int, int], float] = {}
    for stage in range(stages):
        for number in range(micro):
            before = ends.get(("f", stage, number - 1), 0), ends.get(("f", stage - 1, number), 0)
            ends["f", stage, number] = max(before) + 1
    for stage in reversed(range(stages)):
        for number in range(micro):
            last = ends["b", stage, number - 1] if number else ends["f", stage, micro - 1]
            after = ends.get(("b", stage + 1, number), last)
            ends["b", stage, number] = max(last, after) + 2
    return (ends["b", 0, micro - 1] - 3 * micro) / 3


def test_what_is_hidden_costs_nothing(law: ModuleType) -> None:
    assert law.step_ms(10, 2000, law.Overlap()) == 12
    assert law.step_ms(10, 2000, law.Overlap(beside=1.0)) == 10
    assert law.step_ms(10, 2000, law.Overlap(beside=0.1)) == 11
    assert law.step_ms(10, 2000, law.Overlap(beside=1.0, ends=0.5)) == 11
    assert law.step_ms(10, 0, law.Overlap(), idle=0.25) == 12.5


def test_what_is_hidden_slows_the_work_beside_it(law: ModuleType) -> None:
    # 2 ms, of which a half has no work beside it: of the other ms the work loses 0.4
    assert law.step_ms(10, 2000, law.Overlap(beside=1.0, ends=0.5, loss=0.4)) == 11.4
    # 0.1 of 10 ms hides 1 of 2 ms
    assert law.step_ms(10, 2000, law.Overlap(beside=0.1, loss=0.4)) == 11.4
    assert law.step_ms(10, 2000, law.Overlap(loss=0.4)) == 12  # hides nothing
    assert law.step_ms(10, 2000, law.Overlap(beside=1.0, loss=0.4), idle=0.5) == 15.8


def test_attention_s_share_grows_with_the_tokens(law: ModuleType) -> None:
    short, long = (law.Sizes(2, 1, tokens, 8, 4, 16, 2) for tokens in (36, 72))
    # 2 · tokens · 8 beside twice 192 + 384 weights, a token
    assert law.attention_share(short) == pytest.approx(576 / (576 + 1152))
    assert law.attention_share(long) == pytest.approx(1152 / (1152 + 1152))


def test_between_sizes_a_line_in_log_log(law: ModuleType) -> None:
    table = [(100.0, 10.0), (400.0, 20.0), (1600.0, 80.0)]
    sizes_us = {50: 10, 100: 10, 200: 200**0.5, 400: 20, 800: 40, 1600: 80, 3200: 160}
    for size, expected in sizes_us.items():
        assert law.between(table, size) == pytest.approx(expected)
    with pytest.raises(ValueError, match="fewer than two sizes"):
        law.between(table[:1], 101)


def test_a_crossing_lies_where_the_curves_meet(law: ModuleType) -> None:
    lengths = [100, 200, 400, 800]
    rising = [length**2 / 1e4 for length in lengths]  # 1 at 100
    flatter = [length / 20 for length in lengths]  # meets the other at 500
    assert law.crossover(lengths, flatter, rising) == pytest.approx(500)
    assert law.crossover(lengths, rising, flatter) is None  # slower at the end
    assert law.crossover(lengths, rising, [2 * each for each in rising]) is None  # never slower
