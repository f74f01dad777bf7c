"""How the GPU time of one variant's step becomes that of another's, part by part."""

from harness.analysis.diff.gpu import GpuDiff
from harness.report.chart import GAP, GREEN, INK, ORANGE, WIDTH, Rows, label_axis, svg
from harness.report.difference import part_label, signed_us, time_us
from harness.report.escape import Markdown
from harness.report.page import Page


def waterfall(page: Page, name: str, a: str, b: str, case: str, caption: str) -> Markdown:
    """Draw how the GPU time of a step of variant ``a`` becomes that of ``b``."""
    from harness.analysis import step

    diff = step.difference(page.metrics, a, b, case)
    figure = draw(waterfall_rows(diff, a, b), "µs a step") if diff else None
    return page.figure(name, f"from {a} to {b}", figure, caption)


def waterfall_rows(diff: GpuDiff, a: str = "A", b: str = "B", most: int = 10) -> Rows:
    """Return the bars from A's step to B's, in µs; parts after the ``most`` largest are one bar.

    ``a`` and ``b`` name the two totals.
    """
    per = 1e3 * diff.steps
    ranked = sorted(diff.rows, key=lambda row: -abs(row.delta_ns))
    shown = [row for row in ranked[:most] if row.change != "unchanged"]
    parts = [(part_label(row), row.delta_ns / per) for row in shown]
    rest = sum(row.delta_ns for row in diff.rows if row not in shown)
    if len(shown) < len(diff.rows):
        parts.append((f"{len(diff.rows) - len(shown)} other parts", rest / per))
    at = diff.a_ns / per
    rows: Rows = [_bar(a, 0.0, at, total=True)]
    for place, (label, change) in enumerate(parts, start=1):
        # Bars of one label would be one bar.
        same = label in (a, b) or sum(label == other for other, _ in parts) > 1
        rows.append(_bar(f"{label} ({place})" if same else label, at, at + change))
        at += change
    return [*rows, _bar(b, 0.0, at, total=True)]


def _bar(label: str, start: float, end: float, *, total: bool = False) -> dict[str, object]:
    shown = time_us(end) if total else signed_us(end - start)
    return {"label": label, "start": start, "end": end, "shown": f"{shown} µs", "total": total}


def draw(rows: Rows, title: str) -> str:
    """Return bars from one total to another, one a part, as SVG.

    Rows: label, start, end, shown, total.
    """
    import altair as alt

    base = alt.Chart(alt.Data(values=rows)).encode(y=label_axis([row["label"] for row in rows]))
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
        .mark_text(align="left", dx=GAP, color=INK)
        .encode(y=label_axis([row["label"] for row in rows]), x="at:Q", text="shown:N")
    )
    return svg((bar + text).properties(width=WIDTH))
