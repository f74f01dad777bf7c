"""The problems of a case by what divides their sides and by how long they take."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from harness.analysis import statistics
from harness.analysis.measured import Measured
from harness.report.arguments import CaseName, VariantName
from harness.report.chart import FAINT, GAP, HEIGHT, SERIES, WIDTH, Rows, halo_text, svg
from harness.report.columns import DASH
from harness.report.escape import Markdown, table
from harness.report.numbers import in_cell
from harness.report.page import Page, not_measured
from harness.report.sections.regions import stated

Place = tuple[VariantName, CaseName]
"""A variant and a case."""

_UNALIGNED = "any N, K"
LABELS = {
    _UNALIGNED: "N or K no multiple of 8",
    "N, K multiples of 8": "N and K multiples of 8, not 256",
    "N, K multiples of 256": "N and K multiples of 256",
}
"""What the page calls the kinds of problems, which exclude each other."""
_DURATIONS = {
    "up to 10 µs": (0.0, 10.0),
    "10 to 30 µs": (10.0, 30.0),
    "30 to 100 µs": (30.0, 100.0),
    "100 µs to 1 ms": (100.0, 1000.0),
    "over 1 ms": (1000.0, float("inf")),
}
"""Classes by µs of the choice, of problems whose N and K are multiples of 8."""
_COLUMNS = ("choice", "cold", "waiting")
_HEAD = ["problems", "faster / slower", "speed", "L2 flushed", "without PDL"]
_EVEN = 100.0


class Timed(NamedTuple):
    """A problem: its name, its kind, and µs of the choice."""

    name: str
    kind: str
    us: float


def classes(page: Page, variant: VariantName, case: CaseName) -> Markdown:
    """Return one row per class of problems: counts, and speeds in % of the library's best.

    Geometric means with their 99 % interval over problems. A problem counts as faster or slower
    where its own interval lies above or below 100 %.
    """
    place = (variant, case)
    every = timed(page, place)
    if not every:
        return not_measured(case)
    groups = {"all": every}
    groups |= {
        label: [each for each in every if each.kind == kind] for kind, label in LABELS.items()
    }
    groups |= {
        label: [each for each in every if each.kind != _UNALIGNED and low <= each.us < high]
        for label, (low, high) in _DURATIONS.items()
    }
    rows = [[label, *_row(page, place, group)] for label, group in groups.items() if group]
    return table(["", *_HEAD], rows, whole=True)


def timed(page: Page, place: Place) -> list[Timed]:
    """Return the problems of a case, in the order in which they ran."""
    found = []
    for name, kind in stated(page, place, "kind").items():
        flop = page.metrics.get(f"flop@{name}", *place).value
        rate = page.metrics.get(f"tflops@{name}", *place).value
        if flop and rate:
            found.append(Timed(name, kind, flop / rate / 1e6))
    return found


def _row(page: Page, place: Place, group: Sequence[Timed]) -> list[str]:
    values = [page.metrics.get(f"choice@{each.name}", *place) for each in group]
    faster = sum(value.low is not None and value.low > _EVEN for value in values)
    slower = sum(value.high is not None and value.high < _EVEN for value in values)
    means = (_mean(page, place, group, metric) for metric in _COLUMNS)
    return [str(len(group)), f"{faster} / {slower}", *means]


def _mean(page: Page, place: Place, group: Iterable[Timed], metric: str) -> str:
    """Return a metric's geometric mean over a group with its interval over problems."""
    each = [page.metrics.get(f"{metric}@{one.name}", *place).value for one in group]
    known = [[value] for value in each if value]
    if len(known) < 2:
        return DASH
    mean = statistics.over_members(known)
    return in_cell(Measured("%", mean.value, mean.low, mean.high, 1, len(known)))


