"""The audit of a step, and what each fix of a ledger was predicted to save and saved."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from pydantic import ConfigDict

from harness.analysis.audit import conclude
from harness.analysis.audit import ledger as ledgers
from harness.analysis.audit.conclude import Audit
from harness.analysis.audit.rows import Row
from harness.evidence.capture import Capture
from harness.evidence.kinds import KINDS, filling
from harness.report import audit_text
from harness.report.arguments import CaseName, MetricName, VariantName
from harness.report.escape import Markdown, escape, table
from harness.report.numbers import number
from harness.report.page import Page, not_measured

_HEAD = ["DRAM", "tensor", "85 % saves", "what to do"]
_NONE = "–"


def audit(page: Page, variant: VariantName, case: CaseName, most: int = 12) -> Markdown:
    """Return the audit of a variant's step: its totals, and the rows that would save most."""
    conclusions = _audited(page, variant, case)
    if conclusions is None:
        return not_measured("Audit")
    lines = [*audit_text.sentences(conclusions), *conclusions.unsaid]
    said = "\n".join(f"- {escape(line)}" for line in lines)
    rows = audit_text.ranked(conclusions)
    head = ["kernel", audit_text.share_of(conclusions), *_HEAD]
    shown = table(head, [_row(row, conclusions) for row in rows[:most]])
    rest = sum(row.ms for row in rows[most:])
    left = f"\n\n*{len(rows) - most} more rows: {number(rest)} ms.*" if rest else ""
    return Markdown(f"{said}\n\n{shown}{left}")


def _audited(page: Page, variant: str, case: str) -> Audit | None:
    """Return the audit of all captures, None if none says what launched the GPU's work."""
    tables_of = {kind: page.metrics.capture_of(kind, variant, case) for kind in KINDS}
    captures = [
        Capture(f"{case}.{variant}", tables | {"ceilings": page.tables["ceilings"]}, {}, kind)
        for kind, tables in tables_of.items()
        if tables is not None
    ]
    traces = [each for each in captures if each.kind in filling("origins")]
    said = any(each.tables["gpu_ops"].height for each in traces)
    return conclude.audit(captures) if said else None


def _row(row: Row, audit_of: Audit) -> list[str]:
    whole = audit_of.shared_ms
    saved = _NONE
    if row.savings:
        saved = f"{100 * row.savings[1].ms / whole:.2f} %"
        if row.half_width_ms is not None:
            width = row.half_width_ms * row.savings[1].ms / row.ms
            saved += f" ± {100 * width / whole:.2f} %"
    used = [_NONE if each is None else f"{100 * each:.0f} %" for each in _used(row)]
    name = f"{row.phase}: {audit_text.place(row)}, {audit_text.kernel(row)}"
    return [escape(name), f"{100 * row.ms / whole:.1f} %", *used, saved, escape(row.fix or _NONE)]


def _used(row: Row) -> tuple[float | None, float | None]:
    return row.dram_used, row.tensor_used


@dataclass(frozen=True)
class Savings:
    """What the rows of a ledger hold against each other; each variant against the one before it.

    ``metric`` is the time of a step, ``predicted`` the metric that holds the prediction.
    ``paired``: the metric of a step's time over that of a variant, measured in turns in one
    process, that variant, and the metric of mean power over the power limit, in %. Where two steps
    are at that limit, a saving is taken from these ratios.
    """

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid")

    metric: MetricName
    predicted: MetricName
    variants: Sequence[VariantName]
    paired: tuple[MetricName, VariantName, MetricName] | None = None

    def entries(self, page: Page, case: str, joined: Sequence[str]) -> tuple[ledgers.Entry, ...]:
        """Return the entry of each row."""
        ratio = ledgers.RatioMetrics(*self.paired) if self.paired else None
        of = self.metric, self.predicted, self.variants
        return ledgers.entries(page.metrics, case, *of, ratio, joined)


def median_error(
    page: Page, case: CaseName, of: Savings, joined: Sequence[VariantName] = ()
) -> Markdown:
    """Return the median error of the predictions of ``ledger``, in %; "–" where none is known."""
    return Markdown(_median(of.entries(page, case, joined)) or _NONE)


def ledger(page: Page, case: CaseName, of: Savings, joined: Sequence[VariantName] = ()) -> Markdown:
    """Return a row a variant after the first: what it was predicted to save, and what it saved.

    A variant of ``joined`` shares the row of the variant after it. What was not measured has none.
    """
    entries = of.entries(page, case, joined)
    known = [entry for entry in entries if entry.saved is not None]
    if not known:
        return not_measured("Predicted and measured savings")
    unit = page.problem.metric(of.metric).unit
    rows = []
    for entry in known:
        values = [entry.predicted, entry.saved]
        shown = [_NONE if value is None else number(value) for value in values]
        if entry.half_width is not None:
            shown[1] += f" ± {number(entry.half_width, 2)}"
        error = _NONE if entry.error is None else _percent(entry.error)
        error += " (wrong sign)" * entry.wrong_sign
        labels = [page.problem.variants[name].label for name in entry.variants]
        rows.append([escape("; ".join(labels)), *shown, error])
    head = ["fix", f"predicted, {unit}", f"saved, {unit}", "error of the prediction"]
    said = [*_errors(known), _together(page, case, of, known)]
    if missing := len(entries) - len(known):
        said.append(f"{missing} of {len(entries)} fixes were not measured.")
    return Markdown(f"{table(head, rows, whole=True)}\n\n*{' '.join(said)}*")


def _errors(entries: Sequence[ledgers.Entry]) -> Iterator[str]:
    """Yield how far predictions are off: over all rows, and where the saving is not zero."""
    if middle := _median(entries):
        yield f"Median error of the predictions, over all rows: {middle}."
    bounded = [entry for entry in entries if entry.half_width is not None]
    differ = [entry for entry in bounded if entry.differs]
    if len(differ) < len(bounded):
        clear = f"{len(differ)} of {len(bounded)} savings differ from zero"
        yield f"{clear}; over these it is {_median(differ)}." if differ else f"{clear}."
    agreeing = [entry.agrees for entry in differ if entry.agrees is not None]
    if agreeing:
        these = "these" if len(agreeing) < len(entries) else f"{len(agreeing)}"
        yield f"{sum(agreeing)} of {these} lie within the interval of what was saved."
    if wrong := sum(entry.wrong_sign for entry in entries):
        yield f"{wrong} of {len(entries)} foresaw the wrong sign."


def _together(page: Page, case: str, of: Savings, entries: Sequence[ledgers.Entry]) -> str:
    """Return what all rows were predicted to save, and what the last step saves of the first."""
    unit = escape(page.problem.metric(of.metric).unit)
    expected = number(sum(entry.predicted or 0.0 for entry in entries))
    added = number(sum(entry.saved or 0.0 for entry in entries))
    whole = ledgers.shortened(page.metrics, case, of.metric, entries)
    if whole is None or number(whole) == added:
        return f"Together: {expected} {unit} predicted, {added} {unit} saved."
    rows = f"the rows' savings add up to {added} {unit}"
    step = f"the step got {number(whole)} {unit} shorter"
    return f"Together: {expected} {unit} predicted; {rows}; {step}."


def _median(entries: Sequence[ledgers.Entry]) -> str:
    """Return the median error of predictions as a page shows it, empty where none is known."""
    middle = ledgers.median_error(entries)
    return "" if middle is None else _percent(middle)


def _percent(error: float) -> str:
    return "∞" if math.isinf(error) else f"{100 * error:.0f} %"
