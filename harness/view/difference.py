"""What changed between the two subjects of a page, as rows that its script shows and selects by."""

from typing import Any

from harness.analysis.diff import compare
from harness.analysis.diff.gpu import GpuDiff, Row
from harness.evidence.subject import Subject
from harness.ground.errors import HarnessError
from harness.report import difference
from harness.report.step_difference import part_label


def between(a: Subject, b: Subject) -> dict[str, Any]:
    """Return the ``headline``, ``notes`` and the ``rows`` of a step's GPU time, by their change.

    A row has the part's label, times in ns a step and GPU, launches a step, how it changed, and the
    names of its operations in ``a`` and ``b``. There are none where the two cannot be compared: the
    headline says why.
    """
    try:
        change = compare.compare(a, b)
    except HarnessError as error:
        return {"headline": str(error), "notes": [], "rows": []}
    notes = [*(f"Not compared: {why}." for why in change.refused), *change.unlike]
    notes += [difference.compared(change.gpu)] if change.gpu else []
    return {
        "headline": difference.headline(change),
        "notes": notes,
        "rows": _rows(change.gpu) if change.gpu else [],
    }


def _rows(diff: GpuDiff) -> list[dict[str, Any]]:
    ranked = sorted(diff.rows, key=lambda row: -abs(diff.change_ns(row)))
    return [_row(row, diff) for row in ranked]


def _row(row: Row, diff: GpuDiff) -> dict[str, Any]:
    a_ns, b_ns = diff.a_step(row.a.total_ns, row.b.total_ns)
    launches = diff.a_step(row.a.count, row.b.count) if row.kind in ("kernel", "copy") else None
    return {
        "part": part_label(row),
        "change_ns": b_ns - a_ns,
        "A_ns": a_ns,
        "B_ns": b_ns,
        "launches A": launches and launches[0],
        "launches B": launches and launches[1],
        "is": row.change,
        "because": "; ".join(row.why) or None,
        "a": list(row.a.names),
        "b": list(row.b.names),
    }
