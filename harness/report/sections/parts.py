"""Parts of a total: a stacked bar a variant, and by what each part changed."""

from typing import Any

from harness.analysis.units import byte_unit
from harness.report.chart import BLUE, GAP, GREEN, INK, ORANGE, WIDTH, Rows, label_axis, svg
from harness.report.escape import Markdown, table
from harness.report.numbers import measured, size
from harness.report.page import Page, not_measured

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


def parts_changed(
    page: Page, case: str, variants: list[str], total: str, metrics: list[str]
) -> Markdown:
    """Return a table of the parts of a total in bytes, and their changes, which add up to its own.

    The first variant's row holds sizes, those of the others their difference to it. A variant that
    was not measured has no row, and without the first there is no table.
    """
    label = page.problem.metric(total).label
    sums = {variant: _divided(page, case, variant, total, metrics) for variant in variants}
    base = sums[variants[0]]
    if base is None:
        return not_measured(f"parts of {label}")
    head = [_label(page, variants[0]), *base, label]
    rows = [["bytes", *(size(round(part)) for part in (*base.values(), sum(base.values())))]]
    for variant, divided in list(sums.items())[1:]:
        if divided is not None:
            changes = [round(divided[part] - base[part]) for part in base]
            shown = [size(change, signed=True) for change in (*changes, sum(changes))]
            rows.append([_label(page, variant), *shown])
    return table(head, rows)


def _divided(
    page: Page, case: str, variant: str, total: str, metrics: list[str]
) -> dict[str, float] | None:
    """Return the value of each part, and of the rest, by label; None if one was not measured."""
    whole, *values = [page.metrics.get(metric, variant, case).value for metric in (total, *metrics)]
    known = [value for value in values if value is not None]
    if whole is None or len(known) < len(values):
        return None
    labels = (page.problem.metric(metric).label for metric in metrics)
    return dict(zip(labels, known, strict=True)) | {REST: whole - sum(known)}


def _bar(
    page: Page, case: str, variant: str, total: str, metrics: list[str], beside: list[str]
) -> Rows:
    """Return a row a part of one variant's bar, none if it was not measured."""
    divided = _divided(page, case, variant, total, metrics)
    if divided is None:
        return []
    texts = [page.metrics.get(metric, variant, case) for metric in beside]
    shown = [measured(value, interval=False) for value in texts if value.value is not None]
    bar = {
        "label": _label(page, variant),
        "end": sum(divided.values()),
        "shown": ", ".join(shown),
    }
    return [bar | {"part": part, "value": max(value, 0.0)} for part, value in divided.items()]


def _label(page: Page, variant: str) -> str:
    return page.problem.variants[variant].label


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
