"""Parts of all figures: colours, sizes, the axis of labels, and the way from a chart to SVG.

Figures are drawn without a browser, on a card of their own. Where a reader prefers dark pages, the
style within the SVG draws card, text and lines in other colours; marks and the text on them stay.
"""

import re
import resource
from collections.abc import Sequence
from functools import cache
from textwrap import wrap
from typing import Any

from harness.ground.errors import ToolError
from harness.ground.plain import plain

CARD = "#ffffff"
INK, FAINT = "#24292f", "#57606a"
"""Colours of text and of axes; each has a contrast of more than 4.5 to the card."""
BLUE, ORANGE, GREEN = "#3674b5", "#b35900", "#1a7f37"
SERIES = (BLUE, ORANGE, GREEN, "#8250df", "#cf222e", "#0b7285", "#7d4e00", FAINT)
"""Colours of lines and of the texts that name them; each has that contrast, too."""
GRID = "#d8dee4"
ON_LIGHT, ON_DARK = "#24292e", "#fffffe"
"""Colours of text on a mark: not quite those of ink and card, as they stay on dark pages."""
IN_DARK = {
    CARD: "#0d1117",
    INK: "#e6edf3",
    FAINT: "#9da7b3",
    BLUE: "#6ea8e0",
    ORANGE: "#e0924a",
    GREEN: "#56b870",
    SERIES[3]: "#b392f0",
    SERIES[4]: "#ff7b72",
    SERIES[5]: "#4fb3c7",
    SERIES[6]: "#d0a050",
    GRID: "#30363d",
}
"""What stands for a colour on dark pages; text has a contrast of more than 4.5 there, too."""
WIDTH, HEIGHT = 510, 330
"""Pixels of a figure's plotting area, without a column of labels."""
PLOT = 330
"""Pixels of a plotting area beside a column of labels."""
FONT = 14
"""Pixels of the type; no figure is so wide that a page has to shrink it."""
GAP = 8
"""Pixels between a mark and the text beside it."""

HALO = {"stroke": CARD, "strokeWidth": 5, "strokeJoin": "round", "aria": False}
"""The border in the colour of the card of a text on lines, which it parts."""

_LINE = 16
"""Pixels from a line of a label to the next."""
_LABEL_CHARACTERS = 39
"""After at most as many characters a label goes on in a second line."""

_OF_EVERY_OBJECT = frozenset({"constructor", "hasOwnProperty", "toString", "valueOf"})
"""Texts that the drawing library looks up in a JavaScript object, which has them unasked."""
_BACKSLASH = "\N{REVERSE SOLIDUS OPERATOR}"
"""Drawn for a backslash: the library puts titles into expressions, where that would escape."""

_ADDRESSES = 66 << 30
"""Bytes that a process reserves which draws a figure: 64.2 GiB by VmPeak, with vl-convert 1.9."""
VEGA_LITE = "6.1"
"""The version of Vega-Lite that figures are drawn by."""

Rows = list[dict[str, Any]]
"""The data of a figure: plain values by field name."""


class Figure(str):
    """A figure as SVG text; ``specification`` is the Vega-Lite that it was drawn from."""

    __slots__ = ("specification",)
    specification: dict[str, Any]


def rows_axis(order: list[str]) -> Any:
    """Return the vertical axis of a figure with a row for each label, in the given order."""
    import altair as alt

    axis = alt.Axis(labels=False, ticks=False, grid=False)
    return alt.Y("label:N", sort=order, title=None, axis=axis)


def row_labels(order: list[str]) -> Any:
    """Return the labels left of a figure's rows; a long one goes on in further lines."""
    import altair as alt

    lines = [
        {"label": label, "line": line, "dy": _LINE * (place - (len(parts) - 1) / 2)}
        for label in order
        for parts in [_wrapped(label)]
        for place, line in enumerate(parts)
    ]
    mark = alt.Chart(alt.Data(values=lines)).mark_text(
        align="right", baseline="middle", dy={"expr": "datum.dy"}
    )
    return mark.encode(x=alt.value(-GAP), y=rows_axis(order), text="line:N")


def row_step(order: list[str]) -> Any:
    """Return the height of a row of a figure with these labels."""
    import altair as alt

    return alt.Step(_LINE * max(len(_wrapped(label)) for label in order) + _LINE / 2)


