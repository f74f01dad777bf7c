"""Requests over time: a row each, in the order in which they were due, coloured by their state."""

from typing import TYPE_CHECKING

from harness.report.arguments import CaseName, VariantName
from harness.report.axes import shown_unit
from harness.report.chart import BLUE, FAINT, ORANGE, SERIES, WIDTH, Rows, svg
from harness.report.colours import lighter
from harness.report.escape import Markdown
from harness.report.page import Page

if TYPE_CHECKING:
    from harness.evidence.tables import Tables

_MOST = 60
"""Requests of a figure: more rows would be thinner than the gaps between them."""
_ROW = 6
"""Pixels that a row is high."""
_SECOND_MS = 1000


def request_timeline(
    page: Page, name: str, variant: VariantName, case: CaseName, caption: str
) -> Markdown:
    """Draw when each of a variant's requests was queued, in prefill, in decode and preempted."""
    figure = draw_load(page.metrics.capture_with("load_requests", variant, case))
    return page.figure(name, f"requests of {variant} over time", figure, caption)


def draw_load(tables: "Tables | None", most: int = _MOST) -> str | None:
    """Return the first ``most`` requests after warm-up as SVG, None without a recording of them."""
    import polars as pl

    from harness.analysis import serving

    if tables is None or tables["load_requests"].is_empty():
        return None
    spans = pl.concat([serving.states(tables, most), serving.stalls(tables, most)])
    if spans.is_empty():
        return None
    ends = (int(spans["start_ns"].min()), int(spans["end_ns"].max()))  # type: ignore[arg-type]  # integers
    of_ns, unit = _unit(ends[1] - ends[0])
    first: int = spans["request"].min()  # type: ignore[assignment]  # integers
    rows: Rows = [
        {"row": request - first, "x": start / of_ns, "x2": end / of_ns, "state": state}
        for request, state, start, end in spans.iter_rows()
    ]
    shown, sent = spans["request"].n_unique(), tables["load_requests"].height
    title = "requests" if shown == sent else f"{shown} of {sent} requests"
    return draw(rows, (ends[0] / of_ns, ends[1] / of_ns), unit, title)


def _unit(length_ns: int) -> tuple[float, str]:
    """Return ns of the unit of the axis, and its symbol."""
    if length_ns >= 2 * _SECOND_MS * 1e6:
        return 1e9, "s"
    scale, symbol = shown_unit(length_ns / 1e6, "ms")
    return scale * 1e6, symbol


def draw(rows: Rows, ends: tuple[float, float], unit: str, title: str) -> str:
    """Return spans as SVG. Rows: row, x, x2, state. ``title``: of the axis of requests."""
    import altair as alt

    from harness.analysis.serving import STALLED, UNTOLD

    colours = dict.fromkeys(("queued", UNTOLD), lighter(FAINT, 0.5))
    colours |= {"prefill": ORANGE, "decode": BLUE, STALLED: lighter(BLUE, 0.6)}
    colours["preempted"] = SERIES[4]
    shown = [state for state in colours if any(row["state"] == state for row in rows)]
    ordered = sorted(rows, key=lambda row: shown.index(row["state"]))  # the last lie above
    boxes = [row | {"y": row["row"] + 0.1, "y2": row["row"] + 0.9} for row in ordered]
    count = max(row["row"] for row in rows) + 1
    scale = alt.Scale(domain=[count, 0], nice=False)
    bare = alt.Axis(labels=False, ticks=False, grid=False)
    chart = (
        alt.Chart(alt.NamedData("spans"))
        .mark_rect(aria=False)
        .encode(
            x=alt.X(
                "x:Q",
                title=f"{unit} from the start of the load",
                scale=alt.Scale(domain=list(ends), nice=False),
                axis=alt.Axis(tickCount=7),
            ),
            x2="x2:Q",
            y=alt.Y("y:Q", title=title, scale=scale, axis=bare),
            y2="y2:Q",
            color=alt.Color(
                "state:N",
                title=None,
                scale=alt.Scale(domain=shown, range=[colours[state] for state in shown]),
            ),
        )
        .properties(width=WIDTH, height=max(_ROW * count, 10 * _ROW))
    )
    return svg(chart, spans=boxes)
