"""The page of a short run, or of a CPU: what it is of, and the claims judged."""

from dataclasses import replace

from harness.analysis.claims import ClaimResult
from harness.analysis.claims import advised as of_advice
from harness.analysis.measured import Measured
from harness.analysis.scope import scope
from harness.report.escape import Markdown, attribute, escape, prose, table
from harness.report.numbers import measured
from harness.report.page import Page
from harness.report.sections.advice import advice
from harness.report.sections.claims import stated
from harness.report.verdicts import promised, why

_STEADY = 10.0
"""Times the low end: a wider interval says nothing of the value."""


def asked(page: Page) -> Markdown:
    """Return the problem's summary and the kind of run that the page shows."""
    run = page.provenance.run
    on_cpu = run.target.device == "cpu"
    kind = "a short run" if run.is_short else "a run"
    place = " on a CPU, at small shapes" if on_cpu else ""
    decides = f"its {len(run.planned)} cells decide the headline claims" if run.is_short else ""
    judges = decides or "it judges the claims"
    needs = " that need no GPU" if on_cpu else ""
    lines = [f"This page is of {kind}{place}: {judges}{needs}."]
    if on_cpu:
        lines.append(
            "Those are about the code that runs and the memory that it allocates; times on a CPU"
            " say nothing of a GPU, so whether anything is slow is not judged here."
        )
    return Markdown(f"{prose(page.problem.summary)}\n\n{' '.join(lines)}")


def advised(page: Page) -> Markdown:
    """Return the table of the advice that the run was to judge, "" if there was none."""
    results = scope(page.problem, page.results, page.provenance.run).judged
    if not of_advice(results):
        return Markdown("")
    return advice(replace(page, results=list(results)))


def judged(page: Page) -> Markdown:
    """Return the table of the claims that the run was to judge."""
    results = scope(page.problem, page.results, page.provenance.run).judged
    head = ["statement", "measured", "bound", "verdict"]
    rows = [_row(page, result) for result in results]
    return table(head, rows, numeric_from=len(head), whole=True)


def _row(page: Page, result: ClaimResult) -> list[str]:
    claim, value = result.claim, result.measured
    mark = "**refuted**" if result.verdict == "refuted" else result.verdict
    reasons = filter(None, [why(page.problem, result), value.doubt])
    return [
        Markdown(f'<a id="{attribute(claim.id)}"></a>{stated(result)}'),
        _value(value),
        promised(result),
        Markdown(": ".join([mark, *map(escape, reasons)])),
    ]


def _value(value: Measured) -> str:
    """Return a value with its interval, "–" without one."""
    if value.value is None or value.low is None or value.high is None:
        return "–"
    steady = value.low == value.high or 0 < value.high <= _STEADY * value.low
    return measured(value) if steady else "not steady here"
