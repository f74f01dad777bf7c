"""Figures as SVG, drawn without a browser; grey text and no background, for light and dark pages.

Each takes plain rows that the analysis made and returns SVG text.
"""

import math
from typing import Any

from harness.evidence.tables import FREED_POOL
from harness.report import labels

INK = "#767676"  # contrast 4.5 on white, 4.2 on the dark pages of the usual forges
BLUE, ORANGE, GREEN = "#3b82c4", "#d9822b", "#3f9b6c"
_POOLS = (BLUE, GREEN, "#8a6bbe", "#c4574f", "#6c8f2f", "#b08d2e")
"""A colour each for the pools of a figure; what has no known pool is grey."""
_WIDTH, _HEIGHT = 560, 340
_LINE = 11
"""Pixels from one small label to the next."""
_GAP = 8
_CHARACTER = 6
"""About what a character of text is wide, in pixels."""
Rows = list[dict[str, Any]]


def bars(rows: Rows, title: str) -> str:
    """Points with intervals on a log axis, over a strip of ticks, one for each sample.

    Rows: label, value, low, high, samples (value), shown, baseline.
    """
    import altair as alt

    axis = _LogAxis([value for row in rows for value in _drawn(row)])
    lines = [row["value"] for row in rows if row["baseline"]]
    points = [row | {"beside": axis.beside(row["high"], row["shown"], lines)} for row in rows]
    ticks = [
        one | {"label": row["label"], "baseline": row["baseline"]}
        for row in rows
        for one in row["samples"]
    ]

    def x(field: str) -> Any:
        return alt.X(f"{field}:Q", title=title, scale=axis.scale())

    y = _labels([row["label"] for row in rows])
    colour = alt.condition("datum.baseline", alt.value(ORANGE), alt.value(BLUE))
    base = alt.Chart(alt.Data(values=points)).encode(y=y)
    rule = alt.Chart(alt.Data(values=[{"value": line} for line in lines]))
    # A name of each tick for screen readers would be more than half of the file.
    tick = alt.Chart(alt.Data(values=ticks)).mark_tick(
        thickness=1, size=7, opacity=0.6, yOffset=10, aria=False
    )
    layered = (
        rule.mark_rule(color=ORANGE, strokeDash=[4, 3]).encode(x=x("value"))
        + tick.encode(x=x("value"), y=y, color=colour)
        + base.mark_rule(strokeWidth=2).encode(x=x("low"), x2="high:Q", color=colour)
        + base.mark_point(filled=True, size=60, opacity=1).encode(x=x("value"), color=colour)
        + base.mark_text(align="left", dx=_GAP, color=INK).encode(x=x("beside"), text="shown:N")
    )
    return _svg(layered.properties(width=_WIDTH, height=alt.Step(30)))


def families(rows: Rows, title: str) -> str:
    """Stacked bars of time by kernel family. Rows: label, family, value."""
    import altair as alt

    order = list(dict.fromkeys(row["label"] for row in rows))
    chart = (
        alt.Chart(alt.Data(values=rows))
        .mark_bar()
        .encode(
            y=_labels(order),
            x=alt.X("sum(value):Q", title=title),
            color=alt.Color("family:N", title=None, scale=alt.Scale(scheme="tableau10"), sort=None),
        )
    )
    return _svg(chart.properties(width=_WIDTH))


def memory(rows: Rows, marks: Rows) -> str:
    """Memory over allocator events. Rows: index, mb, series; marks: index, shown."""
    import altair as alt

    line = (
        alt.Chart(alt.Data(values=rows))
        .mark_line(interpolate="step-after", strokeWidth=1.5)
        .encode(
            x=alt.X("index:Q", title="allocator event"),
            y=alt.Y("mb:Q", title="MB"),
            color=alt.Color("series:N", title=None, scale=alt.Scale(range=[BLUE, ORANGE])),
        )
    )
    rule, text = _phases(marks)
    layered = rule + line + text
    return _svg(layered.properties(width=_WIDTH, height=220))


