"""What a page shows of one subject: its timeline, findings, tables and counters."""

from base64 import b64encode
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

from harness.analysis import roofline, summary
from harness.analysis.audit import placed_ops
from harness.analysis.diagnose import conclude
from harness.analysis.diagnose.finding import Finding
from harness.analysis.kernels import short_name
from harness.analysis.roofline import Roofline
from harness.evidence.capture import Capture
from harness.evidence.kinds import by_cost
from harness.evidence.section import PART
from harness.evidence.subject import Subject
from harness.ground.errors import UsageError
from harness.report import finding_text
from harness.report.sections import memory_timeline
from harness.view import lanes, packing
from harness.view.lanes import Timeline

MOST_EVENTS = 2_000_000
"""Events of a page; 275 000 of a repetitive export take 1.2 MB, and 40 bytes each in a browser."""

_FINDINGS = 5
_TABLES = {
    "batches": "Steps by batch",
    "layer": "One layer: mean of all, ms",
    "kernels": "Kernels",
    "by_kernel": "Kernels by hardware counters",
    "operators": "Operators",
    "calls": "CUDA calls",
    "idle": "Idle time by what the host did",
    "copies": "Copies",
    "pools": "Memory by pool",
    "sites": "Memory by stack",
}
"""Lists of a summary that the page shows as tables, and their captions."""
_NOT_SHOWN = frozenset({"cell", "stack"})
_NO_BYTES = {"pools": frozenset({"pool", "segments", "reserved_bytes", "allocated_bytes"})}
_NO_ROWS = pl.DataFrame()


@dataclass(frozen=True)
class Panel:
    """A subject as a page shows it: ``shown`` is what the page's script reads.

    ``summaries``: of each of its captures, by kind.
    """

    subject: Subject
    summaries: dict[str, dict[str, Any]]
    shown: dict[str, Any]
    roofline: Roofline


def of(subject: Subject, captured_by: Capture | None = None) -> Panel:
    """Return a subject's panel; UsageError for more events than a browser holds.

    ``captured_by``: the trace in which its CUDA graphs were captured.
    """
    summaries = {kind: _summary(each, captured_by) for kind, each in subject.captures.items()}
    shown = _shown(subject, summaries, captured_by)
    return Panel(subject, summaries, shown, roofline.of_subject(subject))


def _shown(
    subject: Subject, summaries: dict[str, dict[str, Any]], captured_by: Capture | None
) -> dict[str, Any]:
    captures = subject.captures
    drawn = next((kind.name for kind in by_cost() if _has_operations(captures.get(kind.name))), "")
    told = {
        kind: told_of
        for kind, told_of in summaries.items()
        if kind == drawn or not _has_operations(captures[kind])
    }
    rows = [row for told_of in told.values() for row in told_of.get("kernels", [])]
    timeline = _timeline(captures[drawn], captured_by) if drawn else None
    return {
        "short": {row["name"]: short_name(row["name"]) for row in rows},
        "conditions": captures[drawn].conditions if drawn else {},
        "left_out": list(_left_out(captures.values(), timeline)),
        **_diagnosis(list(captures.values())),
        "timeline": timeline and _packed(timeline),
        "memory": next(filter(None, map(_memory, captures.values())), None),
        "tables": {
            caption: [_row(row, bytes_but=_NO_BYTES.get(name)) for row in told_of[name]]
            for told_of in told.values()
            for name, caption in _TABLES.items()
            if told_of.get(name) and not (name == "kernels" and "by_kernel" in told_of)
        },
        "counters": {
            row["name"]: _row(row)
            for told_of in told.values()
            for row in told_of.get("by_kernel", [])
        },
    }


def _summary(capture: Capture, captured_by: Capture | None) -> dict[str, Any]:
    """Return a capture's summary; ``layer``: the parts of one of its layers."""
    told = summary.by_kind(capture, captured_by)
    layers = told.get("layers")
    return told | {"layer": layers["parts"] if layers else []}


def _memory(capture: Capture) -> str | None:
    """Return the figure of the allocator's history, as the URL of an SVG."""
    if "memory_timeline" not in capture.tables:
        return None
    figure = memory_timeline.draw_capture(capture.tables)
    return figure and f"data:image/svg+xml;base64,{b64encode(figure.encode()).decode()}"


def _has_operations(capture: Capture | None) -> bool:
    return capture is not None and bool(capture.tables.get("gpu_ops", _NO_ROWS).height)


def _row(row: dict[str, Any], bytes_but: frozenset[str] | None = None) -> dict[str, Any]:
    """Return the parts of a summary's row that a table can show.

    With ``bytes_but``, all columns but these are bytes, and their names say so.
    """
    return {
        f"{name} bytes" if bytes_but and name not in bytes_but else name: value
        for name, value in row.items()
        if name not in _NOT_SHOWN and not isinstance(value, list | tuple | dict)
    }


def _diagnosis(captures: list[Capture]) -> dict[str, Any]:
    """Return the findings that matter, and in ``step`` of what time their shares are."""
    diagnosis = conclude.diagnose(captures)
    shown, _ = finding_text.mattering(diagnosis, _FINDINGS)
    findings = [
        {
            "id": finding.id,
            "title": finding.title,
            "cost": finding_text.costs(finding),
            "evidence": [*map(finding_text.number_of, finding_text.printed(finding))],
            "advice": [f"{name}: {'; '.join(texts)}" for name, texts in _advice(finding) if texts],
        }
        for finding in shown
    ]
    recording = diagnosis.recording
    lines = [recording.text, *(flaw.text for flaw in recording.flaws)] if recording else []
    return {"step": "\n".join(filter(None, lines)), "findings": findings}


def _advice(finding: Finding) -> tuple[tuple[str, tuple[str, ...]], ...]:
    where = f"{finding.where}, {short_name(finding.kernel)}" if finding.kernel else finding.where
    return ("where", (where,)), ("fix", finding.fix), ("next", finding.next)


def _left_out(captures: Iterable[Capture], timeline: Timeline | None) -> Iterator[str]:
    """Yield what the page does not show of the captures."""
    for capture in captures:
        if PART in capture.conditions:
            yield f"Shown: {capture.conditions[PART]}."
    if timeline and timeline.hidden:
        yield f"Not drawn: {timeline.hidden:,} events that begin while a dozen others last."


def _timeline(capture: Capture, captured_by: Capture | None) -> Timeline:
    captured = (captured_by or capture).tables.get("captured_launches", _NO_ROWS)
    belongings = placed_ops.belongings(capture.tables, captured)
    timeline = lanes.timeline(capture, belongings)
    if timeline.count > MOST_EVENTS:
        raise UsageError(
            f"{timeline.count:,} events, a page holds {MOST_EVENTS:,}",
            where=capture.label,
            remedy="record fewer steps",
        )
    return timeline


def _packed(timeline: Timeline) -> dict[str, Any]:
    causes = {
        cause for lane in timeline.lanes if lane.what == lanes.IDLE for cause in lane.events["kind"]
    }
    return packing.packed(timeline) | {"causes": sorted(causes)}
