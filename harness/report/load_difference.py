"""The difference of two loads on a serving engine, as a sentence and sections."""

from harness.analysis.diff.load import Both, LoadDiff
from harness.report.columns import NOT_MEASURED
from harness.report.numbers import number
from harness.report.section_text import Section
from harness.report.signs import signed


def headline(diff: LoadDiff) -> str:
    """Return by how much a mean request is longer or shorter, and which phase changed most."""
    a, b = diff.whole
    if a is None or b is None:
        return "Requests ended in one of the two loads at most."
    changes = {name: _change(both) for name, both in diff.phases.items()}
    most = max(changes, key=lambda name: abs(changes[name]), default="")
    told = f"A request takes {number(b)} ms end to end, {signed(b - a)} ms"
    if not changes.get(most):
        return f"{told}."
    return f"{told}; {most} changed most, by {signed(changes[most])} ms."


def sections(diff: LoadDiff) -> list[Section]:
    """Return the phases of a mean request, which sum up, and then the measures."""
    rows = [[name, *_cells(both)] for name, both in diff.phases.items()]
    rows.append(["end to end", *_cells(diff.whole)])
    lines = [f"Requests that ended: {diff.requests[0]:,} in A, {diff.requests[1]:,} in B."]
    if any(diff.preempted):
        a, b, by = _cells(diff.preempted)
        lines.append(f"Of it preempted: {a} ms in A, {b} ms in B ({by}).")
    measures = [[name, *_cells(both)] for name, both in diff.measures.items()]
    return [
        Section("A mean request", ["ms", "A", "B", "change"], rows, lines, headline(diff)),
        Section("Latencies and rates", ["measure", "A", "B", "change"], measures),
    ]


def _cells(both: Both) -> list[str]:
    a, b = (NOT_MEASURED if value is None else number(value) for value in both)
    return [a, b, "" if None in both else signed(_change(both))]


def _change(both: Both) -> float:
    """Return B less A, where what a side lacks took no time."""
    a, b = both
    return (b or 0.0) - (a or 0.0)