def memory_by_pool(rows: Rows, allocated: Rows, marks: Rows) -> str:
    """Reserved memory stacked by pool over allocator events, allocated memory as a line on it.

    Rows: index, pool, mb, pools in the order of their layers; allocated: index, mb; marks: index,
    shown.
    """
    import altair as alt

    pools = list(dict.fromkeys(row["pool"] for row in rows))
    names = [f"reserved: {pool}" for pool in pools]
    known = iter(_POOLS)
    colours = [INK if pool == FREED_POOL else next(known) for pool in pools]
    areas = [
        row | {"series": names[layer], "layer": layer}
        for row in rows
        for layer in [pools.index(row["pool"])]
    ]
    area = (
        alt.Chart(alt.Data(values=areas))
        .mark_area(interpolate="step-after", opacity=0.6)
        .encode(
            x=alt.X("index:Q", title="allocator event"),
            y=alt.Y("mb:Q", title="MB", stack="zero"),
            color=alt.Color("series:N", title=None, scale=alt.Scale(domain=names, range=colours)),
            order="layer:O",
        )
    )
    line = (
        alt.Chart(alt.Data(values=[row | {"series": "allocated"} for row in allocated]))
        .mark_line(interpolate="step-after", strokeWidth=1.5)
        .encode(
            x="index:Q",
            y="mb:Q",
            stroke=alt.Stroke("series:N", title=None, scale=alt.Scale(range=[ORANGE])),
        )
    )
    rule, text = _phases(marks)
    layered = area + rule + line + text
    return _svg(layered.properties(width=_WIDTH, height=220))


def _phases(marks: Rows) -> tuple[Any, Any]:
    """Return a line for each mark, and the names at their upper ends."""
    import altair as alt

    phases = alt.Chart(alt.Data(values=marks))
    rule = phases.mark_rule(color=INK, strokeDash=[2, 3]).encode(x="index:Q")
    text = phases.mark_text(align="left", dx=3, dy=-4, baseline="bottom", color=INK, angle=315)
    return rule, text.encode(x="index:Q", y=alt.value(0), text="shown:N")


def roofline(rows: Rows, lines: Rows) -> str:
    """Points under roofs, both axes logarithmic, each named beside its neighbours.

    Rows: intensity (FLOP a byte), rate (TFLOP/s), shown, baseline; lines: roof, intensity, rate.
    """
    import altair as alt

    across = _Decades([one["intensity"] for one in (*rows, *lines)], _WIDTH)
    rates = [one["rate"] for one in (*rows, *lines)]
    upward = _Decades([min(rates) / 2, 1.4 * max(rates)], _HEIGHT)  # room above the roofs
    spots = [(across.pixel(row["intensity"]), _HEIGHT - upward.pixel(row["rate"])) for row in rows]
    named = [
        row | {"at": across.value(left), "height": upward.value(_HEIGHT - top)}
        for row, (left, top) in zip(
            rows, labels.beside(spots, _HEIGHT, _LINE, 6 * _LINE), strict=True
        )
    ]

    def x(field: str) -> Any:
        title = "FLOP per byte of device memory"
        return alt.X(f"{field}:Q", title=title, scale=across.scale(), axis=across.axis())

    def y(field: str) -> Any:
        return alt.Y(f"{field}:Q", title="TFLOP/s", scale=upward.scale(), axis=upward.axis())

    roofs = list(dict.fromkeys(line["roof"] for line in lines))
    dashes = alt.Scale(domain=roofs, range=[[1, 0], [5, 4]][: len(roofs)])
    colour = alt.condition("datum.baseline", alt.value(ORANGE), alt.value(BLUE))
    drawn = alt.Chart(alt.Data(values=lines)).mark_line(color=INK, strokeWidth=1.5)
    base = alt.Chart(alt.Data(values=named))
    layered = (
        drawn.encode(
            x=x("intensity"),
            y=y("rate"),
            strokeDash=alt.StrokeDash("roof:N", title=None, scale=dashes),
            order="intensity:Q",
        )
        + base.mark_rule(color=INK, strokeWidth=0.7, opacity=0.6).encode(
            x=x("intensity"), y=y("rate"), x2="at:Q", y2="height:Q"
        )
        + base.mark_point(filled=True, size=60, opacity=1).encode(
            x=x("intensity"), y=y("rate"), color=colour
        )
        + base.mark_text(align="left", dx=2, color=INK, fontSize=9).encode(
            x=x("at"), y=y("height"), text="shown:N"
        )
    )
    return _svg(layered.properties(width=_WIDTH, height=_HEIGHT))


def waterfall(rows: Rows, title: str) -> str:
    """Bars from one total to another, one a part. Rows: label, start, end, shown, total."""
    import altair as alt

    base = alt.Chart(alt.Data(values=rows)).encode(y=_labels([row["label"] for row in rows]))
    colour = (
        alt.when("datum.total")
        .then(alt.value(INK))
        .when("datum.end > datum.start")
        .then(alt.value(ORANGE))
        .otherwise(alt.value(GREEN))
    )
    bar = base.mark_bar().encode(x=alt.X("start:Q", title=title), x2="end:Q", color=colour)
    beside = [row | {"at": max(row["start"], row["end"])} for row in rows]
    text = (
        alt.Chart(alt.Data(values=beside))
        .mark_text(align="left", dx=_GAP, color=INK)
        .encode(y=_labels([row["label"] for row in rows]), x="at:Q", text="shown:N")
    )
    return _svg((bar + text).properties(width=_WIDTH))


