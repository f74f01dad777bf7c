"""GPU time of a step by kernel family, stacked, a bar a variant."""

from harness.report import colours
from harness.report.escape import Markdown
from harness.report.numbers import number
from harness.report.page import Page
from harness.report.stacked import draw


def families(page: Page, name: str, case: str, variants: list[str], caption: str) -> Markdown:
    """Draw the GPU time of a step of each variant by kernel family."""
    from harness.analysis import step

    steps = {variant: step.kernels(page.metrics, variant, case) for variant in variants}
    measured = {variant: kernels for variant, kernels in steps.items() if kernels is not None}
    rows = [
        {"label": page.problem.variants[variant].label, "part": family, "value": time_us}
        | {"end": total, "shown": number(total)}
        for variant, kernels in measured.items()
        for total in [sum(time_us for _, time_us in kernels.families())]
        for family, time_us in kernels.families()
    ]
    palette = colours.of_families(str(row["part"]) for row in rows)
    kinds = ", ".join(dict.fromkeys(kernels.kind for kernels in measured.values()))
    figure = draw(rows, f"GPU time per step, µs (under {kinds})", palette) if rows else None
    return page.figure(name, "GPU time by kernel family", figure, caption)
