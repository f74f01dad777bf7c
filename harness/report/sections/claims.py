"""The claims of a worklog: the line of verdicts that it begins with, and the table of all."""

from collections import Counter
from collections.abc import Sequence

from harness.analysis.claims import ClaimResult, calls_behind
from harness.analysis.scope import scope
from harness.analysis.units import counted
from harness.analysis.verdict import TESTED
from harness.problem import plan, state
from harness.problem.model import AnyClaim, Problem
from harness.report import verdicts
from harness.report.columns import DASH
from harness.report.escape import Markdown, attribute, code, escape, prose, table
from harness.report.escape import link as target
from harness.report.page import Page

_NOTATION = (
    "*± and brackets: the 99 % interval over processes{}, which decides. Parentheses: the least and"
    " the most that a process gave. To spare: how far the whole interval has to lie on the claimed"
    " side of the bound. [How they are made]({}).*"
)
_MAKES_KERNELS = ("torch", "triton")
"""Packages whose versions stand in the first line: they decide which kernels run."""


def verdict_line(page: Page) -> Markdown:
    """Return the first line: how the headline claims fared, all verdicts, the day, software.

    Counted are the claims that the run was to judge; without headline claims, all of them give the
    title. Of an unfinished run it says so, and of a run of other scripts than the problem has now.
    """
    judged = scope(page.problem, page.results, page.provenance.run).judged
    counts = verdicts.tally(verdicts.by_verdict(judged)) if judged else "no claims"
    title = f"{_title(page, judged)} on {escape(page.target.name)}"
    parts = [f"**{title}** ({counts})", *_software(page)]
    line = f"{', '.join(parts)}."
    if page.provenance.unfinished:
        ran, planned = page.provenance.unfinished
        every = len(plan.plan(page.problem, plan.Selected(), page.target.device))
        of_all = f", and the study has {every}" if every != planned else ""
        line += f" **Unfinished: {ran} of {planned} cells were run{of_all}.**"
    if page.changed:
        line += (
            f" **Stale: since this run {escape(state.in_words(page.changed))} changed. Numbers"
            " are from the run; the text describes today's scripts.**"
        )
    return Markdown(line)


def _title(page: Page, judged: Sequence[ClaimResult]) -> str:
    """Return in a few words how the headline claims fared; on a CPU, what was looked at at all.

    A study is about a GPU: without one nobody has seen whether its slowdown is there.
    """
    if page.target.device == "cpu":
        times = any(
            page.problem.metric(name).timed for each in judged for name, _, _ in each.claim.sides
        )
        what = "" if times else "structure and memory of "
        if not judged:
            return "Nothing checked here: it needs a GPU; run"
        return f"Checked here: {what}{counted(len(judged), 'claim')},"
    headlines = [result for result in judged if result.claim.headline] or judged
    return verdicts.title(verdicts.by_verdict(headlines))


def claims(page: Page) -> Markdown:
    """Return the table of claims: id, statement, bound, measured value, verdict, source cells.

    Those that decide the page's title are marked as headlines. Below it stands since which commit
    the bounds of tested claims stand as they do.
    """
    head = ["claim", "statement", "bound", "measured", "verdict", "from"]
    of = scope(page.problem, page.results, page.provenance.run)
    rows = [
        _row(page.problem, result, of.lacks if result in of.elsewhere else "")
        for result in page.results
    ]
    shown = table(head, rows, numeric_from=len(head), whole=True)
    notation = _NOTATION.format(_processes(page), page.in_checkout("docs/statistics.md"))
    return Markdown("\n\n".join(filter(None, [shown, notation, _since(page)])))


def _processes(page: Page) -> str:
    """Return how many processes measured each of the cells that were measured by several, or ""."""
    ran = page.tables["cells"].filter(status="ok").group_by("variant", "case", "capture").len()
    several = [count for count in ran["len"] if count > 1]
    if not several:
        return ""
    ends = sorted({min(several), max(several)})
    return f" ({' to '.join(map(str, ends))} a cell)"


