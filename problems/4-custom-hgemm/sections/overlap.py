"""What waits for what in steps that overlap their parts, played from the kernels' protocols.

Lengths of time are chosen; which part waits for which is the kernels'.
"""

from collections.abc import Sequence
from typing import NamedTuple

from harness.report.chart import BLUE, FAINT, ORANGE, Figure
from harness.report.colours import lighter
from harness.report.lanes import Span, draw

from .pipeline import Step, ring

_PALE_BLUE, _PALE_ORANGE, _GREY = lighter(BLUE, 0.55), lighter(ORANGE, 0.5), lighter(FAINT, 0.5)
_LAUNCH = lighter(FAINT, 0.75)
_OF_TILE = ((BLUE, _PALE_BLUE), (ORANGE, _PALE_ORANGE))
"""The colours of every other tile, or set of registers: its products, and its loads."""


def one_stage(load: float, multiply: float, count: int) -> list[Step]:
    """Return steps that are loaded, stored to shared memory and multiplied in turn (p5)."""
    begins = [number * (load + multiply) for number in range(count)]
    return [Step(0, at, at + load, at + load, at + load + multiply) for at in begins]


def multistage(stages: int, load: float, count: int) -> list[Step]:
    """Return steps whose copies start behind the barrier of the step ``stages`` - 1 before (p6)."""
    steps: list[Step] = []
    ahead = stages - 1
    for number in range(count):
        issued = steps[number - ahead].begun if number >= ahead else 0.0
        begun = max(issued + load, steps[-1].ended if steps else 0.0)
        steps.append(Step(number % stages, issued, issued + load, begun, begun + 1))
    return steps


def draw_multistage(stages: int = 3) -> Figure:
    """Return p5's loads and products, and p6's stages and products."""
    load = stages - 1.0
    spans = []
    for n, step in enumerate(one_stage(load, 0.5, 5)):
        spans += _in_lanes(("p5, loads", "p5, products"), step, n)
    steps = multistage(stages, load, 4 * stages)
    for stage in range(stages):
        for n, step in enumerate(steps):
            if step.stage == stage:
                lane = f"p6, stage {stage}"
                spans += _in_lanes((lane, lane), step, n)
    lane = "p6, products"
    spans += [Span(lane, one.begun, one.ended, BLUE, str(n)) for n, one in enumerate(steps)]
    return draw(spans, 10, {_PALE_ORANGE: "copies of a step", BLUE: "its products"})


def _in_lanes(lanes: tuple[str, str], step: Step, number: int) -> list[Span]:
    load = Span(lanes[0], step.issued, step.arrived, _PALE_ORANGE, str(number))
    return [load, Span(lanes[1], step.begun, step.ended, BLUE, str(number))]


class Slice(NamedTuple):
    """16 of K: when a warp waits at the barrier before it, loads its fragments, multiplies."""

    waited: float
    issued: float
    loaded: float
    begun: float
    ended: float


def in_turn(load: float, barrier: float, per_step: int, count: int) -> list[Slice]:
    """Return slices that are loaded, then multiplied in a time of 1 (p6)."""
    slices: list[Slice] = []
    for number in range(count):
        at = slices[-1].ended if slices else 0.0
        issued = at + (barrier if number % per_step == 0 else 0.0)
        slices.append(Slice(at, issued, issued + load, issued + load, issued + load + 1))
    return slices


def double_buffered(load: float, barrier: float, per_step: int, count: int) -> list[Slice]:
    """Return slices that are loaded while the one before is multiplied (p7).

    The barrier and the loads of a slice precede the products of the slice before it.
    """
    slices: list[Slice] = []
    loaded = barrier + load
    waited, issued = 0.0, barrier
    for number in range(count):
        at = max(loaded, slices[-1].ended if slices else 0.0)
        begun = at + (barrier if (number + 1) % per_step == 0 else 0.0)
        slices.append(Slice(waited, issued, loaded, begun, begun + 1))
        waited, issued, loaded = at, begun, begun + load
    return slices


def draw_double_buffer(per_step: int = 4) -> Figure:
    """Return a warp's loads of fragments and its products, in p6 and p7."""
    times = (0.6, 0.25, per_step, 3 * per_step)
    spans = []
    for name, slices, sets in (("p6", in_turn(*times), 1), ("p7", double_buffered(*times), 2)):
        for kind in ("ldmatrix", "mma.sync"):
            lane = f"{name}, {kind}"
            for number, one in enumerate(slices):
                multiply, load = _OF_TILE[number % sets]
                text = str(number % per_step)
                if kind == "ldmatrix":
                    spans.append(Span(lane, one.waited, one.issued, FAINT))
                    spans.append(Span(lane, one.issued, one.loaded, load, text))
                else:
                    spans.append(Span(lane, one.begun, one.ended, multiply, text))
    key = {BLUE: "register set 0", ORANGE: "set 1", FAINT: "wait, barrier"}
    return draw(spans, 11.5, key)


