"""Which bytes of A, B and the sums go where in a step of K: paths, tiles, clusters."""

from typing import NamedTuple

from harness.report.chart import BLUE, FAINT, GAP, ORANGE, Figure
from harness.report.colours import lighter, text_on
from harness.report.drawing import LINE, MOST_WIDE, Drawing

_OF_OWNER = ((BLUE, lighter(BLUE, 0.55)), (ORANGE, lighter(ORANGE, 0.5)))
"""A CTA's, or a consumer's: what it computes, and what it reads."""
_SHARED, _REST = lighter(FAINT, 0.5), lighter(FAINT, 0.75)
_BOX = 64
"""Rows and columns of a TMA box of B, and elements of K of a step."""
_WGMMA_ROWS = 64
_ELEMENT_BYTES, _SUM_BYTES = 2, 4


class Plan(NamedTuple):
    """A step's tile of a CTA, its consumers, and the CTAs of its cluster that share B."""

    step: str
    rows: int
    columns: int
    consumers: int = 1
    cluster: int = 1

    @property
    def a_kb(self) -> int:
        """Return the KB of A of a step of K."""
        return self.rows * _BOX * _ELEMENT_BYTES >> 10

    @property
    def b_kb(self) -> int:
        """Return the KB of B of a step of K."""
        return self.columns * _BOX * _ELEMENT_BYTES >> 10

    def read_kb(self, ctas: int) -> int:
        """Return the KB that CTAs with the same columns read from L2 in a step of K."""
        return ctas * self.a_kb + ctas // self.cluster * self.b_kb

    def loader(self, cta: int, box: int) -> int:
        """Return which CTA of two loads a box of B for this one."""
        return box // (self.columns // _BOX // self.cluster) if self.cluster > 1 else cta


P8, H0 = Plan("p8", 128, 128), Plan("h0", 64, 64)
H2, H3 = Plan("h2", 128, 128), Plan("h3", 128, 256, 2)
H5, H6 = Plan("h5", 128, 256, 2), Plan("h6", 128, 256, 2, 2)
H10 = Plan("h10", 128, 128, 2)
PLANS = (P8, H0, H2, H3, H5, H6, H10)


class Way(NamedTuple):
    """An instruction that moves or multiplies: from and to which place, and how often it runs."""

    name: str
    start: int
    end: int
    count: int


