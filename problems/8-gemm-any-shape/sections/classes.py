"""The problems of a case by what divides their rows and by how long they take."""

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple

from harness.analysis import statistics
from harness.analysis.measured import Measured
from harness.report.arguments import CaseName, MetricName, VariantName
from harness.report.chart import FAINT, GAP, HEIGHT, SERIES, WIDTH, Rows, halo_text, svg
from harness.report.columns import DASH
from harness.report.escape import Markdown, table
from harness.report.numbers import number
from harness.report.page import Page, not_measured
from harness.report.sections.regions import stated

Place = tuple[VariantName, CaseName]
"""A variant and a case."""

_UNALIGNED = "a row no multiple of 8"
_KINDS = _UNALIGNED, "rows multiples of 8, not 256", "rows multiples of 256"
"""The kinds of problems, which exclude each other: regions.py says what rows are."""
_DURATIONS = {
    "under 5 µs": (0.0, 5.0),
    "5 to 10 µs": (5.0, 10.0),
    "10 to 30 µs": (10.0, 30.0),
    "30 µs and more": (30.0, float("inf")),
}
"""Classes by µs of the library's best candidate, launched back to back."""
_COLUMNS = ("choice", "cold", "waiting")
_HEAD = ["problems (time)", "faster / slower", "back to back", "L2 flushed", "without PDL", "lost"]
_EVEN = 100.0
_SYMMETRIC = 0.75
"""An interval whose shorter side is at least this share of the longer one is printed as ±."""


class Timed(NamedTuple):
    """A problem: its name, its kind, and µs of the choice and of the library's best candidate."""

    name: str
    kind: str
    us: float
    library_us: float


class Group(NamedTuple):
    """Problems of a case whose speeds are averaged."""

    page: Page
    place: Place
    members: list[Timed]

    @property
    def library_us(self) -> float:
        """The library's time for all problems, in µs."""
        return math.fsum(each.library_us for each in self.members)

    def values(self, metric: str) -> list[Measured]:
        """Return a metric of each problem."""
        names = [f"{metric}@{each.name}" for each in self.members]
        return [self.page.metrics.get(name, *self.place) for name in names]

    def mean(self, metric: str) -> Measured:
        """Return a metric's geometric mean in %, with its interval over problems."""
        return _over([value.value for value in self.values(metric) if value.value])

    def by_time(self, metric: str) -> Measured:
        """Return a metric's mean in %, weighted by the library's time back to back.

        That is the library's time for all problems over the choice's. The interval is over shapes,
        whose layouts are alike: that of the ratio of both sums, linearised in what a shape adds.
        """
        shapes: dict[str, list[float]] = {}
        for each, value in zip(self.members, self.values(metric), strict=True):
            if value.value:
                sums = shapes.setdefault(each.name.partition(":")[0], [0.0, 0.0])
                sums[0] += each.library_us
                sums[1] += each.library_us / value.value
        library, choice = (math.fsum(side) for side in zip(*shapes.values(), strict=True))
        added = [len(shapes) * (one / library - other / choice) for one, other in shapes.values()]
        return _over([library / choice * math.exp(each) for each in added])


def _over(values: Sequence[float]) -> Measured:
    if len(values) < 2:
        return Measured("%")
    mean = statistics.over_members([[value] for value in values])
    return Measured("%", mean.value, mean.low, mean.high, 1, len(values))


def kinds(page: Page, variant: VariantName, case: CaseName) -> Markdown:
    """Return one row per kind of problems: counts, and speeds in % of the library's best.

    A speed is a geometric mean, then the mean weighted by the library's time. A problem counts as
    faster or slower where its own interval lies above or below 100 %. The last column is
    what ``lost`` returns.
    """
    return _table(_kinds(page, (variant, case)), case)


def durations(
    page: Page, variant: VariantName, case: CaseName, *, aligned: bool = False
) -> Markdown:
    """Return the same by how long the library's best candidate takes.

    ``aligned``: only of the problems whose rows are multiples of 8.
    """
    return _table(_durations(page, (variant, case), aligned=aligned), case)


def lost(page: Page, variant: VariantName, case: CaseName, label: str) -> Markdown:
    """Return which part of a class's lead goes with L2 flushed or without PDL: "all", "65%".

    That is the larger part of both, by geometric means; a dash where there is no lead.
    """
    return Markdown(_lost(_groups(page, (variant, case))[label]))


