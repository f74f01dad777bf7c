"""What a worklog's template can ask for: metrics, tables, figures, verdicts, conditions.

The template looks everything up by name; nothing is computed in it, and no number stands in it.
"""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.analysis.claims import ClaimResult, limits
from harness.analysis.diff import cells, gpu
from harness.analysis.diff.gpu import GpuDiff
from harness.analysis.metrics import Measured, Metrics
from harness.captures.registry import filling
from harness.evidence.tables import Tables
from harness.problem.model import Claim, Problem
from harness.report import difference, figures, memory, plots, regions, sweep
from harness.report import limits as held_against
from harness.report.escape import Markdown, escape, table
from harness.report.numbers import NOT_MEASURED, measured, number


class Worklog:
    """The names that a template sees."""

    def __init__(
        self,
        problem: Problem,
        metrics: Metrics,
        judged: list[ClaimResult],
        origin: dict[str, Any],
        tables: Tables,
    ) -> None:
        self.problem = problem
        self.target = origin["run"]["target"]
        self.on_gpu = self.target["device"] == "cuda"
        self._metrics = metrics
        self._judged = judged
        self._origin = origin
        self._tables = tables
        self.figures: dict[str, str] = {}

    def m(self, metric: str, variant: str, case: str, *, interval: bool = True) -> str:
        """Return a metric with its unit and interval."""
        return measured(self._metrics.get(metric, variant, case), interval=interval)

    def ratio(
        self, metric: str, of: str, over: str, case: str, over_metric: str | None = None
    ) -> str:
        """Return how many times ``of`` is of ``over`` in a metric, or over another metric of it."""
        below = (over_metric or metric, over, case)
        return measured(self._metrics.ratio((metric, of, case), below))

    def has(self, metric: str, variant: str, case: str) -> bool:
        """Return whether a metric was measured."""
        return self._metrics.get(metric, variant, case).value is not None

    def says(self, fact: str, variant: str, case: str) -> str:
        """Return what a variant's timing cell states in words."""
        return self._metrics.text(fact, variant, case) or NOT_MEASURED

    def repeats(self, metric: str, variant: str, case: str) -> str:
        """Return in words what an interval of a metric covers."""
        found = self._metrics.get(metric, variant, case)
        samples = f"{found.samples} samples"
        if found.rounds > 1:
            return f"{samples} in {found.rounds} processes, run in turn with the other variants"
        return f"{samples} of one process; another process may differ by more"

    def verdict_line(self) -> Markdown:
        """Return the first line: reproduced on what, how many claims of each verdict, when."""
        counts: Counter[str] = Counter(one.verdict for one in self._judged)
        told = [f"{counts['reproduced']} of {len(self._judged)} claims reproduced"]
        others = ("refuted", "inconclusive", "not measured")
        told += [f"{counts[kind]} {kind}" for kind in others if counts[kind]]
        started = self._origin["run"]["started"][:10]
        return Markdown(f"**On {self.target['name']}: {', '.join(told)}.** Measured {started}.")

    def variants(self, case: str, metrics: list[str], ratio: str = "") -> Markdown:
        """Return the table of a case: a row a variant, baseline first, a column a metric."""
        base = self.problem.baseline
        order = [base, *(name for name in self.problem.variants if name != base)]
        head = ["variant", *self._labels(metrics)]
        if ratio:
            head.append(f"{self.problem.metric(ratio).label}, over {base}")
        rows: list[list[str]] = []
        for name in order:
            cells: list[str] = [
                measured(self._metrics.get(metric, name, case)) for metric in metrics
            ]
            if all(cell == NOT_MEASURED for cell in cells):
                continue
            if ratio:
                cells.append(self.ratio(ratio, name, base, case))
            rows.append([self.problem.variants[name].label, *cells])
        if not rows:
            return Markdown(f"*{NOT_MEASURED.capitalize()} on this target.*")
        return table(head, rows)

    def _labels(self, metrics: list[str]) -> list[str]:
        """Return the metrics' labels, with the region where the label alone stands for several."""
        found = [self.problem.metric(name) for name in metrics]
        often = Counter(one.label for one in found)
        return [
            f"{one.label}, {one.region}" if often[one.label] > 1 and one.region else one.label
            for one in found
        ]

    def claims(self) -> Markdown:
        """Return the table of claims: statement, bound, measured, verdict, source cells."""
        head = ["claim", "statement", "bound", "measured", "verdict", "from"]
        rows = [self._claim_row(one) for one in self._judged]
        return table(head, rows, numeric_from=len(head))

    def refuted(self) -> list[ClaimResult]:
        """Return the claims that the evidence refutes."""
        return [one for one in self._judged if one.verdict == "refuted"]

    def reference(self, name: str) -> Markdown:
        """Return a table of published figures with where they come from."""
        found = self.problem.references[name]
        rows = [
            [f"{c:g}" if isinstance(c, float) else str(c or "–") for c in row] for row in found.rows
        ]
        source = f"*Published, not measured here: {found.source}. {found.gpu}; {found.software}.*"
        return Markdown(f"{table(found.columns, rows)}\n\n{source}")

    def operators(self, variant: str, case: str) -> Markdown:
        """Return a variant's torch operators by the GPU time of what they launch themselves."""
        rows = figures.operator_rows(self._metrics, variant, case)
        if not rows:
            return Markdown(f"*{NOT_MEASURED.capitalize()} on this target.*")
        return table(["operator", "calls a step", "host, µs a step", "GPU, µs a step"], rows)

    def kernels(self, variant: str, case: str) -> Markdown:
        """Return a variant's kernels by time, from the timeline capture."""
        rows = figures.kernel_rows(self._metrics, variant, case)
        if not rows:
            return Markdown(f"*{NOT_MEASURED.capitalize()} on this target.*")
        return table(["kernel", "family", "launches a step", "median, µs", "share"], rows, 2)

    def counters(self, variant: str, case: str) -> Markdown:
        """Return one row a kernel of a profiled step: what limits it."""
        rows = figures.counter_rows(self._metrics, variant, case)
        head = [
            "kernel",
            "launches",
            "time, µs",
            "DRAM MB",
            "DRAM",
            "SM",
            "occupancy",
            "waves per SM",
        ]
        if not rows:
            return Markdown(f"*{NOT_MEASURED.capitalize()} on this target.*")
        return table(head, rows)

    def figure(self, name: str, alt: str, svg: str | None, caption: str) -> Markdown:
        """Keep a figure and return the Markdown that shows it, with the sentence of what to see."""
        if svg is None:
            return Markdown(f"*{alt}: {NOT_MEASURED} on this target.*")
        self.figures[f"{name}.svg"] = svg
        return Markdown(f"![{alt}](figures/{name}.svg)\n\n*{caption}*")

    def bars(self, name: str, metric: str, case: str, caption: str) -> Markdown:
        """Draw a metric of all variants with intervals, the baseline's value as a line."""
        svg = figures.bars(self.problem, self._metrics, metric, case)
        return self.figure(name, f"{self.problem.metric(metric).label} by variant", svg, caption)

    def families(self, name: str, case: str, variants: list[str], caption: str) -> Markdown:
        """Draw GPU time per step by kernel family, stacked per variant."""
        svg = figures.families(self._metrics, case, variants)
        return self.figure(name, "GPU time by kernel family", svg, caption)

    def timeline(self, name: str, variant: str, case: str, caption: str) -> Markdown:
        """Draw a variant's memory timeline with its phases."""
        svg = figures.memory(self._metrics, variant, case)
        return self.figure(name, f"memory timeline of {variant}", svg, caption)

    def filled(self, variant: str, case: str) -> Markdown:
        """Return what filled the graphs' pools of a variant at their peaks, by allocation site."""
        found = self._metrics.capture_with("memory_pools", variant, case)
        if found is None:
            return Markdown(f"*{variant}: {NOT_MEASURED} on this target.*")
        return memory.filled(found)

    def memory_changed(self, a: str, b: str, case: str) -> Markdown:
        """Return which allocation sites differ at the peaks of two variants' pools of graphs."""
        sides = [self._metrics.capture_with("memory_pools", variant, case) for variant in (a, b)]
        if not sides[0] or not sides[1]:
            return Markdown(f"*{a} against {b}: {NOT_MEASURED} on this target.*")
        return memory.changed(sides[0], sides[1])

    def model(
        self, name: str, metric: str, points: list[tuple[str, str, float]], caption: str
    ) -> Markdown:
        """Draw measured values beside a model's: points of (variant, case, model's value)."""
        svg = figures.model(self.problem, self._metrics, metric, points)
        label = self.problem.metric(metric).label
        return self.figure(name, f"{label}, measured and model", svg, caption)

    def model_table(self, metric: str, points: list[tuple[str, str, float]]) -> Markdown:
        """Return the same as a table, with measured over model."""
        rows = []
        for variant, case, value in points:
            found = self._metrics.get(metric, variant, case)
            share = "–" if found.value is None else f"{found.value / value:.3f}" if value else "–"
            label = self.problem.variants[variant].label
            rows.append([label, case, measured(found), number(value), share])
        return table(["variant", "case", "measured", "model", "measured / model"], rows, 2)

    def ceilings(self) -> Markdown:
        """Return what this GPU reaches at most, measured on it, beside the datasheet's peaks."""
        return held_against.ceilings(self._tables, self.target["name"])

    def timed_on(self, case: str) -> Markdown:
        """Return which GPU timed which variants of a case, nothing where one timed them all."""
        return held_against.timed_on(self._tables, self._origin, case)

    def roofline(self, name: str, case: str, flop: float, caption: str, **how: str) -> Markdown:
        """Draw every variant of a case under the roofs, measured and the datasheet's.

        ``flop``: operations of a step. ``how``: the metrics ``time`` (ms) and ``bytes``, the
        ``kind`` of arithmetic whose rate is the roof, such as "bf16", and, where one variant timed
        all in turn as regions, that variant as ``within``.
        """
        given = how | {"flop": flop}
        svg = held_against.draw_roofline(
            self.problem, self._metrics, self._tables, self.target["name"], case, given
        )
        return self.figure(name, "roofline", svg, caption)

    def overhead(self, case: str) -> Markdown:
        """Return how many times as long a step took under each capture as without."""
        return held_against.overhead(self.problem, self._metrics, case)

    def sweep(
        self, name: str, metric: str, case: str, variants: list[str], caption: str
    ) -> Markdown:
        """Draw a metric of a case that measures many sizes, a line a variant."""
        svg = sweep.draw(self.problem, self._metrics, metric, case, variants)
        label = f"{self.problem.metrics[metric].label} by size"
        return self.figure(name, label, svg, caption)

    def sweep_table(
        self, metric: str, case: str, variants: list[str], facts: list[str]
    ) -> Markdown:
        """Return the same as a table; ``facts`` are what the last variant says of each size."""
        rows = sweep.table_rows(self._metrics, metric, case, variants, facts)
        if not rows:
            return Markdown(f"*{case}: {NOT_MEASURED} on this target.*")
        unit = sweep.unit_of(self.problem.metrics[metric].unit)[1]
        return table(["size", *(f"{name}, {unit}" for name in variants), *facts], rows)

    def regions(self, variant: str, case: str, metrics: list[str], **how: Any) -> Markdown:
        """Return the table of a cell that measured several things in turn: a row a region.

        ``how``: ``facts`` that it says of a region in words, ``only`` these regions, and ``peak``,
        a rate and the kind of arithmetic whose peak on the datasheet it is held against.
        """
        head, rows = regions.table_of(
            self.problem, self._metrics, self.target["name"], (variant, case), metrics, **how
        )
        return table(head, rows) if rows else Markdown(f"*{case}: {NOT_MEASURED} on this target.*")

    def region_bars(
        self, name: str, metric: str, place: tuple[str, str], caption: str, only: tuple[str, ...]
    ) -> Markdown:
        """Draw a metric of a variant's and case's regions, the baseline's value as a line."""
        svg = regions.bars(self.problem, self._metrics, metric, place, only)
        return self.figure(name, f"{self.problem.metric(metric).label}, {place[1]}", svg, caption)

    def shares(self, case: str, variants: list[str], **how: str) -> Markdown:
        """Return how much of what memory or arithmetic allow each variant reaches, by size.

        ``how``: the metrics ``time``, ``bytes`` and ``flop`` of a step, and the ``kind`` of
        arithmetic whose measured rate is the ceiling.
        """
        rows = sweep.shares(self._metrics, self._tables, case, variants, how)
        if not rows:
            return Markdown(f"*{case}: {NOT_MEASURED} on this target.*")
        return table(["size", *variants], rows)

    def waterfall(self, name: str, a: str, b: str, case: str, caption: str) -> Markdown:
        """Draw how the GPU time of a step of variant ``a`` becomes that of ``b``, part by part."""
        found = self._changed(a, b, case)
        svg = plots.waterfall(difference.bars(found, a, b), "µs a step") if found else None
        return self.figure(name, f"from {a} to {b}", svg, caption)

    def changed(self, a: str, b: str, case: str) -> Markdown:
        """Return the parts of a step that changed from variant ``a`` to ``b``, summing to all."""
        found = self._changed(a, b, case)
        if found is None:
            return Markdown(f"*{a} against {b}: {NOT_MEASURED} on this target.*")
        section = difference.gpu_time(found, "the timeline")
        return difference.markdown([replace(section, title="")])

    def limits_changed(self, a: str, b: str, case: str) -> Markdown:
        """Return the counters that explain a change of variant ``a`` to ``b``, kernel by kernel."""
        sides = [self._metrics.capture_with("counters", variant, case) for variant in (a, b)]
        if not sides[0] or not sides[1]:
            return Markdown(f"*{a} against {b}: {NOT_MEASURED} on this target.*")
        return difference.markdown(difference.counters(sides[0], sides[1]), level=4)

    def _changed(self, a: str, b: str, case: str) -> GpuDiff | None:
        for kind in filling("gpu_ops"):
            sides = [self._metrics.capture_of(kind, variant, case) for variant in (a, b)]
            if sides[0] and sides[1] and not cells.refused("gpu_ops", sides[0], sides[1]):
                return gpu.compare(sides[0], sides[1])
        return None

    def conditions(self) -> Markdown:
        """Return what the figures were made on and with, and what was noticed meanwhile."""
        rows = [
            *figures.conditions(self._origin),
            *held_against.sampling(self._tables),
            *held_against.noticed(self._tables),
        ]
        return table(["", ""], rows, numeric_from=2)

    def _claim_row(self, one: ClaimResult) -> list[str]:
        cells = sorted({cell.rsplit(".", 1)[0] for cell in one.measured.cells})
        found = one.measured
        shown = f"{NOT_MEASURED}: {found.why}" if found.value is None else measured(found)
        statement = one.claim.statement
        if one.verdict == "refuted" and one.claim.otherwise:
            statement = f"{statement} In truth {one.claim.otherwise.strip()}"
        mark = {"reproduced": "reproduced", "refuted": "**refuted**"}.get(one.verdict, one.verdict)
        if found.doubt:
            mark = f"{mark}: {escape(found.doubt)}"
        return [
            Markdown(f"`{one.claim.id}`"),
            statement,
            bound(one.claim, found),
            shown,
            Markdown(mark),
            ", ".join(cells) or "–",
        ]


def bound(claim: Claim, found: Measured) -> str:
    """Return a claim's bound in words."""
    unit = f" {found.unit}" if found.unit and found.unit != "×" else found.unit
    least, most = limits(claim.bound)
    if claim.bound.between:
        exact = least == most
        return f"{number(least)}{unit}" if exact else f"{number(least)} to {number(most)}{unit}"
    return (
        f"≥ {number(least)}{unit}" if claim.bound.above is not None else f"≤ {number(most)}{unit}"
    )


def render(template: Path, worklog: Worklog) -> str:
    """Return the worklog that ``template`` makes; an unknown name in it is an error."""
    import jinja2

    from harness.errors import ManifestError
    from harness.report.escape import finalize

    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined,
        finalize=finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - Markdown, not HTML: `finalize` escapes every value
    )
    try:
        text = template.read_text(encoding="utf-8")
        return environment.from_string(text).render(w=worklog, problem=worklog.problem)
    except jinja2.TemplateSyntaxError as error:
        raise ManifestError(str(error.message), where=f"{template}, line {error.lineno}") from None
    except jinja2.UndefinedError as error:
        raise ManifestError(str(error), where=template) from None