def draw_persistent(stages: int = 4) -> Figure:
    """Return stages and consumers of h3 and h4 over two tiles."""
    load, steps, store, launch = 3.0, 6, 2.0, 1.0
    once = ring(stages, load, steps)
    later = once[-1].ended + store + launch
    fresh = once + [Step(one.stage, *(later + at for at in one[1:])) for one in once]
    kept = ring(stages, load, 2 * steps, steps, store)
    spans = _tiles("h3", stages, steps, fresh, store) + _tiles("h4", stages, steps, kept, store)
    key = {BLUE: "tile 0", ORANGE: "tile 1", _PALE_BLUE: "load", _GREY: "store of C"}
    return draw(spans, later + once[-1].ended + store, key)


def _tiles(name: str, stages: int, per_tile: int, steps: list[Step], store: float) -> list[Span]:
    spans = []
    numbered = list(enumerate(steps))
    for stage in range(stages):
        for number, step in numbered:
            if step.stage == stage:
                multiply, load = _OF_TILE[number // per_tile % 2]
                lane, text = f"{name}, stage {stage}", str(number % per_tile)
                spans.append(Span(lane, step.issued, step.arrived, load, text))
                spans.append(Span(lane, step.begun, step.ended, multiply, text))
    for number, step in numbered:
        colour = _OF_TILE[number // per_tile % 2][0]
        lane = f"{name}, consumers"
        spans.append(Span(lane, step.begun, step.ended, colour, str(number % per_tile)))
        if number % per_tile == per_tile - 1:
            spans.append(Span(lane, step.ended, step.ended + store, _GREY, "store"))
    return spans


class Box(NamedTuple):
    """64 columns of C: from when a consumer writes them to which box, until TMA has read them."""

    place: int
    begun: float
    written: float
    read: float


def boxes(start: float, write: float, read: float, count: int, places: int) -> list[Box]:
    """Return the boxes of a tile, whose products end at ``start`` (h5)."""
    made: list[Box] = []
    for number in range(count):
        free = made[number - places].read if number >= places else start
        begun = max(free, made[-1].written if made else start)
        reads = max(begun + write, made[-1].read if made else start)
        made.append(Box(number % places, begun, begun + write, reads + read))
    return made


def draw_box_stores(count: int = 4, places: int = 2) -> Figure:
    """Return a consumer of h4, and one of h5 with its boxes of C."""
    multiply, store = 2.0, 4.0
    lane = "h4, consumer"
    spans = [Span(lane, 0, multiply, BLUE, "tile 0")]
    spans.append(Span(lane, multiply, multiply + store, _GREY, "64 stores per thread"))
    spans.append(Span(lane, multiply + store, 2 * multiply + store, ORANGE, "tile 1"))
    lane = "h5, consumer"
    made = boxes(multiply, 0.4, 0.9, count, places)
    spans.append(Span(lane, 0, multiply, BLUE, "tile 0"))
    spans += [Span(lane, box.begun, box.written, _PALE_BLUE, str(n)) for n, box in enumerate(made)]
    spans.append(Span(lane, made[-1].written, made[-1].written + multiply, ORANGE, "tile 1"))
    for place in range(places):
        for number, box in enumerate(made):
            if box.place == place:
                lane = f"h5, box {place}"
                spans.append(Span(lane, box.begun, box.written, _PALE_BLUE, str(number)))
                spans.append(Span(lane, box.written, box.read, _GREY, str(number)))
    return draw(spans, 2 * multiply + store, {_PALE_BLUE: "stmatrix", _GREY: "write to C"})


class Start(NamedTuple):
    """A CTA of the second of two kernels: when it starts, is ready, and may load."""

    begun: float
    ready: float
    loads: float


def starts(ends: Sequence[float], launch: float, prologue: float, *, pdl: bool) -> list[Start]:
    """Return the second kernel's CTA of each SM; ``ends``: when its CTA of the first one ends."""
    over = max(ends)
    begun = ends if pdl else [over + launch] * len(ends)
    return [Start(at, at + prologue, max(at + prologue, over)) for at in begun]


def draw_dependent_launch() -> Figure:
    """Return three SMs at the end of a kernel and the begin of the next, without and with PDL."""
    ends, launch, prologue, until = (4.0, 4.6, 5.2), 1.5, 0.8, 9.5
    spans = []
    for name, pdl in (("h8", False), ("h9", True)):
        following = starts(ends, launch, prologue, pdl=pdl)
        for sm, (end, one) in enumerate(zip(ends, following, strict=True)):
            lane = f"{name}, SM {sm}"
            spans.append(Span(lane, 0, end, BLUE, "kernel 1"))
            if not pdl:
                spans.append(Span(lane, one.begun - launch, one.begun, _LAUNCH, "launch"))
            spans.append(Span(lane, one.begun, one.ready, _PALE_ORANGE))
            spans.append(Span(lane, one.ready, one.loads, _GREY))
            spans.append(Span(lane, one.loads, until, ORANGE, "kernel 2"))
    return draw(spans, until, {_PALE_ORANGE: "prologue", _GREY: "wait for kernel 1"})
