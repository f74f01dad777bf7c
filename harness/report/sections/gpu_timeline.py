"""One measured step drawn over time: the host's CUDA calls above, what the GPU ran below."""

from typing import TYPE_CHECKING, Any

from harness.report.arguments import CaseName, VariantName
from harness.report.chart import CARD, WIDTH, Rows, aligned_texts, svg
from harness.report.escape import Markdown
from harness.report.page import Page
from harness.report.step_shapes import LINK, Shapes, Window, in_ms, shapes

if TYPE_CHECKING:
    from harness.analysis.step_timeline import StepTimeline


def gpu_timeline(
    page: Page,
    variant: VariantName,
    case: CaseName,
    caption: str,
    against: VariantName | None = None,
    window: Window | None = None,
) -> Markdown:
    """Draw a measured step of ``variant``, and that of ``against`` under it on one time scale.

    ``window`` draws only these µs, from the step's start.
    """
    from harness.analysis import step_timeline

    names = [name for name in (variant, against) if name]
    steps = [step_timeline.of(page.metrics, name, case) for name in names]
    panels = [
        (page.problem.variants[name].label, step)
        for name, step in zip(names, steps, strict=True)
        if step
    ]
    figure = draw(panels, window) if len(panels) == len(names) else None
    part = [f"{window[0]:g}-{window[1]:g}us"] if window else []
    file = "-".join(["timeline", case, *names, *part])
    return page.figure(file, f"GPU timeline of one step of {' and '.join(names)}", figure, caption)


def draw(panels: "list[tuple[str, StepTimeline]]", window: Window | None = None) -> str:
    """Return labelled steps, one under another on one time scale, as SVG."""
    import altair as alt

    longest = max(step.length_ns for _, step in panels) / 1e3
    ends = window or (0.0, longest)
    shown = [shapes(label, step, ends) for label, step in panels]
    drawn = {f"boxes{place}": panel for place, panel in enumerate(shown)}
    charts = [_panel(panel, name, ends) for name, panel in drawn.items()]
    boxes = {name: _boxes(panel) for name, panel in drawn.items()}
    return svg(alt.vconcat(*charts, spacing=22) if len(charts) > 1 else charts[0], **boxes)


def _boxes(panel: Shapes) -> Rows:
    """Return the rows from which the rectangles of a panel are drawn."""
    keys = ("x", "x2", "y", "y2", "colour", "edge")
    return [{key: box.get(key, CARD) for key in keys} for box in panel.boxes]


def _panel(panel: Shapes, boxes: str, ends: Window) -> Any:
    """Return the chart of one panel, whose boxes are the rows of that name."""
    import altair as alt

    time = alt.Scale(domain=list(ends), nice=False)
    down = alt.Scale(domain=[panel.height, 0], nice=False)
    unit, of_us = ("ms", 1000) if in_ms(ends[1]) else ("µs", 1)
    axis = alt.Axis(
        grid=True,
        tickCount=7,
        title=f"{unit} from the start of the step",
        labelExpr=f"format(datum.value / {of_us}, ',~g')",
    )
    x = alt.X("x:Q", scale=time, axis=axis)
    y = alt.Y("y:Q", scale=down, axis=None)
    colour = alt.Color("colour:N", scale=None)
    box = alt.Chart(alt.NamedData(boxes)).mark_rect(aria=False, strokeWidth=0.3)
    edge = alt.Stroke("edge:N", scale=None)
    layers = [box.encode(x=x, x2="x2:Q", y=y, y2="y2:Q", color=colour, stroke=edge)]
    if panel.links:
        line = alt.Chart(alt.Data(values=panel.links)).mark_rule(color=LINK, strokeWidth=1)
        layers.insert(0, line.encode(x=x, x2="x2:Q", y=y, y2="y2:Q"))
    layers += aligned_texts(panel.texts, x, y)
    return alt.layer(*layers).properties(width=WIDTH, height=panel.height)
