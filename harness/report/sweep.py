"""A case that measures the same thing at many sizes, each in a region of its own such as "m16"."""

import re

from harness.analysis import roofline
from harness.analysis.metrics import Measured, Metrics
from harness.evidence.tables import Tables
from harness.problem.model import Problem
from harness.report import plots
from harness.report.numbers import NOT_MEASURED, number

_SIZE = re.compile(r"[A-Za-z]+(\d+)")


def sizes(metrics: Metrics, case: str) -> list[str]:
    """Return the regions of a case whose names are a letter and a size, by size."""
    found = {name for name in metrics.regions(case) if _SIZE.fullmatch(name)}
    return sorted(found, key=_number)


def draw(
    problem: Problem, metrics: Metrics, metric: str, case: str, variants: list[str]
) -> str | None:
    """Return the figure of a metric over sizes, a line a variant; None where none was measured."""
    scale, unit = unit_of(problem.metrics[metric].unit)
    rows = [
        {"variant": variant, "size": _number(region), "value": scale * found.value}
        for variant in variants
        for region in sizes(metrics, case)
        if (found := metrics.get(f"{metric}@{region}", variant, case)).value is not None
    ]
    label = problem.metrics[metric].label
    name = sizes(metrics, case)[0].rstrip("0123456789").upper() if rows else ""
    return plots.lines(rows, f"{label}, {unit}", name) if rows else None


def unit_of(unit: str) -> tuple[float, str]:
    """Return the unit in which a sweep shows a metric, and what to multiply by: ms become µs."""
    return (1e3, "µs") if unit == "ms" else (1.0, unit)


def table_rows(
    metrics: Metrics, metric: str, case: str, variants: list[str], facts: list[str]
) -> list[list[str]]:
    """Return a row a size: the metric of each variant, then facts of the last one as text."""
    rows = []
    for region in sizes(metrics, case):
        found = [metrics.get(f"{metric}@{region}", variant, case) for variant in variants]
        texts = [metrics.text(f"{fact}.{region}", variants[-1], case) for fact in facts]
        told = [_told(one) for one in found]
        rows.append([str(_number(region)), *told, *(text or "–" for text in texts)])
    return rows


def shares(
    metrics: Metrics, tables: Tables, case: str, variants: list[str], how: dict[str, str]
) -> list[list[str]]:
    """Return a row a size: each variant's share of what memory or arithmetic allow at most.

    ``how``: the metrics ``time`` (ms), ``bytes`` and ``flop`` of a step, and the ``kind`` of
    arithmetic. The ceilings are those measured on the GPU that the run was begun on.
    """
    roof = next(iter(roofline.roofs(roofline.best(tables), None, how["kind"])), None)
    rows = []
    for region in sizes(metrics, case):
        cells = []
        for variant in variants:
            got = [
                metrics.get(f"{how[key]}@{region}", variant, case)
                for key in ("time", "bytes", "flop")
            ]
            cells.append(_share(got, roof))
        rows.append([str(_number(region)), *cells])
    return rows


def _share(got: list[Measured], roof: roofline.Roof | None) -> str:
    took, moved, work = (one.value for one in got)
    if not roof or not took or not moved or not work:
        return "–"
    by_memory, by_arithmetic = moved / roof.gb_s / 1e6, work / roof.tflop_s / 1e9
    limit = "memory" if by_memory > by_arithmetic else "arithmetic"
    return f"{100 * max(by_memory, by_arithmetic) / took:.0f} % of {limit}"


def _number(region: str) -> int:
    return int(region.lstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"))


def _told(found: Measured) -> str:
    if found.value is None:
        return NOT_MEASURED
    return number(unit_of(found.unit)[0] * found.value)
