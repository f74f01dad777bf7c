"""What the figures rest on and are held against: ceilings, roofline, capture cost, conditions."""

from collections import Counter
from typing import Any

from harness.analysis import datasheets, reliability, roofline
from harness.analysis.metrics import Metrics
from harness.captures.registry import profiled, unprofiled
from harness.evidence.tables import Tables
from harness.problem.model import Problem
from harness.report import plots
from harness.report.ceilings import table_of
from harness.report.escape import Markdown, table
from harness.report.numbers import NOT_MEASURED, number

_MOST_NOTES = 8


def ceilings(tables: Tables, gpu: str) -> Markdown:
    """Return the ceilings of the GPUs that a run used, beside the datasheet's peaks."""
    by_gpu = _by_gpu(tables)
    if not by_gpu:
        return Markdown(f"*Ceilings: {NOT_MEASURED} on this target.*")
    shown = table_of(gpu, by_gpu)
    cited = f"\n\n*Datasheet: {shown.source}.*" if shown.source else ""
    return Markdown(f"{table(shown.head, shown.rows)}{cited}")


def draw_roofline(
    problem: Problem,
    metrics: Metrics,
    tables: Tables,
    gpu: str,
    case: str,
    how: dict[str, Any],
) -> str | None:
    """Return the figure of every variant that has time and bytes, under both roofs."""
    over = roofline.roofs(roofline.best(tables), datasheets.of(gpu), how["kind"])
    points = [
        found
        for name in problem.variants
        if (
            found := roofline.point(
                metrics, name, case, how["time"], how["bytes"], how["flop"], how.get("within")
            )
        )
    ]
    if not over or not points:
        return None
    rows = [
        {
            "intensity": one.intensity,
            "rate": one.tflop_s,
            "shown": f"{one.variant} {100 * one.tflop_s / over[0].at(one.intensity):.0f} %",
            "baseline": one.variant == problem.baseline,
        }
        for one in points
    ]
    ends = _ends([one.intensity for one in points], [roof.ridge for roof in over])
    lines = [
        {"roof": roof.name, "intensity": at, "rate": roof.at(at)}
        for roof in over
        for at in (ends[0], roof.ridge, ends[1])
    ]
    return plots.roofline(rows, lines)


def _ends(points: list[float], ridges: list[float]) -> tuple[float, float]:
    """Return the least and the greatest intensity to draw: points, and both parts of each roof."""
    return min(min(points) / 2, min(ridges) / 4), max(max(points) * 2, max(ridges) * 4)


def overhead(problem: Problem, metrics: Metrics, case: str) -> Markdown:
    """Return, a row a variant, how many times as long a step took under each capture."""
    rows = []
    for name, variant in problem.variants.items():
        found = [metrics.overhead(kind, name, case) for kind in profiled()]
        if any(found):
            told = ["–" if value is None else f"{number(value)}×" for value in found]
            rows.append([variant.label, *told])
    if not rows:
        return Markdown(f"*Cost of the captures: {NOT_MEASURED} on this target.*")
    return table(["variant", *profiled()], rows)


def timed_on(tables: Tables, origin: dict[str, Any], case: str) -> Markdown:
    """Return which GPU timed which variants of a case, nothing where one timed them all."""
    import polars as pl

    gpus = {cell["cell"]: cell["gpu"] for cell in origin["cells"]}
    timed = tables["cells"].filter(
        pl.col("case") == case, pl.col("capture") == unprofiled(), pl.col("status") == "ok"
    )
    by_gpu: dict[str, dict[str, None]] = {}
    for cell, variant in timed.select("cell", "variant").iter_rows():
        by_gpu.setdefault(gpus[cell] or "CPU", {})[variant] = None
    if len(by_gpu) < 2:
        return Markdown("")
    told = "; ".join(f"{', '.join(variants)} ({gpu[:12]}…)" for gpu, variants in by_gpu.items())
    return Markdown(
        f"*Timed on {len(by_gpu)} GPUs of this model, so ratios across hold what these differ by"
        f" as well: {told}.*"
    )


def sampling(tables: Tables) -> list[list[str]]:
    """Return rows for the conditions: what ended the series, and what was left out or far off."""
    rows = tables["sampling"]
    if rows.is_empty():
        return []
    ended = Counter(rows["stopped"].to_list())
    told = ", ".join(f"{count} by {reason}" for reason, count in ended.most_common())
    taken, warm, far = (int(rows[name].sum()) for name in ("taken", "warmup", "outliers"))
    return [
        ["series of samples", f"{rows.height}, ended {told}"],
        ["samples", f"{taken}, of which {warm} left out as warm-up; {far} far off and kept"],
    ]


def noticed(tables: Tables) -> list[list[str]]:
    """Return rows for the conditions: what was noticed of the GPU and the run."""
    notes = reliability.notes(tables)
    rows = [["noticed", note] for note in notes[:_MOST_NOTES]]
    if len(notes) > _MOST_NOTES:
        rows.append(
            ["noticed", f"and {len(notes) - _MOST_NOTES} more, which `harness check` tells"]
        )
    return rows


def _by_gpu(tables: Tables) -> dict[str, dict[str, dict[str, Any]]]:
    """Return GPU to name to unit, value, low and high."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for row in tables["ceilings"].iter_rows(named=True):
        found.setdefault(row["gpu"], {})[row["name"]] = row
    return found
