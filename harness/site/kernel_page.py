"""The page of a report's kernels: one table of every profiled cell, with counters beside times."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from harness.analysis import summary
from harness.analysis.kernels import short_name
from harness.captures.registry import KINDS, by_cost
from harness.evidence.subject import Folder, Subject
from harness.report.numbers import number
from harness.report.page import Page
from harness.site import capture_page
from harness.site.templates import rendered
from harness.site.tree import WIDE, Tree

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


def add(tree: Tree, study: Page) -> str:
    """Add the page of a report's kernels; return its path, "" if no capture holds any."""
    kernels = list(_kernels(study))
    if not kernels:
        return ""
    page = f"{study.folder.relative_to(tree.checkout).as_posix()}/{_NAME}"
    tree.made[page] = f"{WIDE}# Kernels\n\n{rendered('kernels.html.j2', kernels=kernels)}\n"
    return page


def _kernels(study: Page) -> Iterator[Kernel]:
    """Yield the kernels of every profiled cell, in the order of the cells."""
    evidence = Folder(str(study.folder), study.tables, study.provenance)
    for case, variant in evidence.cells:
        if all(KINDS[kind].unprofiled for kind in evidence.captures(case, variant)):
            continue
        for row in _rows(evidence.subject(case, variant)):
            name = str(row["name"])
            yield Kernel(
                case=case,
                variant=variant,
                name=name,
                short=short_name(name),
                timeline=f"{capture_page.timeline(case, variant)}#kernel={quote(name)}",
                numbers=tuple(_numbers(row)),
            )


def _rows(subject: Subject) -> list[Row]:
    """Return a cell's kernels: of the capture that slows it least, with the counters of others."""
    shown: list[Row] = []
    counted: dict[str, Row] = {}
    for kind in by_cost():
        if kind.name not in subject.captures:
            continue
        found = summary.by_kind(kind.name, subject.captures[kind.name], subject.label)
        by_kernel = found.get("by_kernel", [])
        counted |= {row["name"]: row for row in by_kernel}
        shown = shown or by_kernel or found.get("kernels", [])
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