def _wrapped(label: str) -> list[str]:
    """Return a label's lines, broken at its spaces or, as kernels' names have none, after "_"."""
    if max(map(len, label.split()), default=0) <= _LABEL_CHARACTERS:
        return wrap(label, _LABEL_CHARACTERS) or [label]
    pieces = re.findall(r"[^_<, ]*[_<, ]*", label)
    lines = [""]
    for piece in pieces:
        if lines[-1] and len(lines[-1] + piece.rstrip()) > _LABEL_CHARACTERS:
            lines.append("")
        lines[-1] += piece
    return [line.strip() for line in lines]


def aligned_texts(texts: Rows, x: Any, y: Any, **mark: Any) -> list[Any]:
    """Return a layer of texts for each side that they are aligned at: align, text, colour, x, y."""
    import altair as alt

    layers = []
    for align in ("left", "center", "right"):
        rows = [row for row in texts if row["align"] == align]
        drawn = alt.Chart(alt.Data(values=rows)).mark_text(align=align, baseline="middle", **mark)
        colour = alt.Color("colour:N", scale=None)
        layers.append(drawn.encode(x=x, y=y, text="text:N", color=colour))
    return layers


def halo_text(chart: Any, **mark: Any) -> Any:
    """Return the chart's texts on a border in the colour of the card, which parts lines below."""
    border = chart.mark_text(**HALO, **mark)
    return border + chart.mark_text(**mark)


def svg(chart: Any, layers: Sequence[dict[str, Any]] = (), **datasets: Rows) -> Figure:
    """Return a chart in the colours of the worklogs as SVG text.

    ``datasets``: the rows that the chart names; Altair copies those within it at every step.
    ``layers`` lie above the chart's own, as Vega-Lite: Altair copies and checks each many times.
    """
    import vl_convert

    _check_address_space()
    held = {"datasets": datasets} if datasets else {}
    made = chart.to_dict() | {"config": _config(), "background": CARD, "padding": 10} | held
    if layers:
        made["layer"] = [*made["layer"], *layers]
    specification = _plain(made)
    figure = Figure(_with_style(vl_convert.vegalite_to_svg(specification, vl_version=VEGA_LITE)))
    figure.specification = specification
    return figure


def _with_style(drawn: str) -> str:
    """Return an SVG with the style that acts where its reader prefers dark pages."""
    begin, end, rest = drawn.partition(">")
    return f"{begin}{end}<style>{dark_style()}</style>{rest}"


@cache
def dark_style() -> str:
    """Return the style: every line of a colour, and the fill of text; of marks the card's alone."""
    lines = (f'[stroke="{light}"]{{stroke:{dark}}}' for light, dark in IN_DARK.items())
    texts = (f'text[fill="{light}"]{{fill:{dark}}}' for light, dark in IN_DARK.items())
    card = f'[fill="{CARD}"]{{fill:{IN_DARK[CARD]}}}'
    return f"@media screen and (prefers-color-scheme:dark){{{''.join((*lines, *texts, card))}}}"


@cache
def _config() -> dict[str, Any]:
    """Return the letters and colours of every figure, which Altair would copy it once more for."""
    import altair as alt

    themed = (
        alt.Chart(alt.Data(values=[]))
        .mark_rule()
        .configure(font="sans-serif")
        .configure_view(stroke=None)
        .configure_axis(
            labelColor=FAINT,
            titleColor=FAINT,
            domainColor=FAINT,
            tickColor=FAINT,
            gridColor=GRID,
            labelFontSize=FONT,
            titleFontSize=FONT,
            titleFontWeight="normal",
        )
        .configure_text(fontSize=FONT, color=INK)
        .configure_legend(
            labelColor=INK, labelFontSize=FONT, labelLimit=0, orient="bottom", columns=2
        )
    )
    config: dict[str, Any] = themed.to_dict()["config"]
    return config


def _check_address_space() -> None:
    """Raise ToolError where V8, which vl-convert runs in this process, could not start.

    It reserves addresses, not memory, and ends the process where it gets none.
    """
    allowed = resource.getrlimit(resource.RLIMIT_AS)[0]
    if allowed != resource.RLIM_INFINITY and allowed < _ADDRESSES:
        what = f"figures take {_ADDRESSES >> 30} GiB of addresses, ulimit -v allows fewer"
        raise ToolError(what, where="vl-convert", remedy="ulimit -v unlimited")


def _plain(part: Any) -> Any:
    """Return a part of a chart whose texts are safe to show; SVG quotes what XML reads as marks."""
    if isinstance(part, dict):
        return {key: _plain(value) for key, value in part.items()}
    if isinstance(part, list):
        return [_plain(value) for value in part]
    if not isinstance(part, str):
        return part
    if part in _OF_EVERY_OBJECT:
        return f"{part}\N{NO-BREAK SPACE}"
    return plain(part).replace("\\", _BACKSLASH)
