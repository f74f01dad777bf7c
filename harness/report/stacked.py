"""Stacked bars: the parts of a total, a bar a row, each with a text beside its end."""

from collections.abc import Mapping

from harness.report.axes import linear
from harness.report.chart import (
    FONT,
    GAP,
    PLOT,
    Rows,
    halo_text,
    row_labels,
    row_step,
    rows_axis,
    svg,
)


def draw(rows: Rows, title: str, palette: Mapping[str, str]) -> str:
    """Return stacked bars as SVG, their parts in the order and colours of ``palette``.

    Rows: label, part, value; and the same in each row of a bar: end (the total) and shown.
    """
    import altair as alt

    ends = {row["label"]: row for row in rows}
    order, parts = list(ends), list(palette)
    scale = linear([(row["end"], row["shown"]) for row in ends.values()], (), PLOT)
    axis = alt.Axis(tickCount=5)
    layers = [row | {"layer": parts.index(row["part"])} for row in rows]
    bar = (
        alt.Chart(alt.Data(values=layers))
        .mark_bar(size=FONT)
        .encode(
            y=rows_axis(order),
            x=alt.X("value:Q", title=title, scale=scale, axis=axis, stack="zero"),
            color=alt.Color(
                "part:N",
                title=None,
                scale=alt.Scale(domain=parts, range=list(palette.values())),
            ),
            order="layer:O",
        )
    )
    beside = alt.Chart(alt.Data(values=list(ends.values()))).encode(y=rows_axis(order))
    text = halo_text(beside.encode(x="end:Q", text="shown:N"), align="left", dx=GAP)
    layered = bar + text + row_labels(order)
    return svg(layered.properties(width=PLOT, height=row_step(order)))
