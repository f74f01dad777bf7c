"""How the GPU's work in one variant's step becomes that in another's, part by part."""

from harness.analysis.diff.gpu import GpuDiff
from harness.analysis.units import counted
from harness.report.arguments import CaseName, VariantName
from harness.report.axes import linear
from harness.report.chart import (
    FAINT,
    FONT,
    GAP,
    GREEN,
    ORANGE,
    PLOT,
    Rows,
    halo_text,
    row_labels,
    row_step,
    rows_axis,
    svg,
)
from harness.report.escape import Markdown
from harness.report.numbers import number
from harness.report.page import Page
from harness.report.signs import signed
from harness.report.step_difference import part_label

_MILLISECONDS_FROM_NS = 10e6
"""The busy time from which an axis in µs has numbers that no reader compares at a glance."""


def waterfall(
    page: Page, name: str, a: VariantName, b: VariantName, case: CaseName, caption: str
) -> Markdown:
    """Draw how the time that the GPU works in a step of variant ``a`` becomes that of ``b``."""
    from harness.analysis import step_parts

    diff = step_parts.difference(page.metrics, a, b, case)
    before, after = (page.problem.variants[variant].label for variant in (a, b))
    figure = None
    if diff:
        unit, ns = unit_of(diff)
        rows = waterfall_rows(diff, before, after, ns=ns)
        figure = draw(rows, f"busy GPU, {unit} a step")
    return page.figure(name, f"from {a} to {b}", figure, caption)


def waterfall_rows(
    diff: GpuDiff, a: str = "A", b: str = "B", most: int = 10, ns: float = 1e3
) -> Rows:
    """Return the bars from A's busy time to B's a step, without the GPU's idle time.

    They are in a unit of ``ns`` nanoseconds. Parts after the ``most`` largest are one bar. ``a``
    and ``b`` name the two totals.
    """
    worked = [row for row in diff.rows if row.kind != "gap"]
    ranked = sorted(worked, key=lambda row: -abs(diff.change_ns(row)))
    shown = [row for row in ranked[:most] if row.change != "unchanged"]
    parts = [(part_label(row), diff.change_ns(row) / ns) for row in shown]
    rest = [row for row in worked if row not in shown]
    if rest:
        parts.append(
            (counted(len(rest), "other part"), sum(diff.change_ns(row) for row in rest) / ns)
        )
    at = diff.a_step(*diff.busy_ns)[0] / ns
    rows: Rows = [_bar(a, 0.0, at, total=True)]
    for place, (label, change) in enumerate(parts, start=1):
        # Bars of one label would be one bar.
        same = label in (a, b) or sum(label == other for other, _ in parts) > 1
        rows.append(_bar(f"{label} ({place})" if same else label, at, at + change))
        at += change
    return [*rows, _bar(b, 0.0, at, total=True)]


def unit_of(diff: GpuDiff) -> tuple[str, float]:
    """Return the unit of a difference's bars, and how many ns it has."""
    return ("ms", 1e6) if max(diff.a_step(*diff.busy_ns)) >= _MILLISECONDS_FROM_NS else ("µs", 1e3)


def _bar(label: str, start: float, end: float, *, total: bool = False) -> dict[str, object]:
    shown = number(end) if total else signed(end - start)
    return {"label": label, "start": start, "end": end, "shown": shown, "total": total}


def draw(rows: Rows, title: str) -> str:
    """Return bars from one total to another, one a part, as SVG.

    Rows: label, start, end, shown, total.
    """
    import altair as alt

    order = [row["label"] for row in rows]
    beside = [row | {"at": max(row["start"], row["end"])} for row in rows]
    scale = linear([(row["at"], row["shown"]) for row in beside], (), PLOT)
    base = alt.Chart(alt.Data(values=beside)).encode(y=rows_axis(order))
    colour = (
        alt.when("datum.total")
        .then(alt.value(FAINT))
        .when("datum.end > datum.start")
        .then(alt.value(ORANGE))
        .otherwise(alt.value(GREEN))
    )
    x = alt.X("start:Q", title=title, scale=scale, axis=alt.Axis(tickCount=5))
    bar = base.mark_bar(size=FONT).encode(x=x, x2="end:Q", color=colour)
    text = halo_text(base.encode(x="at:Q", text="shown:N"), align="left", dx=GAP)
    layered = bar + text + row_labels(order)
    return svg(layered.properties(width=PLOT, height=row_step(order)))