def earned_back(
    page: Page, variant: VariantName, case: CaseName, label: str, first: CaseName
) -> Markdown:
    """Return how many calls of a size earn back its first one, as the median of a class's problems.

    ``first``: the case that measured a first call. A problem that gains nothing never does.
    """
    cost = page.metrics.get("first_ms@new sizes", variant, first).value
    group = _groups(page, (variant, case)).get(label)
    if cost is None or group is None:
        return not_measured(case)
    gains = [each.library_us - each.us for each in group.members]
    calls = median(1e3 * cost / gain if gain > 0 else math.inf for gain in gains)
    return Markdown(f"{number(calls, 2)} calls")


def by_time(
    page: Page, variant: VariantName, case: CaseName, label: str, metric: MetricName
) -> Markdown:
    """Return a class's speed in %, weighted by the library's time."""
    return Markdown(_whole(_groups(page, (variant, case))[label].by_time(metric), "%"))


def _lost(group: Group) -> str:
    lead, *left = ((group.mean(metric).value or _EVEN) - _EVEN for metric in _COLUMNS)
    if lead <= 0:
        return DASH
    part = 100 * (1 - min(left) / lead)
    return "all" if part >= _EVEN else f"{max(part, 0):.0f}%"


def _groups(page: Page, place: Place) -> dict[str, Group]:
    return _kinds(page, place) | _durations(page, place)


def _kinds(page: Page, place: Place) -> dict[str, Group]:
    every = timed(page, place)
    found = {"all": every}
    found |= {kind: [one for one in every if one.kind == kind] for kind in _KINDS}
    return {label: Group(page, place, members) for label, members in found.items() if members}


def _durations(page: Page, place: Place, *, aligned: bool = False) -> dict[str, Group]:
    every = [one for one in timed(page, place) if not aligned or one.kind != _UNALIGNED]
    found = {
        label: [one for one in every if low <= one.library_us < high]
        for label, (low, high) in _DURATIONS.items()
    }
    return {label: Group(page, place, members) for label, members in found.items() if members}


def timed(page: Page, place: Place) -> list[Timed]:
    """Return the problems of a case, in the order in which they ran."""
    found = []
    for name, kind in stated(page, place, "kind").items():
        flop, rate, speed = (
            page.metrics.get(f"{metric}@{name}", *place).value
            for metric in ("flop", "tflops", "choice")
        )
        if flop and rate and speed:
            us = flop / rate / 1e6
            found.append(Timed(name, kind, us, us * speed / _EVEN))
    return found


def _table(groups: Mapping[str, Group], case: CaseName) -> Markdown:
    if not groups:
        return not_measured(case)
    one = next(iter(groups.values()))
    every = Group(one.page, one.place, timed(one.page, one.place)).library_us
    rows = [[label, *_row(group, every)] for label, group in groups.items()]
    return table(["", *_HEAD], rows, whole=True)


def _row(group: Group, every_us: float) -> list[str]:
    """Return a class's row; ``every_us``: the library's time for the problems of all classes."""
    values = group.values("choice")
    faster = sum(value.low is not None and value.low > _EVEN for value in values)
    slower = sum(value.high is not None and value.high < _EVEN for value in values)
    share = number(100 * group.library_us / every_us, 2)
    means = (
        Markdown(f"{_whole(group.mean(metric))}; {_whole(group.by_time(metric))}")
        for metric in _COLUMNS
    )
    return [f"{len(values)} ({share}%)", f"{faster} / {slower}", *means, _lost(group)]


def _whole(mean: Measured, unit: str = "") -> str:
    """Return a mean and its interval without decimals, whatever digits the interval bears out."""
    if mean.value is None or mean.low is None or mean.high is None:
        return DASH
    below, above = mean.value - mean.low, mean.high - mean.value
    if min(below, above) < _SYMMETRIC * max(below, above):
        return f"{mean.value:.0f}{unit} [{mean.low:.0f}, {mean.high:.0f}]"
    return f"{mean.value:.0f} ± {max(below, above):.0f}{unit}"


def speed_over_duration(
    page: Page, name: str, variant: VariantName, case: CaseName, caption: str
) -> Markdown:
    """Draw a point per problem: the choice's speed over its duration, coloured by kind."""
    place = (variant, case)
    rows: Rows = []
    for each in timed(page, place):
        speed = page.metrics.get(f"choice@{each.name}", *place).value
        if speed:
            rows.append({"kind": each.kind, "x": each.us, "y": speed})
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
