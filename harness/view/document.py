"""What the page of one or more subjects shows, as one document for its script."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.analysis.diff import compare
from harness.analysis.diff.gpu import DiffRow, GpuDiff
from harness.analysis.roofline import Roofline
from harness.evidence.capture import Capture
from harness.evidence.subject import Subject
from harness.ground.errors import HarnessError
from harness.report import difference
from harness.report.step_difference import part_label
from harness.view import lanes, panel, policy, roofline_plot
from harness.view.panel import Panel

_SCRIPTS = (
    *("elements", "view", "lanes", "drawing", "timeline", "table"),
    *("panel", "difference", "main"),
)
"""The files of the page's script, in the order in which they define what the next ones use."""
_COLOURS = (
    *("#d9822b", "#c9b458", "#b84a42", "#b0577d", "#8a6bbe"),
    *("#4c5c96", "#8a6242", "#6aaee0", "#c3c9cf", "#8c959f"),
)
"""The colours of the causes of idle time, in the order of the legend."""


def is_page(head: bytes) -> bool:
    """Return whether a file that begins so is a page of :func:`of_panels`."""
    return head.startswith(b"<!doctype html>") and b'http-equiv="Content-Security-Policy"' in head


def page(subjects: Sequence[Subject], captured_by: Capture | None = None) -> str:
    """Return a page of the subjects, whose CUDA graphs one trace captured: :func:`of_panels`."""
    return of_panels([panel.of(subject, captured_by) for subject in subjects])


def of_panels(
    panels: Sequence[Panel], pages: Mapping[str, str] | None = None, back: str = ""
) -> str:
    """Return a page of panels, one under the other: HTML that needs no other file.

    Between two of them stands what changed. ``pages`` are where findings are explained, by id, and
    ``back`` the page that lists this one: relative addresses of a site that holds it.
    """
    import jinja2

    sheet = style("viewer") + style("roofline")
    script = "\n".join(_file(f"{name}.js") for name in _SCRIPTS)
    subjects = [each.subject for each in panels]
    document = {
        "causes": {
            cause: {"text": text, "colour": colour}
            for (cause, text), colour in zip(lanes.CAUSES.items(), _COLOURS, strict=True)
        },
        "panels": [
            {"label": label, **each.shown, "roofline": _points(each.roofline, place)}
            for place, (label, each) in enumerate(zip(_labels(subjects), panels, strict=True))
        ],
        "difference": _difference(*subjects) if len(subjects) == 2 else None,
        "pages": dict(pages or {}),
    }
    return (
        jinja2.Environment(autoescape=True)
        .from_string(_file("page.html.j2"))
        .render(
            title=" and ".join(_names(subjects)),
            place=_place(subjects),
            back=back,
            policy=policy.of(f"<style>{sheet}</style><script>{script}</script>", img="data:"),
            style=sheet,
            script=script,
            rooflines=[roofline_plot.svg(each.roofline) for each in panels],
            data=_script_safe(document),
        )
    )


def style(name: str) -> str:
    """Return a style sheet of the page."""
    return _file(f"{name}.css")


def _file(name: str) -> str:
    return (Path(__file__).parent / "page" / name).read_text(encoding="utf-8")


def _place(subjects: Sequence[Subject]) -> str:
    """Return the folder that all subjects are cells of, "" if they have none in common."""
    folders = {subject.label.rpartition(":")[0] for subject in subjects}
    return folders.pop() if len(folders) == 1 else ""


def _names(subjects: Sequence[Subject]) -> list[str]:
    """Return the subjects' labels, without the folder that they share."""
    shared = _place(subjects)
    return [subject.label.removeprefix(f"{shared}:" if shared else "") for subject in subjects]


def _labels(subjects: Sequence[Subject]) -> list[str]:
    """Return the subjects' labels; those of two begin with A and B, as their difference does."""
    labels = _names(subjects)
    if len(labels) != 2:
        return labels
    return [f"{side}: {label}" for side, label in zip("AB", labels, strict=True)]


def _points(model: Roofline, place: int) -> dict[str, Any]:
    """Return the figure of a panel, each kernel's place in it, and why the others have none."""
    return {
        "figure": f"roofline-{place}",
        "points": {point.name: number for number, point in enumerate(model.points)},
        "said": {point.name: roofline_plot.said(point, model) for point in model.points},
        "missing": model.missing,
    }


def _difference(a: Subject, b: Subject) -> dict[str, Any]:
    """Return the ``headline``, ``notes`` and the ``rows`` of a step's GPU time, by their change.

    A row has the part's label, times in ns per step and GPU, launches per step, how it changed, and
    the names of its operations in ``a`` and ``b``. There are none where the two cannot be compared:
    the headline says why.
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


def _row(row: DiffRow, diff: GpuDiff) -> dict[str, Any]:
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


def _script_safe(document: dict[str, Any]) -> str:
    """Return JSON that ends no script element, whatever texts it holds (HTML, "script data")."""
    return json.dumps(document, allow_nan=False).replace("<", "\\u003c")
