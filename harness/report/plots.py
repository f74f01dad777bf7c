"""Figures as SVG, drawn without a browser; grey text and no background, for light and dark pages.

Each takes plain rows that the analysis made and returns SVG text.
"""

from typing import Any

INK = "#767676"  # contrast 4.5 on white, 4.2 on the dark pages of the usual forges
BLUE, ORANGE, GREEN = "#3b82c4", "#d9822b", "#3f9b6c"
_WIDTH = 560
Rows = list[dict[str, Any]]


def bars(rows: Rows, title: str) -> str:
    """Points with intervals on a log axis. Rows: label, value, low, high, shown, baseline."""
    import altair as alt

    order = [row["label"] for row in rows]
    base = alt.Chart(alt.Data(values=rows)).encode(y=_labels(order))
    colour = alt.condition("datum.baseline", alt.value(ORANGE), alt.value(BLUE))
    value = alt.X("value:Q", title=title, scale=alt.Scale(type="log"))
    bar = base.mark_point(filled=True, size=70).encode(x=value, color=colour)
    interval = base.mark_rule(strokeWidth=2).encode(x="low:Q", x2="high:Q", color=colour)
    text = base.mark_text(align="left", dx=8, color=INK).encode(x="value:Q", text="shown:N")
    lines = [row for row in rows if row["baseline"]]
    rule = alt.Chart(alt.Data(values=lines)).mark_rule(color=ORANGE, strokeDash=[4, 3])
    return _svg((rule.encode(x="value:Q") + interval + bar + text).properties(width=_WIDTH))


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
    """Memory over allocator events. Rows: index, mb, series; marks: index, phase."""
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
    phases = alt.Chart(alt.Data(values=marks))
    rule = phases.mark_rule(color=INK, strokeDash=[2, 3]).encode(x="index:Q")
    text = phases.mark_text(align="left", dx=3, dy=-4, baseline="bottom", color=INK, angle=315)
    layered = rule + line + text.encode(x="index:Q", y=alt.value(0), text="phase:N")
    return _svg(layered.properties(width=_WIDTH, height=220))


def against_model(rows: Rows, title: str) -> str:
    """Measured values beside the model's. Rows: label, measured, model."""
    import altair as alt

    order = [row["label"] for row in rows]
    base = alt.Chart(alt.Data(values=rows)).encode(y=_labels(order))
    bar = base.mark_bar(color=BLUE).encode(x=alt.X("measured:Q", title=title))
    tick = base.mark_tick(color=ORANGE, thickness=3, size=18).encode(x="model:Q")
    text = base.mark_text(align="left", dx=8, color=INK).encode(x="measured:Q", text="shown:N")
    return _svg((bar + tick + text).properties(width=_WIDTH))


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
