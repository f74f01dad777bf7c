"""What each unit computes where the K of some tiles is spread over all units (stream-K)."""

import math
import re
from collections.abc import Iterator
from typing import NamedTuple

from harness.report.arguments import CaseName, VariantName
from harness.report.chart import BLUE, FAINT, GAP, ORANGE, Figure
from harness.report.colours import lighter
from harness.report.drawing import LINE, MOST_WIDE, Drawing
from harness.report.escape import Markdown, code
from harness.report.page import Page

_PLAN = re.compile(r"stream_(x?)(\d+)x(\d+)_c(\d+)x(\d+)_g\d+_s\d+/(\d+)/(\d+)")
"""An id of plans.py without a copy: swapped or not, tile, cluster, tiles that are spread, units."""
_STEP = 64
"""Elements of K of a step."""
_LEFT, _HIGH = 52, 130
"""Pixels beside a panel for its axis, and of its height."""
_WHOLE, _SPREAD = ((colour, lighter(colour, 0.4)) for colour in (BLUE, ORANGE))
"""Colours of tiles: of every other one the second."""


class Piece(NamedTuple):
    """Steps of K of a tile, ``begin`` to ``end``, that one unit computes."""

    tile: int
    begin: int
    end: int


class Work(NamedTuple):
    """A product as its units share it: the last ``spread`` of its tiles are cut along K."""

    tiles: int
    spread: int
    steps: int
    units: int

    def pieces(self, unit: int) -> Iterator[Piece]:
        """Yield what a unit computes, in its order, as ``Walk`` in kernels/work.cuh does."""
        whole = self.tiles - self.spread
        at, end = self._first_step(unit), self._first_step(unit + 1)
        while at < end:
            tile, begin = divmod(at, self.steps)
            count = min(end - at, self.steps - begin)
            yield Piece(whole + tile, begin, begin + count)
            at += count
        for tile in range(unit, whole, self.units):
            yield Piece(tile, 0, self.steps)

    def _first_step(self, unit: int) -> int:
        every = self.spread * self.steps
        sharing = min(every, self.units)
        return every * unit // sharing if unit < sharing else every

    def longest(self) -> int:
        """Return the steps of the unit that computes most."""
        return max(
            sum(piece.end - piece.begin for piece in self.pieces(unit))
            for unit in range(self.units)
        )


def work(region: str, plan: str) -> Work | None:
    """Return how a plan shares a problem such as "512x512x512:nn"; None if it is not stream-K."""
    found = _PLAN.fullmatch(plan)
    if not found:
        return None
    m, n, k = map(int, region.partition(":")[0].split("x"))
    if found[1]:
        m, n = n, m
    tile_m, tile_n, down, across, spread, units = map(int, found.groups()[1:])
    tiles = math.ceil(m / (tile_m * down)) * math.ceil(n / (tile_n * across))
    return Work(tiles, spread, math.ceil(k / _STEP), units) if spread else None


def spread_tiles(
    page: Page, name: str, region: str, variant: VariantName, case: CaseName, caption: str
) -> Markdown:
    """Draw the units of the choice for a problem, and the same units without its cut of K.

    Where the choice is not stream-K, return a sentence that says so.
    """
    plan = page.metrics.text(f"plan.{region}", variant, case)
    shared = work(region, plan or "")
    if plan and shared is None:
        return Markdown(f"*The choice there, {code(plan)}, spreads no tiles over units.*")
    figure = draw(shared) if shared else None
    told = f"`{plan}`: {caption}"
    return page.figure(name, "work of each unit, without and with stream-K", figure, told)


def draw(shared: Work) -> Figure:
    """Return a panel of whole tiles and one of the cut: units across, steps of K upward."""
    dealt = shared._replace(spread=0)
    panel = LINE + _HIGH + GAP
    drawing = Drawing(MOST_WIDE, 2 * panel + 2 * LINE, gap=0.5)
    most = dealt.longest()
    for place, (label, each) in enumerate((("whole tiles", dealt), ("stream-K", shared))):
        told = f"{label}: {each.longest()} steps of K in the busiest unit"
        _panel(drawing, each, place * panel, _HIGH / most)
        drawing.text((_LEFT, place * panel + LINE / 2), told)
        drawing.text((_LEFT - GAP, place * panel + LINE + _HIGH / 2), "time ↑", "right", FAINT)
    bottom = 2 * panel
    drawing.text((_LEFT, bottom + LINE / 2), "unit 0", "left", FAINT)
    drawing.text((MOST_WIDE, bottom + LINE / 2), f"unit {shared.units - 1}", "right", FAINT)
    drawing.key(
        (_LEFT, bottom + 3 * LINE / 2), {_WHOLE[0]: "whole tiles", _SPREAD[0]: "shared tiles"}
    )
    return drawing.svg()


def _panel(drawing: Drawing, each: Work, top: float, scale: float) -> None:
    wide = (MOST_WIDE - _LEFT) / each.units
    for unit in range(each.units):
        done = 0
        for piece in each.pieces(unit):
            shared = piece.tile >= each.tiles - each.spread
            colour = _SPREAD[piece.tile % 2] if shared else _WHOLE[piece.tile // each.units % 2]
            high = scale * (piece.end - piece.begin)
            done += piece.end - piece.begin
            corner = (_LEFT + wide * unit, top + LINE + _HIGH - scale * done)
            drawing.box(corner, (wide, high), colour)
