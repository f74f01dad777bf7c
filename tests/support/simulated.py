"""Simulated timings whose truth is known, and how often the shipped rules are right about them."""

import math
import random
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from harness.analysis.statistics import Interval, Rounds, ratio
from harness.analysis.verdict import place

SAMPLES = 15
Process = Callable[[random.Random, int], list[float]]
"""Gives the samples of one process, by its place in time (0, 1, …), around a true value of 1."""


def varying(draw: random.Random, _place: int, *, process: float, sample: float) -> list[float]:
    """Processes and their samples vary by shares of the value."""
    luck = draw.gauss(0, process)
    return [math.exp(luck + draw.gauss(0, sample)) for _ in range(SAMPLES)]


noise: Process = partial(varying, process=0.003, sample=0.01)
unsteady: Process = partial(varying, process=0.03, sample=0.05)


def drift(draw: random.Random, place_in_time: int) -> list[float]:
    """The same on a machine that slows by 3 % over ten rounds."""
    slower = 0.03 * place_in_time / 19
    return [value * math.exp(slower) for value in noise(draw, place_in_time)]


def bimodal(draw: random.Random, place_in_time: int) -> list[float]:
    """The same where three processes in ten are 5 % slower from start to end."""
    slower = 0.05 * (draw.random() < 0.3)
    return [value * math.exp(slower) for value in noise(draw, place_in_time)]


def autocorrelated(draw: random.Random, _place: int) -> list[float]:
    """Samples of a process follow each other: a first-order process of 2 %, correlation 0.9."""
    state, samples = draw.gauss(0, 0.02), []
    for _ in range(SAMPLES):
        state = 0.9 * state + draw.gauss(0, 0.02 * math.sqrt(1 - 0.9**2))
        samples.append(math.exp(state))
    return samples


PROCESSES: dict[str, Process] = {
    "noise": noise,
    "drift": drift,
    "bimodal": bimodal,
    "autocorrelated": autocorrelated,
    "unsteady": unsteady,
    **{f"{share} %": partial(varying, process=share / 100, sample=0.01) for share in (0.3, 1, 3)},
}


def interleaved(
    draw: random.Random, process: Process, factor: float, rounds: int
) -> tuple[Rounds, Rounds]:
    """Two variants in rounds A B, B A, …, the first ``factor`` times as slow."""
    first: dict[int, list[float]] = {}
    second: dict[int, list[float]] = {}
    for number in range(rounds):
        early, late = process(draw, 2 * number), process(draw, 2 * number + 1)
        first_samples, second_samples = (early, late) if number % 2 == 0 else (late, early)
        first[number], second[number] = [factor * value for value in first_samples], second_samples
    return first, second


def different(interval: Interval) -> bool:
    """Whether the rule of verdicts, if it were asked, calls two variants different."""
    return place((interval.low, interval.high), (1.0, math.inf)) in ("inside", "outside")


class Rates(NamedTuple):
    """Of comparisons of a thing with itself: the shares covered, and called different."""

    covered: float
    different: float


def rates(process: str, rounds: int, trials: int, seed: int = 7) -> Rates:
    """Return how often intervals hold the truth of 1, and how often the rule sees a difference."""
    draw = random.Random(seed)
    intervals = [ratio(*interleaved(draw, PROCESSES[process], 1.0, rounds)) for _ in range(trials)]
    covered = sum(interval.low <= 1 <= interval.high for interval in intervals) / trials
    return Rates(covered, sum(map(different, intervals)) / trials)