def speed_over_duration(
    page: Page, name: str, variant: VariantName, case: CaseName, caption: str
) -> Markdown:
    """Draw a point per problem: the choice's speed over its duration, coloured by kind."""
    place = (variant, case)
    rows: Rows = []
    for each in timed(page, place):
        speed = page.metrics.get(f"choice@{each.name}", *place).value
        if speed:
            rows.append({"kind": LABELS.get(each.kind, each.kind), "x": each.us, "y": speed})
    alt = "speed of the choice, % of the library's best candidate, over its duration"
    titles = ("time of the choice, µs", "% of the library's best candidate")
    figure = draw_points(rows, titles, _EVEN, "the library's best candidate") if rows else None
    return page.figure(name, alt, figure, caption)


def draw_points(rows: Rows, titles: tuple[str, str], level: float, named: str) -> str:
    """Return points on two logarithmic axes as SVG, with a named line at ``level``.

    Rows: kind, x, y.
    """
    import altair as alt

    kinds = sorted({row["kind"] for row in rows})
    shades = alt.Scale(domain=kinds, range=list(SERIES[: len(kinds)]))
    legend = alt.Legend(symbolOpacity=1, columns=1)
    colour = alt.Color("kind:N", title=None, scale=shades, legend=legend)
    x_ends, y_ends = _ends(row["x"] for row in rows), _ends([level, *(row["y"] for row in rows)])
    x = alt.X("x:Q", title=titles[0], scale=_log(x_ends), axis=_axis(x_ends))
    y = alt.Y("y:Q", title=titles[1], scale=_log(y_ends), axis=_axis(y_ends))
    points = alt.Chart(alt.Data(values=rows)).mark_point(filled=True, size=34, opacity=0.7)
    layered = points.encode(x=x, y=y, color=colour)
    at = {"y": level, "x": max(row["x"] for row in rows), "text": named}
    base = alt.Chart(alt.Data(values=[at])).encode(y="y:Q")
    line = base.mark_rule(strokeDash=[5, 4], color=FAINT)
    where = {"align": "right", "baseline": "bottom", "dy": -GAP, "color": FAINT}
    layered = line + layered + halo_text(base.encode(x="x:Q", text="text:N"), **where)
    return svg(layered.properties(width=WIDTH, height=HEIGHT))


def _ends(values: Iterable[float]) -> tuple[float, float]:
    """Return the least and the largest value, with room beyond each."""
    known = list(values)
    room = (max(known) / min(known)) ** 0.06
    return min(known) / room, max(known) * room


def _log(ends: tuple[float, float]) -> Any:
    import altair as alt

    return alt.Scale(type="log", domain=list(ends), nice=False)


def _axis(ends: tuple[float, float]) -> Any:
    """Return an axis with a line at 1, 2 and 5 of each decade, at each ten where it is short."""
    import altair as alt

    low, high = ends
    values = [digit * 10.0**power for power in range(-1, 8) for digit in (1, 2, 5)]
    if high < 3 * low:
        values = [10.0 * step for step in range(1, 100)]
    return alt.Axis(values=[value for value in values if low <= value <= high], format="~g")


def regret_curve(
    page: Page, name: str, variant: VariantName, case: CaseName, caption: str
) -> Markdown:
    """Draw the regret of each problem, in rising order, over the share of problems."""
    place = (variant, case)
    every = [page.metrics.get(f"regret@{each.name}", *place).value for each in timed(page, place)]
    known = sorted(max(0.0, value) for value in every if value is not None)
    figure = _curve(known) if len(known) > 1 else None
    return page.figure(name, "regret over the share of problems", figure, caption)


def _curve(values: Sequence[float]) -> str:
    import altair as alt

    rows = [{"x": 100 * (at + 1) / len(values), "y": value} for at, value in enumerate(values)]
    x = alt.X("x:Q", title="share of problems, %", scale=alt.Scale(domain=[0, 100], nice=False))
    y = alt.Y("y:Q", title="longer than the fastest plan, %")
    line = alt.Chart(alt.Data(values=rows)).mark_line(
        interpolate="step-after", strokeWidth=2, color=SERIES[0]
    )
    return svg(line.encode(x=x, y=y).properties(width=WIDTH, height=HEIGHT * 2 / 3))
