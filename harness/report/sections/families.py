"""GPU time of a step by kernel family, stacked, a bar a variant."""

from harness.report.chart import WIDTH, Rows, label_axis, svg
from harness.report.escape import Markdown
from harness.report.page import Page


def families(page: Page, name: str, case: str, variants: list[str], caption: str) -> Markdown:
    """Draw the GPU time of a step of each variant by kernel family."""
    from harness.analysis import step

    steps = {variant: step.kernels(page.metrics, variant, case) for variant in variants}
    measured = {variant: kernels for variant, kernels in steps.items() if kernels is not None}
    rows = [
        {"label": variant, "family": family, "value": time_us}
        for variant, kernels in measured.items()
        for family, time_us in kernels.families()
    ]
    kinds = ", ".join(dict.fromkeys(kernels.kind for kernels in measured.values()))
    figure = draw(rows, f"GPU time per step, µs (under {kinds})") if rows else None
    return page.figure(name, "GPU time by kernel family", figure, caption)


def draw(rows: Rows, title: str) -> str:
    """Return stacked bars of time by kernel family as SVG. Rows: label, family, value."""
    import altair as alt

    order = list(dict.fromkeys(row["label"] for row in rows))
    chart = (
        alt.Chart(alt.Data(values=rows))
        .mark_bar()
        .encode(
            y=label_axis(order),
            x=alt.X("sum(value):Q", title=title),
            color=alt.Color("family:N", title=None, scale=alt.Scale(scheme="tableau10"), sort=None),
        )
    )
    return svg(chart.properties(width=WIDTH))
