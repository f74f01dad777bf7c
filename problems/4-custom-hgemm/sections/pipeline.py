"""Stages and consumers over time, played from the kernels' protocols."""

from typing import NamedTuple

from harness.report.chart import BLUE, FAINT, ORANGE, Figure
from harness.report.colours import lighter
from harness.report.escape import Markdown
from harness.report.lanes import Span, draw
from harness.report.page import Page

_LOAD, _MULTIPLY, _STORE = lighter(ORANGE, 0.5), BLUE, lighter(FAINT, 0.5)
_ISSUE = 0.25
"""Of the time of a step, how long the producer takes to issue its loads."""


class Step(NamedTuple):
    """When a step of K is loaded into its stage, and multiplied."""

    stage: int
    issued: float
    arrived: float
    begun: float
    ended: float


def ring(stages: int, load: float, count: int, per_tile: int = 0, store: float = 0.0) -> list[Step]:
    """Return the first ``count`` steps of a ring of stages; a step is multiplied in a time of 1.

    ``load``: from issuing a load to its arrival. The producer issues in order, once the stage is
    empty; the consumer multiplies in order, once it is full. It stores a tile after ``per_tile``
    steps.
    """
    steps: list[Step] = []
    for number in range(count):
        empty = steps[number - stages].ended if number >= stages else 0.0
        issued = max(empty, steps[-1].issued + _ISSUE if steps else 0.0)
        pause = store if per_tile and number % per_tile == 0 else 0.0
        begun = max(issued + load, steps[-1].ended + pause if steps else 0.0)
        steps.append(Step(number % stages, issued, issued + load, begun, begun + 1))
    return steps


class Tile(NamedTuple):
    """When a consumer multiplies a tile, and until when it stores it."""

    consumer: int
    number: int
    begun: float
    multiplied: float
    stored: float


def together(multiply: float, store: float, count: int) -> list[Tile]:
    """Return ``count`` tiles that both consumers multiply, and then both store (h7)."""
    each = multiply + store
    return [
        Tile(consumer, number, number * each, number * each + multiply, (number + 1) * each)
        for number in range(count)
        for consumer in (0, 1)
    ]


def ping_pong(multiply: float, store: float, count: int) -> list[Tile]:
    """Return ``count`` tiles of consumers in turns, which end with a tile's last product (h8)."""
    tiles: list[Tile] = []
    for number in range(count):
        turn = tiles[-1].multiplied if tiles else 0.0
        begun = max(turn, tiles[-2].stored if number > 1 else 0.0)
        ended = begun + multiply
        tiles.append(Tile(number % 2, number, begun, ended, ended + store))
    return tiles


def stages_over_time(page: Page, name: str, case: str, caption: str) -> Markdown:
    """Draw a CTA of h1 and one of h2 over time: what fills and reads each stage."""
    stages = page.metrics.get("stages@h2", "in-turn", case).value
    figure = draw_stages(int(stages)) if stages else None
    return page.figure(name, "stages of shared memory over time", figure, caption)


def draw_stages(stages: int) -> Figure:
    """Return lanes of one stage and of a ring; a load takes as long as the ring can hide."""
    load = stages - 1.0
    spans = _stage_spans("h1, its stage", ring(1, load, 4))
    steps = ring(stages, load, 4 * stages)
    spans += [Span("h2, producer", one.issued, one.issued + _ISSUE, ORANGE) for one in steps]
    for stage in range(stages):
        own = [(at, one) for at, one in enumerate(steps) if one.stage == stage]
        spans += [span for at, one in own for span in _filled(f"h2, stage {stage}", at, one)]
    spans += [
        Span("h2, consumer", one.begun, one.ended, _MULTIPLY, str(at))
        for at, one in enumerate(steps)
    ]
    entries = {_LOAD: "load of a step", _MULTIPLY: "its products"}
    return draw(spans, 2.8 * stages, entries)


def _stage_spans(lane: str, steps: list[Step]) -> list[Span]:
    return [span for at, one in enumerate(steps) for span in _filled(lane, at, one)]


def _filled(lane: str, number: int, step: Step) -> list[Span]:
    load = Span(lane, step.issued, step.arrived, _LOAD, f"step {number}")
    return [load, Span(lane, step.begun, step.ended, _MULTIPLY, str(number))]


def consumers_over_time(page: Page, name: str, case: str, caption: str) -> Markdown:
    """Draw the consumers of h7 and h8; a store takes as long as h7's tensor pipe idles."""
    active = page.metrics.get("tensor_active", "h7", case).value
    figure = draw_consumers(min(1.0, active / 100)) if active else None
    return page.figure(name, "consumers and tensor pipe over time", figure, caption)


def draw_consumers(active: float) -> Figure:
    """Return lanes of h7 and h8; ``active``: the share of time that h7's pipe works.

    The unit is the time of h7's products of a tile. A tile of h8 is half as large, and stored by
    one consumer instead of two.
    """
    store = 1 / active - 1
    spans = _consumer_spans("h7", together(1, store, 4)) + _consumer_spans(
        "h8", ping_pong(0.5, store, 8)
    )
    entries = {_MULTIPLY: "products of a tile", _STORE: "its store"}
    return draw(spans, 3 * (1 + store), entries)


def _consumer_spans(step: str, tiles: list[Tile]) -> list[Span]:
    """Return lanes of both consumers, then of the pipe, which works while one multiplies."""
    spans = []
    for consumer in (0, 1):
        lane = f"{step}, consumer {consumer + 1}"
        for tile in (tile for tile in tiles if tile.consumer == consumer):
            spans.append(Span(lane, tile.begun, tile.multiplied, _MULTIPLY, f"tile {tile.number}"))
            spans.append(Span(lane, tile.multiplied, tile.stored, _STORE))
    busy = sorted({(tile.begun, tile.multiplied) for tile in tiles})
    return spans + [Span(f"{step}, tensor pipe", *each, ORANGE) for each in busy]