def lines(rows: Rows, title: str, across: str) -> str:
    """Draw a line a variant over sizes, both axes logarithmic. Rows: variant, size, value."""
    import altair as alt

    order = list(dict.fromkeys(row["variant"] for row in rows))
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X("size:Q", title=across, scale=alt.Scale(type="log", base=2, nice=False)),
        y=alt.Y("value:Q", title=title, scale=alt.Scale(type="log", nice=False)),
        color=alt.Color("variant:N", title=None, sort=order, scale=alt.Scale(scheme="tableau10")),
    )
    drawn = base.mark_line(strokeWidth=1.5) + base.mark_point(filled=True, size=30, opacity=1)
    return _svg(drawn.properties(width=_WIDTH, height=_HEIGHT))


def against_model(rows: Rows, title: str) -> str:
    """Measured values beside the model's. Rows: label, measured, model."""
    import altair as alt

    order = [row["label"] for row in rows]
    base = alt.Chart(alt.Data(values=rows)).encode(y=_labels(order))
    bar = base.mark_bar(color=BLUE).encode(x=alt.X("measured:Q", title=title))
    tick = base.mark_tick(color=ORANGE, thickness=3, size=18).encode(x="model:Q")
    text = base.mark_text(align="left", dx=8, color=INK).encode(x="measured:Q", text="shown:N")
    return _svg((bar + tick + text).properties(width=_WIDTH))


class _Decades:
    """A log axis over positive values, ``length`` pixels long."""

    def __init__(self, values: list[float], length: float) -> None:
        self._ends = [min(values), max(values)]
        self._decades = math.log10(self._ends[1] / self._ends[0])
        self._length = length

    def scale(self) -> Any:
        """Return the scale for the plotting library."""
        import altair as alt

        return alt.Scale(type="log", domain=self._ends, nice=False)

    def axis(self) -> Any:
        """Return the axis for the plotting library, a line a decade."""
        import altair as alt

        first, last = (math.log10(end) for end in self._ends)
        powers = range(math.ceil(first), math.floor(last) + 1)
        return alt.Axis(values=[10.0**power for power in powers], format="~g")

    def pixel(self, value: float) -> float:
        """Return how far along the axis a value lies."""
        return self._length * math.log10(value / self._ends[0]) / self._decades

    def value(self, pixel: float) -> float:
        """Return the value that lies so far along the axis."""
        return float(self._ends[0] * 10 ** (pixel * self._decades / self._length))


def _drawn(row: dict[str, Any]) -> list[float]:
    return [row["low"], row["value"], row["high"], *(one["value"] for one in row["samples"])]


class _LogAxis:
    """A log axis over values; zero and below, where an interval may end, are at its left end."""

    def __init__(self, values: list[float]) -> None:
        above = [value for value in values if value > 0] or [1.0]
        self._ends = [min(above), max(above)]

    def scale(self) -> Any:
        """Return the scale for the plotting library."""
        import altair as alt

        ends = self._ends
        return alt.Scale(type="log", domain=ends, nice=False, padding=_GAP, clamp=True)

    def beside(self, end: float, text: str, lines: list[float]) -> float:
        """Return the value that a text starts from: ``end``, or a line that it would lie across."""
        least, greatest = self._ends
        decades = math.log10(greatest / least)
        if end <= 0 or decades == 0:
            return end
        width = (_GAP + _CHARACTER * len(text)) * decades / (_WIDTH - 2 * _GAP)
        crossed = [line for line in lines if end < line < end * 10**width]
        return max(crossed, default=end)


def _labels(order: list[str]) -> Any:
    import altair as alt

    return alt.Y("label:N", sort=order, title=None, axis=alt.Axis(labelLimit=380))


def _svg(chart: Any) -> str:
    import vl_convert

    themed = (
        chart.configure(font="sans-serif")
        .configure_view(stroke=None)
        .configure_axis(
            labelColor=INK,
            titleColor=INK,
            domainColor=INK,
            tickColor=INK,
            gridColor=INK,
            gridOpacity=0.2,
            titleFontWeight="normal",
        )
        .configure_legend(labelColor=INK, titleColor=INK, orient="bottom", columns=4)
    )
    specification = themed.to_dict() | {"background": "transparent"}
    svg: str = vl_convert.vegalite_to_svg(specification, vl_version="6.1")
    return svg
