"""Two rankings of the same configurations compared: the tuner's, and one without its copies."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

Choices = dict[str, list[int]]
"""Which candidate was chosen at each tuning, by "tuner" (with its copies) and "uncopied"."""


@dataclass(frozen=True)
class Candidate:
    """A configuration and its times in µs.

    ``tuner``: as GemLite's tuner saw it in the process's first tuning. ``repeated``: the same in a
    later one. ``uncopied``: in a later one without the copies of ``restore_value``. ``alone``: a
    layer of the stack, replayed from a CUDA graph.
    """

    config: dict[str, Any]
    tuner: float
    repeated: float
    uncopied: float
    alone: float


def ranks(values: Sequence[float]) -> list[float]:
    """Return each value's rank, 1 the smallest; equal values share the mean of theirs."""
    return [
        sum(other < value for other in values) + (1 + sum(other == value for other in values)) / 2
        for value in values
    ]


def spearman(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the rank correlation of two measurements of the same things."""
    first_ranks, second_ranks = ranks(first), ranks(second)
    middle = fmean(first_ranks)  # of both: ranks with ties have the same sum
    pairs = zip(first_ranks, second_ranks, strict=True)
    shared = sum((a - middle) * (b - middle) for a, b in pairs)
    spread = sum((a - middle) ** 2 for a in first_ranks)
    spread *= sum((b - middle) ** 2 for b in second_ranks)
    return shared / spread**0.5 if spread else 0.0


def compared(candidates: Sequence[Candidate], choices: Choices) -> dict[str, tuple[float, str]]:
    """Return facts, value and unit, on how the tuner ranked the candidates."""
    tuner = [candidate.tuner for candidate in candidates]
    repeated = [candidate.repeated for candidate in candidates]
    uncopied = [candidate.uncopied for candidate in candidates]
    alone = [candidate.alone for candidate in candidates]
    worst = {name: max(alone[index] for index in indices) for name, indices in choices.items()}
    return {
        "tunings": (len(choices["tuner"]), "tunings"),
        "different_choices": (len(set(choices["tuner"])), "configurations"),
        "different_uncopied_choices": (len(set(choices["uncopied"])), "configurations"),
        "worst_choice": (worst["tuner"] / min(alone), "×"),
        "worst_uncopied_choice": (worst["uncopied"] / min(alone), "×"),
        "spearman_tuner": (spearman(tuner, alone), ""),
        "spearman_repeated": (spearman(repeated, alone), ""),
        "spearman_uncopied": (spearman(uncopied, alone), ""),
        "copies": (_added(repeated, uncopied), "us"),
        "first_tuning": (_added(tuner, repeated), "us"),
        "tuner_range": (max(tuner) / min(tuner), "×"),
        "alone_range": (max(alone) / min(alone), "×"),
    }


def _added(times: Sequence[float], others: Sequence[float]) -> float:
    """Return by how much the median candidate takes longer than in ``others``."""
    return median(a - b for a, b in zip(times, others, strict=True))
