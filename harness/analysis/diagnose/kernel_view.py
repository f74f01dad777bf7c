"""What findings on kernels read: one profiled launch, its hardware counters and its instructions.

Ratios that several findings need are in ``launch/``, each a function of a view that returns None
where the report lacks the metric: what is not measured is never 0.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import polars as pl

from harness.analysis.counters import scale
from harness.analysis.diagnose.finding import Evidence, Finding, FindingKind
from harness.analysis.diagnose.launch import resources
from harness.analysis.diagnose.launch.counted import Counted, Instruction
from harness.analysis.diagnose.launch.resources import Resource
from harness.evidence.capture import Capture

TIME = "gpu__time_duration.sum"


@dataclass(frozen=True)
class KernelView(Counted):
    """One profiled launch, and what it used of each part of the GPU."""

    @cached_property
    def used(self) -> dict[str, Resource]:
        """Return each resource whose use is known, by name."""
        return resources.used(self)

    @property
    def top(self) -> Resource | None:
        """Return the resource that is nearest to its ceiling."""
        return max(self.used.values(), key=lambda each: each.use, default=None)

    def use(self, *names: str) -> float:
        """Return the highest use among resources, as a fraction of the ceiling; unknown is 0."""
        return max((self.used[name].use for name in names if name in self.used), default=0.0)

    def use_of_others(self, *names: str) -> float:
        """Return the highest use among all resources but these."""
        return self.use(*(self.used.keys() - set(names)))

    def evidence(
        self, metric: str, value: float, threshold: float | None = None, unit: str = "%"
    ) -> Evidence:
        """Return a number of this launch's report as evidence."""
        return Evidence(metric, value, threshold, self.source, unit)

    def finding(
        self,
        kind: FindingKind,
        gain: float,
        *evidence: Evidence,
        share: float | None = None,
        confidence: float = 0.9,
        capture_next: tuple[str, ...] = (),
    ) -> Finding:
        """Return a finding on this launch; the gain is clamped to what is possible."""
        gain = min(max(gain, 0.0), 1.0)
        return kind.finding(
            f"launch {self.launch}",
            evidence,
            share=gain if share is None else share,
            gain=gain,
            confidence=confidence,
            kernel=self.name,
            capture_next=capture_next,
        )


def views(captures: Sequence[Capture]) -> Sequence[KernelView]:
    """Return one view a profiled launch, in launch order of each capture."""
    launches = [launch for capture in captures for launch in _launches(capture)]
    whole = sum(view.metrics.get(TIME, 0.0) for view in launches) or 1.0
    return [replace(view, share=view.metrics.get(TIME, 0.0) / whole) for view in launches]


def _launches(capture: Capture) -> Iterator[KernelView]:
    """Yield the launches of a capture; their share is not known yet."""
    text = pl.col("name", "metric", "unit").cast(pl.String)
    counters = capture.tables["counters"].with_columns(text)
    measured = pl.col("value").is_finite() & (pl.col("value") >= 0)  # one of them is a difference
    instructions = _instructions(capture.tables["instructions"])
    for (launch, name), rows in counters.group_by("launch", "name", maintain_order=True):
        values = rows.filter(measured).select("metric", "unit", "value").iter_rows()
        metrics = {metric: value * scale(unit) for metric, unit, value in values}
        number = int(str(launch))
        code = instructions.get(number, ())
        yield KernelView(str(name), number, capture.label, 0.0, metrics, code)


def _instructions(table: pl.DataFrame) -> dict[int, tuple[Instruction, ...]]:
    """Return the instructions of each launch in the order of their addresses."""
    code: dict[int, list[Instruction]] = {}
    columns = table.select("launch", "sass", "executed", "samples").sort("launch")
    for launch, sass, executed, samples in columns.iter_rows():
        made = Instruction(_opcode(sass or ""), sass or "", executed or 0, samples or 0)
        code.setdefault(launch, []).append(made)
    return {launch: tuple(rows) for launch, rows in code.items()}


@lru_cache(maxsize=1 << 14)
def _opcode(sass: str) -> str:
    """Return an instruction's opcode without modifiers; kernels share most of their text."""
    word = next((word for word in sass.split() if not word.startswith("@")), "")
    return word.partition(".")[0].rstrip(";")
