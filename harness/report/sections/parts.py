"""Parts of a total: a stacked bar a variant, with the total beside it."""

from typing import Any

from harness.analysis.units import byte_unit
from harness.report.chart import BLUE, GAP, GREEN, INK, ORANGE, WIDTH, Rows, label_axis, svg
from harness.report.escape import Markdown
from harness.report.numbers import measured
from harness.report.page import Page

REST = "other"
"""What the named parts leave of the total."""

_COLOURS = (BLUE, ORANGE, GREEN, "#8a6bbe", "#b08d2e")
_ROOM = 0.45
"""Of the longest bar: what is left free right of it, for the text beside a bar."""


def parts(
    page: Page, name: str, case: str, variants: list[str], caption: str, **of: Any
) -> Markdown:
    """Draw a total of each variant as a stacked bar.

    ``of``: ``total``, a metric; ``metrics``, its parts; ``beside``, metrics that stand beside the
    bar. A variant that lacks one of the first two has no bar.
    """
    drawn = [row for variant in variants for row in _bar(page, case, variant, **of)]
    definition = page.problem.metric(of["total"])
    figure = draw(drawn, definition.label, definition.unit) if drawn else None
    return page.figure(name, f"parts of {definition.label} by variant", figure, caption)


def _bar(
    page: Page, case: str, variant: str, total: str, metrics: list[str], beside: list[str]
) -> Rows:
    """Return a row a part of one variant's bar, none if it was not measured."""
    whole, *values = [page.metrics.get(metric, variant, case) for metric in (total, *metrics)]
    known = [value.value for value in values if value.value is not None]
    if whole.value is None or len(known) < len(values):
        return []
    named = dict(zip((page.problem.metric(metric).label for metric in metrics), known, strict=True))
    named[REST] = max(whole.value - sum(known), 0.0)
    texts = [page.metrics.get(metric, variant, case) for metric in beside]
    shown = [measured(value, interval=False) for value in texts if value.value is not None]
    bar = {
        "label": page.problem.variants[variant].label,
        "end": whole.value,
        "shown": ", ".join(shown),
    }
    return [bar | {"part": part, "value": value} for part, value in named.items()]


def draw(rows: Rows, title: str, unit: str) -> str:
    """Return stacked bars as SVG. Rows: label, part, value; and the same a bar: end, shown."""
    import altair as alt

    longest = max(row["end"] for row in rows)
    scale, unit = byte_unit(longest) if unit == "B" else (1.0, unit)
    names = list(dict.fromkeys(row["part"] for row in rows))
    scaled = [
        row | {"size": row["value"] / scale, "layer": names.index(row["part"])} for row in rows
    ]
    texts = {row["label"]: row | {"reach": row["end"] / scale} for row in rows}
    reach = alt.Scale(domain=[0, longest / scale * (1 + _ROOM)], nice=False)
    y = label_axis(list(texts))
    colours = alt.Scale(domain=names, range=[*_COLOURS[: len(names) - 1], INK])
    bar = (
        alt.Chart(alt.Data(values=scaled))
        .mark_bar()
        .encode(
            y=y,
            x=alt.X("size:Q", title=f"{title}, {unit}", scale=reach, stack="zero"),
            color=alt.Color("part:N", title=None, scale=colours),
            order="layer:O",
        )
    )
    text = alt.Chart(alt.Data(values=list(texts.values()))).mark_text(
        align="left", dx=GAP, color=INK
    )
    layered = bar + text.encode(y=y, x=alt.X("reach:Q", scale=reach), text="shown:N")
    return svg(layered.properties(width=WIDTH, height=alt.Step(38)))
