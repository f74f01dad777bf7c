"""What needs a device that the run had not, and what the study's report of a GPU shows of it."""

from collections.abc import Sequence

from harness.analysis.claims import ClaimResult
from harness.analysis.scope import scope
from harness.problem.plan import has_short_path
from harness.report import card, verdicts
from harness.report.escape import Markdown, code, escape, link, prose, table
from harness.report.page import Page
from harness.report.sections.claims import stated


def elsewhere(page: Page) -> Markdown:
    """Return the claims that need another device, "" if there are none.

    Where a report of a GPU stands beside a page of a CPU, its figure and its values of the headline
    claims come first. The list of the others marks those that the short path leaves out.
    """
    results = scope(page.problem, page.results, page.provenance.run).elsewhere
    shown = _shown(page.reference, results) if page.reference else []
    if shown:
        results = tuple(result for result in results if not result.claim.headline)
    return Markdown("\n\n".join(filter(None, [*shown, _list(page, results)])))


def left_out(page: Page) -> Markdown:
    """Return the list of the claims outside of the short path, "" if there are none."""
    results = scope(page.problem, page.results, page.provenance.run).left_out
    return _list(page, results, mark="")


def _list(page: Page, results: Sequence[ClaimResult], mark: str = " (full run)") -> Markdown:
    mark = mark if has_short_path(page.problem) else ""
    claims = [result.claim for result in results]
    return Markdown(
        "\n".join(
            f"- {code(claim.id)}{'' if claim.headline else mark}: {prose(claim.statement)}"
            for claim in claims
        )
    )


def _shown(there: Page, results: Sequence[ClaimResult]) -> list[Markdown]:
    """Return what a report of a GPU shows: its sentence, its figure, the headline claims."""
    folder = f"../{there.folder.name}"
    gpu = escape(there.target.name)
    blocks = [
        Markdown(
            f"Nothing in this section was measured here: it is what the report of an [{gpu}]"
            f"({link(f'{folder}/README.md')}) shows, of {escape(_day(there))}."
        )
    ]
    known = card.read(there.folder)
    if known and known.sentence:
        blocks.append(Markdown(f"{escape(known.sentence)} **{prose(known.number)}.**"))
    if known and known.figure:
        source = link(f"{folder}/figures/{known.figure}")
        blocks.append(Markdown(f"![{escape(known.title)}, {gpu}]({source})"))
    wanted = [result.claim.id for result in results if result.claim.headline]
    rows = [_row(each) for each in there.results if each.claim.id in wanted]
    if rows:
        head = ["claim", f"on {there.target.name}", "bound", "verdict there"]
        blocks.append(table(head, rows, numeric_from=len(head), whole=True))
    return blocks


def _row(result: ClaimResult) -> list[str]:
    return [
        Markdown(f"{code(result.claim.id)}: {stated(result)}"),
        verdicts.value(result),
        verdicts.promised(result),
        result.verdict,
    ]


def _day(page: Page) -> str:
    return (page.provenance.run.started or "an unknown day")[:10]
