"""The gains that the diagnosis predicts beside those of the twins: a point a specimen."""

from typing import Any

from harness.analysis.diagnose.finding import MEMORY
from harness.analysis.diagnose.known_findings import kinds
from harness.report.chart import FAINT, FONT, GAP, HEIGHT, SERIES, WIDTH, Rows, halo_text, svg
from harness.report.escape import Markdown
from harness.report.page import Page

from .grading import Answer

_OFF = 0.15
"""A point whose prediction is off by as much, as a fraction of the specimen's time, is named."""
_CAPTION = (
    "Each point is a specimen: what the diagnosis predicts that a fix gains, and what the twin"
    " gained, as shares of the specimen's time or memory. On the dashed line both are equal. Named"
    f" are points that are off by {100 * _OFF:.0f} percentage points or more; the text above counts"
    " errors as shares of what the twin gained."
)
_KINDS = ("time, in a kernel", "time, between kernels", MEMORY)
_BETWEEN = ("multi-GPU", "timeline")
"""The levels of findings that a timeline shows; the others of time are seen in a kernel."""
_Box = tuple[float, float, float, float]
"""Left, top, right and bottom, in pixels."""
_CHARACTER = 0.55 * FONT
"""Pixels of a character's width, about."""


def exam_gains(page: Page, answers: list[Answer]) -> Markdown:
    """Draw the predicted gain of each right answer and the gain of the twin, in percent."""
    title = "gain predicted and gain of the twin"
    return page.figure("exam-gains", title, draw(rows(answers)), _CAPTION)


def rows(answers: list[Answer]) -> Rows:
    """Return predicted, gained, kind and the name of what is far off, by right answer.

    A bound is left out: the diagnosis predicts no gain for it.
    """
    found = []
    for answer in answers:
        predicted, gained = answer.predicted, answer.gained
        if not answer.right or answer.is_bound or predicted is None or gained is None:
            continue
        far = abs(predicted - gained) >= _OFF
        found.append(
            {
                "predicted": 100 * predicted,
                "gained": 100 * gained,
                "kind": _kind(answer.planted),
                "name": answer.planted if far else "",
            }
        )
    return found


def _kind(planted: str) -> str:
    level = kinds()[planted].level
    return MEMORY if level == MEMORY else _KINDS[1] if level in _BETWEEN else _KINDS[0]


def draw(points: Rows) -> str | None:
    """Return the figure as SVG, None without points; the line is where both gains are equal."""
    import altair as alt

    if not points:
        return None
    scale = alt.Scale(domain=[0, 100], nice=False)
    x = alt.X("predicted:Q", title="gain predicted by the diagnosis, %", scale=scale)
    y = alt.Y("gained:Q", title="gain of the twin, %", scale=scale)
    shown = [kind for kind in _KINDS if any(point["kind"] == kind for point in points)]
    colour = alt.Color(
        "kind:N",
        title=None,
        scale=alt.Scale(domain=shown, range=list(SERIES[: len(shown)])),
        legend=alt.Legend(symbolOpacity=1, columns=len(shown)),
    )
    ends = [{"predicted": end, "gained": end} for end in (0, 100)]
    line = alt.Chart(alt.Data(values=ends)).mark_line(strokeDash=[5, 4], color=FAINT)
    data = alt.Data(values=points)
    dots = alt.Chart(data).mark_point(filled=True, size=48, opacity=0.75)
    named = _labels(points)
    names = [
        halo_text(
            alt.Chart(alt.Data(values=[each for each in named if each["align"] == align])).encode(
                x=x, y=y, text="name:N"
            ),
            align=align,
            dx=GAP if align == "left" else -GAP,
            dy={"expr": "datum.down"},
            baseline="middle",
        )
        for align in ("left", "right")
        if any(each["align"] == align for each in named)
    ]
    chart = alt.layer(line.encode(x=x, y=y), *names, dots.encode(x=x, y=y, color=colour))
    return svg(chart.properties(width=WIDTH, height=HEIGHT))


def _labels(points: Rows) -> Rows:
    """Return the named points, each with where its name has room: align, and pixels down.

    A name stands on that side of its point that is away from the line.
    """
    places = [_pixels(point) for point in points]
    taken = [(x - GAP / 2, y - GAP / 2, x + GAP / 2, y + GAP / 2) for x, y in places]
    found = []
    for point, (x, y) in zip(points, places, strict=True):
        if not point["name"]:
            continue
        below = point["gained"] < point["predicted"]
        length = _CHARACTER * len(point["name"])
        left = x + GAP if below else x - GAP - length
        for down in sorted(range(-8 * FONT, 8 * FONT + 1, FONT // 2), key=abs):
            box = (left, y + down - FONT / 2, left + length, y + down + FONT / 2)
            if not any(_overlap(box, each) for each in taken):
                break
        taken.append(box)
        found.append(point | {"align": "left" if below else "right", "down": down})
    return found


def _pixels(point: dict[str, Any]) -> tuple[float, float]:
    return point["predicted"] / 100 * WIDTH, (1 - point["gained"] / 100) * HEIGHT


def _overlap(one: _Box, other: _Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