def ways(products: Plan = P8) -> tuple[list[Way], list[Way]]:
    """Return the ways of p8 and of h0 through the products of a tile of p8 and 64 of K."""
    rows, columns = products.rows, products.columns
    warps, slices = rows // 64 * (columns // 64), _BOX // 16
    copies = (rows + columns) * _BOX * _ELEMENT_BYTES // (32 * 16)
    loads = warps * slices * (64 // 16 + 64 // 16)
    multiplies = warps * slices * (64 // 16) * (64 // 8)
    ctas = rows // H0.rows * (columns // H0.columns)
    portable = [Way("cp.async", 0, 1, copies), Way("ldmatrix", 1, 2, loads)]
    portable.append(Way("mma.sync", 2, 3, multiplies))
    return portable, [Way("TMA", 0, 1, 2 * ctas), Way("wgmma", 1, 3, slices * ctas)]


def draw_paths() -> Figure:
    """Return the ways of the operands from L2 to the tensor cores, in p8 and in h0."""
    wide, high, left = 66, 2 * LINE, 28
    between = (MOST_WIDE - left - 4 * wide) / 3
    places = (("L2", ""), ("shared", "memory"), ("registers", ""), ("tensor", "cores"))
    ctas = P8.rows // H0.rows * (P8.columns // H0.columns)
    read = (P8.read_kb(1), ctas * H0.read_kb(1))
    panel = high + 2.5 * LINE
    drawing = Drawing(MOST_WIDE, 2 * panel - LINE / 2)
    for row, (plan, steps) in enumerate(zip((P8, H0), ways(), strict=True)):
        top = row * panel + LINE
        drawing.text((0, top + high / 2), plan.step)
        met = {place for way in steps for place in (way.start, way.end)}
        for place, words in enumerate(places):
            if place in met:
                x = left + place * (wide + between)
                drawing.box((x, top), (wide, high), _SHARED)
                lines = [word for word in words if word]
                for line, word in enumerate(lines):
                    y = top + high / 2 + (line - (len(lines) - 1) / 2) * LINE
                    drawing.text((x + wide / 2, y), word, "center", text_on(_SHARED))
        for way in steps:
            x, x2 = (left + way.start * (wide + between) + wide, left + way.end * (wide + between))
            drawing.arrow((x, top + high / 2), (x2, top + high / 2))
            drawing.text(((x + x2) / 2, top - LINE / 2), way.name, "center")
            drawing.text(((x + x2) / 2, top + high / 2 + 0.7 * LINE), f"{way.count} ×", "center")
        drawing.text((left + wide / 2, top + high + LINE / 2), f"{read[row]} KB", "center", FAINT)
    return drawing.svg()


def draw_consumers() -> Figure:
    """Return the tiles of h2 and h3 beside what a step of K reads of A and B."""
    scale = 0.75
    strip = _BOX * scale
    top = LINE + strip + GAP / 2
    bottom = top + H3.rows * scale
    drawing = Drawing(MOST_WIDE, bottom + 2 * LINE)
    left = 0.0
    for plan in (H2, H3):
        wide, part = plan.columns * scale, plan.rows * scale / plan.consumers
        x = left + strip + GAP / 2
        drawing.text((left, LINE / 2), f"{plan.step}: {plan.rows} × {plan.columns}")
        drawing.box((x, LINE), (wide, strip), _SHARED, f"B: {plan.b_kb} KB")
        for consumer in range(plan.consumers):
            solid, pale = _OF_OWNER[consumer]
            y = top + consumer * part
            drawing.box((left, y), (strip, part), pale, f"A: {plan.a_kb // plan.consumers}")
            for first in range(0, round(part), round(_WGMMA_ROWS * scale)):
                size = (wide, _WGMMA_ROWS * scale)
                drawing.box((x, y + first), size, solid, f"{_WGMMA_ROWS} × {plan.columns}")
        product = f"{plan.read_kb(1)} KB per step of K"
        drawing.text((left, bottom + LINE / 2), product, "left", FAINT)
        left = MOST_WIDE - strip - GAP / 2 - H3.columns * scale
    entries = {_OF_OWNER[n][0]: f"consumer {n + 1}" for n in range(H3.consumers)}
    drawing.key((0, bottom + 3 * LINE / 2), entries)
    return drawing.svg()


def draw_multicast() -> Figure:
    """Return what two CTAs of h5 and of h6 read from L2 in a step, and where it arrives."""
    panel = 7 * LINE
    drawing = Drawing(MOST_WIDE, 2 * panel + LINE)
    for place, plan in enumerate((H5, H6)):
        _cluster(drawing, plan, place * panel)
    entries = {_OF_OWNER[0][1]: "CTA 0 loads it", _OF_OWNER[1][1]: "CTA 1 loads it"}
    drawing.key((0, 2 * panel + LINE / 2), entries)
    return drawing.svg()


def _cluster(drawing: Drawing, plan: Plan, top: float) -> None:
    """Add the boxes that leave L2 above those of both CTAs' stages, and arrows between them."""
    boxes, wide = plan.columns // _BOX, 31
    left = (0.0, MOST_WIDE - (boxes + 2) * wide)
    drawing.text((0, top + LINE / 2), f"{plan.step}: {plan.read_kb(2)} KB from L2 in a step")
    above, below = top + LINE, top + 4.2 * LINE
    for cta in (0, 1):
        drawing.box((left[cta], above), (2 * wide, LINE), _OF_OWNER[cta][1], f"A {plan.a_kb}")
        drawing.box((left[cta], below), (2 * wide, LINE), _OF_OWNER[cta][1], f"A {plan.a_kb}")
        drawing.arrow((left[cta] + wide, above + LINE), (left[cta] + wide, below))
        drawing.text((left[cta], below + 1.5 * LINE), f"stage in CTA {cta}", "left", FAINT)
        for box in range(boxes):
            loader = plan.loader(cta, box)
            x = left[cta] + (2 + box) * wide
            drawing.box((x, below), (wide, LINE), _OF_OWNER[loader][1], f"B{box}")
            if loader == cta:
                drawing.box((x, above), (wide, LINE), _OF_OWNER[loader][1], f"B{box}")
        for loader in {plan.loader(cta, box) for box in range(boxes)}:
            loaded = [box for box in range(boxes) if plan.loader(cta, box) == loader]
            x = (2.5 + sum(loaded) / len(loaded)) * wide
            drawing.arrow((left[loader] + x, above + LINE), (left[cta] + x, below))


def draw_split(split: int = 2) -> Figure:
    """Return h10's tile, of which each CTA multiplies half of K, and the exchange of sums."""
    strip, tile, wide = 96.0, 66.0, 100.0
    top = LINE + strip + GAP / 2
    drawing = Drawing(MOST_WIDE, top + tile + LINE)
    drawing.text((0, LINE / 2), "A, B: halves of K")
    x = strip + GAP / 2
    sums = (x + tile + 24, MOST_WIDE - wide)
    half, rows = tile / split, H10.rows // split
    for cta in range(split):
        solid, pale = _OF_OWNER[cta]
        part = strip / split
        drawing.box((cta * part, top), (part, tile), pale, f"CTA {cta}")
        drawing.box((x, LINE + cta * part), (tile, part), pale, f"CTA {cta}")
        drawing.box((x, top + cta * half), (tile, half), solid, f"CTA {cta}")
        drawing.text((sums[cta], top - LINE / 2), f"sums, CTA {cta}")
        for owner in range(split):
            told = f"rows {owner * rows}–{(owner + 1) * rows - 1}"
            corner = (sums[cta], top + owner * half)
            drawing.box(corner, (wide, half), solid if owner == cta else pale, told)
            y = top + (owner + 0.5) * half
            if owner != cta:
                ends = (sums[0] + wide + 2, sums[1] - 2)
                drawing.arrow((ends[cta], y), (ends[owner], y))
    kb = rows * H10.columns * _SUM_BYTES >> 10
    drawing.text(((sums[0] + wide + sums[1]) / 2, top + tile / 2), f"{kb} KB", "center")
    drawing.text((x + tile, top + tile + LINE / 2), "C: the CTA that stores it", "right", FAINT)
    told = "solid: adds and stores; pale: sends"
    drawing.text((MOST_WIDE, top + tile + LINE / 2), told, "right", FAINT)
    return drawing.svg()