def _since(page: Page) -> str:
    """Return since which commits the tested claims stand, and how many an earlier run had met.

    "" where no run recorded it.
    """
    tested = [result.claim for result in page.results if result.verdict in TESTED]
    commits = Counter(since for claim in tested if (since := _stands_since(page, claim)))
    if not commits:
        return ""
    oldest = sorted(commits, key=lambda commit: commit.split()[::-1])
    counts = ", ".join(f"{commits[commit]} since {escape(commit)}" for commit in oldest)
    met = sum(bool(page.provenance.met.get(claim.id)) for claim in tested)
    again = f" {met} of them an earlier run had met as well." if met else ""
    stand = "What tested claims compare, and their bounds, stand since before the run"
    return f"*{stand}: {counts}.{again}*"


def _stands_since(page: Page, claim: AnyClaim) -> str:
    """Return since when a claim stands, by the first call that measured for it; "" if none says."""
    measuring = calls_behind(page.problem, claim, page.metrics, page.provenance.run)
    begun = next((call.claims for call in measuring if call.claims), {})
    return begun[claim.id].since or "the run" if claim.id in begun else ""


def link(page: Page, result: ClaimResult, *, begins: bool = False) -> Markdown:
    """Return a claim's verdict, linked to its row in the worklog's table of claims.

    ``begins``: with a capital, as the first word of a sentence.
    """
    word = result.verdict.capitalize() if begins else result.verdict
    return Markdown(f"[{word}]({_place(page, result)})")


def named(page: Page, result: ClaimResult) -> Markdown:
    """Return a claim's id, linked to its row in the worklog's table of claims."""
    return Markdown(f"[{code(result.claim.id)}]({_place(page, result)})")


def _place(page: Page, result: ClaimResult) -> str:
    return target(f"{page.root}README.md" if page.root else "", result.claim.id)


def stated(result: ClaimResult) -> Markdown:
    """Return a claim's statement, with what is true instead where it is refuted."""
    claim = result.claim
    if result.verdict == "refuted" and claim.otherwise:
        return Markdown(f"{prose(claim.statement)} In truth: {prose(claim.otherwise)}")
    return prose(claim.statement)


def _stated(result: ClaimResult) -> Markdown:
    """Return a claim's statement, with the words that the run began with where they differ."""
    if not result.worded or result.verdict not in TESTED:
        return stated(result)
    return Markdown(f"{stated(result)} *When the run began:* {escape(result.worded)}")


def _row(problem: Problem, result: ClaimResult, lacks: str) -> list[str]:
    """Return a claim's row; ``lacks``: what the target is not, so that nothing can judge it."""
    value, claim = result.measured, result.claim
    mark: str = "**refuted**" if result.verdict == "refuted" else result.verdict
    reasons = [lacks] if lacks else [verdicts.why(problem, result), value.doubt]
    name = f'<a id="{attribute(claim.id)}"></a>{code(claim.id)}'
    return [
        Markdown(f"{name} (headline)" if claim.headline else name),
        _stated(result),
        verdicts.promised(result),
        verdicts.value(result),
        Markdown(": ".join([mark, *filter(None, [escape("; ".join(filter(None, reasons)))])])),
        ", ".join(sorted({cell.rsplit(".", 1)[0] for cell in value.cells})) or DASH,
    ]


def _software(page: Page) -> list[str]:
    """Return the day of a run, and the versions that its cells imported of what makes kernels."""
    run = page.provenance.run
    parts = [run.started[:10]] if run.started else []
    for name in _MAKES_KERNELS:
        versions = {cell.packages[name] for cell in page.provenance.cells if name in cell.packages}
        parts += [f"{name} {' and '.join(sorted(versions))}"] if versions else []
    driver = page.target.gpu.driver if page.target.gpu else None
    return [escape(part) for part in [*parts, *([f"driver {driver}"] if driver else [])]]
