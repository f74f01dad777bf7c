"""What the forecast takes from the page: measured steps, link tables, memory of one case."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import median
from typing import Any, NamedTuple

from harness.analysis.verdict import limits
from harness.problem.model import Problem
from harness.report.page import Page

from ..law import Points, Sizes, between
from .forecast import PREFILLS, Forecast, Point, collectives, rates

SHAPES = {"llama-3-70b": (8192, 1024, 28672)}
"""Width, of keys, and hidden, as model.py says them, which imports torch."""
_ELEMENT = 2
"""Bytes of a number in bf16."""
_LAUNCHED = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "send")
_IN_GRAPH = ("all-reduce", "one-shot")


def most(problem: Problem, claim: str) -> float:
    """Return the most that a claim allows, in the unit of its metric."""
    (found,) = (each for each in problem.claims if each.id == claim)
    return limits(found.bound)[1]


class Predicted(NamedTuple):
    """A split way that was predicted: its name, its work, and by round what was measured of it.

    ``step``, ``part``, ``predicted``: ms of the step, of own work alone, by the law; ``bubble``:
    the bubble's share of own work and bubble, in %.
    """

    name: str
    work: str
    step: dict[int, float]
    part: dict[int, float]
    predicted: dict[int, float]
    bubble: dict[int, float]

    def drawn_out(self, number: int, ms: float) -> float:
        """Return how long that much work of a round takes with the bubble by its law."""
        return ms / (1 - self.bubble[number] / 100)


@dataclass(frozen=True)
class Inputs:
    """What one variant measured in a case; the forecast needs one of two decodes and a prefill."""

    page: Page
    variant: str
    case: str

    @cached_property
    def params(self) -> Mapping[str, Any]:
        """Return the parameters of the case."""
        return self.page.problem.cases[self.case].params

    def value(self, metric: str) -> float | None:
        """Return a metric, None where it was not measured."""
        return self.page.metrics.get(metric, self.variant, self.case).value

    def rounds(self, metric: str) -> dict[int, float]:
        """Return a metric's median in each process, by its round."""
        values = self.page.metrics.samples(metric, self.variant, self.case)
        return {number: median(samples) for number, samples in values.items()}

    def predictions(self) -> Iterator[Predicted]:
        """Yield the split ways of all works that were predicted."""
        for work, about in self.params["works"].items():
            for name in (f"{work}-by-{way}" for way in about["ways"]):
                found = [
                    self.rounds(f"{metric}@{name}")
                    for metric in ("step_ms", "part_ms", "predicted_ms", "bubble_law")
                ]
                way = Predicted(name, work, *found)
                if way.predicted:
                    yield way

    @cached_property
    def points(self) -> dict[str, Point]:
        """Return the measured steps: the decode of fewer sequences, that of more, the prefill."""
        found = {
            name: Point(work["tokens"], work["batch"], work.get("context", 0))
            for name, work in self.params["works"].items()
        }
        return dict(sorted(found.items(), key=lambda item: (item[1].tokens, item[1].sequences)))

    def steps(self, work: str) -> dict[str, float]:
        """Return the measured ms of each way of a work."""
        ways = self.params["works"][work]["ways"]
        found = {way: self.value(f"step_ms@{work}-by-{way}") for way in ways}
        return {way: ms for way, ms in found.items() if ms is not None}

    def forecast(self) -> Forecast | None:
        """Return the forecast, None where the evidence lacks one of its inputs."""
        *_, (prefill_name, prefill) = self.points.items()
        whole = {at: self.steps(name).get("whole", math.nan) for name, at in self.points.items()}
        held = {
            way: 1e9 * (self.value(f"memory_gb@{prefill_name}-by-{way}") or math.nan)
            for way in PREFILLS
        }
        launched = self._tables(_LAUNCHED, "us", self.params["message_sizes"])
        in_graph = self._tables(_IN_GRAPH, "in_graph_us", self.params["graph_sizes"])
        if not launched or not in_graph or math.isnan(sum([*whole.values(), *held.values()])):
            return None
        shape = SHAPES[self.params["works"][prefill_name]["model"]]
        sizes = Sizes(self.params["ranks"], self.params["layers"], 0, *shape, _ELEMENT)
        longest = Point(max(self.params["sweep"]["lengths"]), 1)
        attention_ms = self._attention_ms(sizes, launched, longest)
        found = attention_ms and rates(sizes, whole, attention_ms, longest)
        if not found:
            return None
        gpu = self.page.target.gpu
        memory = (gpu and gpu.memory_bytes) or math.inf
        return Forecast(sizes, found, launched, in_graph, prefill, held, memory)

    def _tables(
        self, kinds: Sequence[str], suffix: str, sizes: Sequence[int]
    ) -> dict[str, Points] | None:
        """Return the link's tables by kind; None where one has fewer than two sizes."""
        found: dict[str, Points] = {}
        for kind in kinds:
            name = f"{kind.replace('-', '_')}_{suffix}"
            points = [(float(size), self.value(f"{name}@{size >> 10}KiB")) for size in sizes]
            found[kind] = [(size, us) for size, us in points if us is not None]
        return found if min(map(len, found.values())) > 1 else None

    def _attention_ms(
        self, sizes: Sizes, launched: Mapping[str, Points], at: Point
    ) -> float | None:
        """Return what a rank computes of Ulysses' attention: its prediction without the link."""
        predicted = self.value(f"ulysses_predicted_ms@attention-{at.tokens}")
        exchanges = collectives("ulysses", replace(sizes, tokens=at.tokens))
        if predicted is None:
            return None
        return predicted - sum(between(launched[kind], size) for kind, size in exchanges) / 1e3
