"""Conclusions in a worklog's text: a sentence stands only while the claims that it rests on do."""

from collections.abc import Callable, Sequence

from harness.analysis.claims import BoundResult, ClaimResult, stands
from harness.analysis.verdict import TESTED
from harness.ground.errors import ManifestError
from harness.report import verdicts
from harness.report.escape import Markdown, escape, prose
from harness.report.numbers import measured
from harness.report.page import Page
from harness.report.sections.claims import link


def holds(page: Page, *ids: str) -> bool:
    """Return whether all claims with these ids are reproduced; ManifestError if one is unknown."""
    return all(result.verdict == "reproduced" for result in _named(page, ids))


def concludes(page: Page, *ids: str, caller: Callable[[], str]) -> Markdown:
    """Return a block's text if what was measured bears out all claims with these ids.

    Behind it stands which of them no run has tested. Where a claim is not borne out the
    block is not rendered, and what was measured for each claim that is not reproduced takes its
    place. Of a claim that was not measured the table of claims says so. ManifestError if an id is
    unknown.
    """
    results = _named(page, ids)
    if all(stands(result) for result in results):
        text = _with_note(caller(), _untested(page, results))
    else:
        judged = [each for each in results if each.verdict not in ("reproduced", "not measured")]
        text = " ".join(_instead(page, result) for result in judged)
    # The template engine drops the end of the line behind a block's end.
    return Markdown(text.removesuffix("\n") + "\n")


def verdict(page: Page, name: str) -> Markdown:
    """Return a claim's verdict and its bound, for a sentence that states the measured value.

    Such as "undecided, claimed ≥ 3.5×", with what leaves it undecided if the value does not show
    it; where nothing was measured, that alone. ManifestError if there is no such claim.
    """
    (result,) = _named(page, (name,))
    if result.verdict == "not measured":
        return link(page, result)
    return Markdown(f"{link(page, result)}, {escape(_claimed(result))}")


def _named(page: Page, ids: tuple[str, ...]) -> list[ClaimResult]:
    """Return the results of the claims with these ids."""
    by_id = {result.claim.id: result for result in page.results}
    for name in ids:
        if name not in by_id:
            raise ManifestError(
                f"a template's conclusion rests on claim {name!r}, and there is no such claim",
                where=page.problem.folder,
                remedy="name a claim of the manifest",
            )
    if not ids:
        raise ManifestError(
            "a template's conclusion names no claim",
            where=page.problem.folder,
            remedy="name the claims that it rests on",
        )
    return [by_id[name] for name in ids]


def _untested(page: Page, results: Sequence[ClaimResult]) -> str:
    """Return "([described](#gain))" of the claims that no run has tested; the claims say why."""
    links = [link(page, result) for result in results if result.verdict == "described"]
    return f"({', '.join(links)})" if links else ""


def _with_note(text: str, note: str) -> str:
    """Return text with a note in its last sentence, or below what is no sentence."""
    if not note:
        return text
    body = text.rstrip()
    last = body.rpartition("\n")[2]
    end = last[-1:]
    if end not in (".", ":", ")") or last.startswith(("|", "!", "```", "<")):
        return f"{body}\n\n{note}\n"
    return f"{body} {note}\n" if end == ")" else f"{body[:-1]} {note}{end}\n"


def _instead(page: Page, result: ClaimResult) -> str:
    """Return the sentence in place of a claim that is not reproduced: its value, and the reason.

    The claim's own sentence is not repeated: it would read as if it held.
    """
    value = measured(result.measured)
    details = [escape(verdicts.why(page.problem, result))]
    if result.verdict in TESTED and isinstance(result, BoundResult):
        details = [escape(_claimed(result))]
    if result.verdict == "refuted" and result.claim.otherwise:
        finding = _sentence(prose(result.claim.otherwise)).rstrip(".")
        return f"{finding} ({'; '.join([value, *details])})."
    finding = f"{escape(verdicts.finding(page.problem, result))}: {value}"
    return f"{link(page, result, begins=True)}: {finding} ({'; '.join(filter(None, details))})."


def _claimed(result: ClaimResult) -> str:
    """Return a claim's bound, with what leaves it undecided if its value does not show that."""
    bound = f"claimed {verdicts.limit(result.claim.bound, result.measured.unit)}"
    return "; ".join(filter(None, [bound, verdicts.hidden(result)]))


def _sentence(text: str) -> str:
    """Return text that starts with a capital and ends with a full stop."""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."
