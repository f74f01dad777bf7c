"""The claims of a worklog: the line of verdicts that it begins with, and the table of all."""

from harness.analysis.claims import ClaimResult
from harness.analysis.scope import scope
from harness.report.escape import Markdown, escape, table
from harness.report.numbers import NOT_MEASURED, measured
from harness.report.page import Page
from harness.report.verdicts import limit, tally


def verdict_line(page: Page) -> Markdown:
    """Return the first line: the target, how many claims have each verdict, the day.

    Counted are the claims that the run was to judge; of an unfinished run it says so.
    """
    run = page.provenance.run
    judged = scope(page.problem, page.results, run).judged
    line = f"**On {page.target.name}: {tally(judged)}.** Measured {(run.started or '')[:10]}."
    if page.provenance.unfinished:
        line += " **Unfinished: {} of {} cells.**".format(*page.provenance.unfinished)
    return Markdown(line)


def claims(page: Page) -> Markdown:
    """Return the table of claims: id, statement, bound, measured value, verdict, source cells."""
    head = ["claim", "statement", "bound", "measured", "verdict", "from"]
    rows = [_row(result) for result in page.results]
    return table(head, rows, numeric_from=len(head))


def refuted(page: Page) -> list[ClaimResult]:
    """Return the claims that the evidence refutes."""
    return [result for result in page.results if result.verdict == "refuted"]


def _row(result: ClaimResult) -> list[str]:
    value = result.measured
    statement = result.claim.statement
    if result.verdict == "refuted" and result.claim.otherwise:
        statement = f"{statement} In truth {result.claim.otherwise.strip()}"
    mark: str = "**refuted**" if result.verdict == "refuted" else result.verdict
    if value.doubt:
        mark = f"{mark}: {escape(value.doubt)}"
    return [
        Markdown(f"`{result.claim.id}`"),
        statement,
        limit(result.claim.bound, value.unit),
        f"{NOT_MEASURED}: {value.why}" if value.value is None else measured(value),
        Markdown(mark),
        ", ".join(sorted({cell.rsplit(".", 1)[0] for cell in value.cells})) or "–",
    ]
