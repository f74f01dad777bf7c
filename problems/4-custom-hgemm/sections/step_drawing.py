"""The drawing of each step that has one of its own."""

from collections.abc import Callable

from harness.report.chart import Figure
from harness.report.escape import Markdown
from harness.report.page import Page

from . import fragments, operands, overlap

DRAWN: dict[str, tuple[str, Callable[[], Figure]]] = {
    "p3": ("lanes that address, hold and store elements", fragments.draw),
    "p6": ("stages of p5 and p6 over time", overlap.draw_multistage),
    "p7": ("ldmatrix and mma.sync of a warp over time", overlap.draw_double_buffer),
    "h0": ("way of the operands from L2 to the tensor cores", operands.draw_paths),
    "h3": ("tiles of h2 and h3, by consumer", operands.draw_consumers),
    "h4": ("stages of h3 and h4 over two tiles", overlap.draw_persistent),
    "h5": ("stores of C of h4 and h5 over time", overlap.draw_box_stores),
    "h6": ("boxes that two CTAs read from L2, and their stages", operands.draw_multicast),
    "h9": ("SMs between two kernels, without and with PDL", overlap.draw_dependent_launch),
    "h10": ("halves of K and exchange of sums in a cluster", operands.draw_split),
}
"""By step: what a text in place of the figure says, and the function that draws it."""


def step_drawing(page: Page, step: str, caption: str) -> Markdown:
    """Draw what a step changes, by its plan and protocol."""
    about, draw = DRAWN[step]
    return page.figure(step, about, draw(), caption)
