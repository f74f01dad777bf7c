"""The page of a report's kernels: one table of every profiled cell, with counters beside times."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from harness.analysis.kernels import short_name
from harness.analysis.roofline import Roofline
from harness.evidence.kinds import by_cost
from harness.report.numbers import number
from harness.report.page import Page
from harness.site import timelines
from harness.site.headed import head, rendered
from harness.site.tree import Tree
from harness.view import roofline_plot
from harness.view.panel import Panel

_COUNTERS = ("dram_pct", "sm_pct", "tensor_pct", "occupancy_pct")
_NAME = "kernels.md"

Row = dict[str, Any]


@dataclass(frozen=True)
class Number:
    """A number as it is shown and as it is sorted; None where it was not measured."""

    value: float | None
    digits: str


@dataclass(frozen=True)
class Kernel:
    """One kernel of one cell; times in µs. ``timeline`` leads to it on the cell's timeline."""

    case: str
    variant: str
    name: str
    short: str
    timeline: str
    numbers: tuple[Number, ...]
    roof: "RooflinePoint"


@dataclass(frozen=True)
class RooflinePoint:
    """What a kernel reached of its roof; ``point`` is the id of its point, "" without one.

    ``told`` says where the point lies, or why there is none.
    """

    share: Number
    point: str
    told: str


@dataclass(frozen=True)
class RooflineFigure:
    """The roofline of one cell's kernels: id, title and SVG."""

    id: str
    title: str
    svg: str


def add(tree: Tree, study: Page, panels: Mapping[timelines.Cell, Panel]) -> str:
    """Add the page of a report's kernels; return its path, "" if no capture holds any."""
    cells = list(_cells(panels))
    kernels = [kernel for _, each in cells for kernel in each]
    if not kernels:
        return ""
    figures = [figure for figure, _ in cells if figure.svg]
    page = f"{study.folder.relative_to(tree.checkout).as_posix()}/{_NAME}"
    made = rendered("kernels.html.j2", kernels=kernels, figures=figures)
    tree.made[page] = f"{head(study, 'Kernels')}{made}\n"
    return page


def _cells(
    panels: Mapping[timelines.Cell, Panel],
) -> Iterator[tuple[RooflineFigure, list[Kernel]]]:
    """Yield the roofline and the kernels of every cell that has a page, in the cells' order."""
    for (case, variant), panel in panels.items():
        model = panel.roofline
        id_ = f"roofline-{case}.{variant}"
        kernels = [
            _kernel(case, variant, row, _roof(str(row["name"]), model, id_))
            for row in _rows(panel.summaries)
        ]
        yield RooflineFigure(id_, f"{case}, {variant}", roofline_plot.svg(model, id_)), kernels


def _kernel(case: str, variant: str, row: Row, roof: RooflinePoint) -> Kernel:
    name = str(row["name"])
    return Kernel(
        case=case,
        variant=variant,
        name=name,
        short=short_name(name),
        timeline=f"{timelines.place(case, variant)}#kernel={quote(name)}",
        numbers=tuple(_numbers(row)),
        roof=roof,
    )


def _roof(name: str, model: Roofline, figure: str) -> RooflinePoint:
    for place, point in enumerate(model.points):
        if point.name == name:
            roofs = model.roofs[point.kind]
            share = _shown(100 * point.share(roofs[0])[0] if roofs else None)
            return RooflinePoint(share, f"{figure}-{place}", roofline_plot.said(point, model))
    return RooflinePoint(_shown(None), "", model.missing.get(name, "No hardware counters."))


def _rows(summaries: Mapping[str, dict[str, Any]]) -> list[Row]:
    """Return a cell's kernels: of the capture that slows it least, with the counters of others."""
    shown: list[Row] = []
    counted: dict[str, Row] = {}
    for kind in by_cost():
        by_kind = summaries.get(kind.name, {})
        by_kernel = by_kind.get("by_kernel", [])
        counted |= {row["name"]: row for row in by_kernel}
        shown = shown or by_kernel or by_kind.get("kernels", [])
    return [row | counted.get(row["name"], {}) | row for row in shown]


def _numbers(row: Row) -> Iterator[Number]:
    total = row.get("total_ns")
    yield _shown(row.get("count", row.get("launches")))
    yield _shown(None if total is None else total / 1e3)
    yield _shown(row["median_ns"] / 1e3)
    yield _shown(None if row.get("share") is None else row["share"] * 100)
    for name in (*_COUNTERS, "registers"):
        yield _shown(row.get(name))


def _shown(value: float | None) -> Number:
    return Number(value, "–" if value is None else number(value))
