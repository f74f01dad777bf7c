"""The number that decides a finding on a kernel, of both twins, with its threshold."""

from collections.abc import Callable, Mapping, Sequence

from harness.analysis.diagnose import kernel_view
from harness.analysis.diagnose.finding import Evidence
from harness.analysis.diagnose.kernel.cache_thrash import MAPPED
from harness.analysis.diagnose.kernel_view import TIME, KernelView
from harness.analysis.diagnose.launch import computed, mix, shape, traffic, warps
from harness.analysis.units import byte_unit
from harness.report import bars
from harness.report.arguments import CaseName
from harness.report.escape import Markdown
from harness.report.numbers import number
from harness.report.page import Page
from harness.report.sections.diagnosis import concluded, profiled

from . import grading

_UNBOUNDED = "launch__waves_per_multiprocessor"
"""The twin's has no upper end: beside it neither bar nor threshold would be seen."""
Value = Callable[[KernelView], float | None]


def _percent(fraction: Value) -> Value:
    def percent(view: KernelView) -> float | None:
        value = fraction(view)
        return None if value is None else 100 * value

    return percent


def _reread(view: KernelView) -> float | None:
    read, mapped = computed.bytes_read(view), view.get(MAPPED)
    return read / mapped if read is not None and mapped else None


COMPUTED: Mapping[str, Value] = {
    "wavefronts from conflicts": _percent(traffic.conflicts),
    "warps' cycles: barrier": _percent(lambda view: warps.waiting(view, "barrier")),
    "bytes read from DRAM by bytes mapped": _reread,
    "accesses of 1 or 2 bytes per thread": _percent(mix.narrow),
    "local memory's part of L1's sectors": _percent(traffic.local_part),
    "active cycles, average SM below the busiest": _percent(shape.imbalance),
    "FFMAs of executed instructions": _percent(
        lambda view: mix.share(view, frozenset({"FFMA", "FFMA2"}))
    ),
    "loads with no thread left": _percent(traffic.masked_loads),
    "SMs' active cycles": _percent(shape.activity),
}
"""How the diagnosis computes what is no counter of the report, by the evidence's name."""


def signature(page: Page, case: CaseName) -> Markdown:
    """Draw the number that decides what was planted in a case, of both twins' launches.

    "" where the diagnosis does not name it, or the twin's report lacks the number.
    """
    decided = decides(page, case)
    if decided is None:
        return Markdown("")
    decisive, of_twin = decided
    threshold = decisive.threshold or 0.0
    scale, unit = 1.0, decisive.unit or "ratio"
    if unit == "byte":
        scale, unit = byte_unit(decisive.value)
    rows = [
        {
            "label": page.problem.variants[variant].label,
            **dict.fromkeys(("value", "low", "high"), value / scale),
            "shown": number(value / scale),
            "baseline": variant == page.problem.baseline,
        }
        for variant, value in zip(_variants(page), (decisive.value, of_twin), strict=True)
    ]
    limit = threshold / scale
    line = {"value": limit, "shown": f"threshold: {number(limit)}", "baseline": False}
    figure = bars.draw(rows, [line], unit)
    what = f"`{decisive.metric}`" if "__" in decisive.metric else decisive.metric
    caption = f"What decides: {what}, of both twins."
    if (decisive.value > threshold) == (of_twin > threshold):
        caption += " Both are beyond the threshold: the twin is as bound, for less time."
    return page.figure(f"signature-{case}", f"{decisive.metric} of both twins", figure, caption)


def decides(page: Page, case: str) -> tuple[Evidence, float] | None:
    """Return the first evidence of what was planted that has a threshold, and the twin's value.

    None where the diagnosis does not name it, or the twin's longest launch lacks the number.
    """
    sick, healthy = _variants(page)
    made = concluded(page.problem, page.metrics, sick, case)
    twin = max(launches(page, healthy, case), key=_time, default=None)
    if made is None or twin is None:
        return None
    planted = grading.planted(page.problem, case)
    named = next((each.evidence for each in made.findings if each.id == planted), ())
    for each in named:
        value = value_of(twin, each.metric) if each.threshold else None
        if value is not None and each.metric != _UNBOUNDED:
            return each, value
    return None


def value_of(view: KernelView, metric: str) -> float | None:
    """Return an evidence's number of any launch: a counter, or what COMPUTED makes of several."""
    known = COMPUTED.get(metric)
    return known(view) if known else view.get(metric)


def launches(page: Page, variant: str, case: str) -> Sequence[KernelView]:
    """Return the profiled launches of a variant in a case."""
    captures = profiled(page.problem, page.metrics, variant, case)
    return kernel_view.views([each for each in captures if each.tables["counters"].height])


def _time(view: KernelView) -> float:
    return view.metrics.get(TIME, 0.0)


def _variants(page: Page) -> tuple[str, str]:
    return page.problem.baseline, grading.twin_of(page.problem)
