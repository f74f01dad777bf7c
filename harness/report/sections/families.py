"""GPU time of a step by kernel family, stacked, a bar a variant."""

from harness.report.chart import WIDTH, Rows, label_axis, svg
from harness.report.escape import Markdown
from harness.report.page import Page
from harness.report.sections.kernels import StepKernels, step_kernels


def families(page: Page, name: str, case: str, variants: list[str], caption: str) -> Markdown:
    """Draw the GPU time of a step of each variant by kernel family."""
    steps = {variant: step_kernels(page, variant, case) for variant in variants}
    measured = {variant: step for variant, step in steps.items() if step is not None}
    rows = [row for variant, step in measured.items() for row in _rows(variant, step)]
    kinds = ", ".join(dict.fromkeys(step.kind for step in measured.values()))
    figure = draw(rows, f"GPU time per step, µs (under {kinds})") if rows else None
    return page.figure(name, "GPU time by kernel family", figure, caption)


def _rows(variant: str, step: StepKernels) -> Rows:
    import polars as pl

    from harness.analysis.kernels import family

    grouped = step.kernels.with_columns(
        pl.col("name").map_elements(family, return_dtype=pl.String).alias("family")
    )
    times = grouped.group_by("family").agg(pl.col("total_ns").sum()).sort("family")
    return [
        {"label": variant, "family": kind, "value": total / step.steps / 1e3}
        for kind, total in times.iter_rows()
    ]


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
