"""reports/README.md: a card of every report, by problem and target."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from harness.evidence import provenance
from harness.evidence.provenance import EvidenceProvenance
from harness.ground import files
from harness.ground.errors import HarnessError
from harness.problem import manifest, state
from harness.problem.model import Problem
from harness.report import card
from harness.report.escape import attribute, escape, link, prose
from harness.report.verdicts import tally

PARTIAL = ".partial"
"""Ends the folder's name of a report that holds less than the one it would have replaced."""

_HEAD = (
    "# Worklogs\n\n"
    "One card a study. `harness run` made each report on the GPU that its card names, and"
    " `harness check` judged its claims."
)


def reports(folder: Path) -> list[Path]:
    """Return each report's folder, by problem and target; partial and unfinished ones stay out."""
    folders = (
        path.parent.parent for path in folder.glob(f"[!.]*/[!.]*/evidence/{provenance.FILE}")
    )
    return sorted(
        (
            report
            for report in folders
            if not report.name.startswith(".") and not report.name.endswith(PARTIAL)
        ),
        key=_in_order,
    )


def _in_order(report: Path) -> tuple[int, Path]:
    """Return what sorts reports by their study's number: 2 before 10."""
    number = report.parent.name.partition("-")[0]
    return int(number) if number.isdecimal() else 0, report


def renew(folder: Path, problems: Path) -> list[HarnessError]:
    """Write the index from the reports in ``folder`` and the case studies in ``problems``.

    Return the errors of the manifests and reports that could not be read.
    """
    studies: dict[str, Problem] = {}
    errors: list[HarnessError] = []
    for name in sorted({report.parent.name for report in reports(folder)}):
        if (problems / name / manifest.MANIFEST).is_file():
            try:
                studies[name] = manifest.load(problems / name)
            except HarnessError as error:
                errors.append(error)
    return [*errors, *write(folder, studies)]


def write(folder: Path, studies: Mapping[str, Problem]) -> list[HarnessError]:
    """Write a card of each report; those made on a CPU are not committed and stay out.

    ``studies`` are the problems by their folders' names; of one that is not there nobody knows
    whether it changed after a report's run. Return the errors of the reports that cannot be read,
    which stay out as well.
    """
    cards: list[str] = []
    errors: list[HarnessError] = []
    gpus = Counter(report.parent.name for report in reports(folder) if report.name != "cpu")
    for report in reports(folder):
        place = report.relative_to(folder).as_posix()
        try:
            shown = card_of(report, place)
            origin = provenance.load(report / "evidence") if shown else None
            if origin and origin.run.target.device != "cpu":
                if changed := _changed(studies.get(report.parent.name), origin):
                    shown += f" · **stale: since this run {escape(changed)} changed**"
                if origin.unfinished:
                    shown += " · **unfinished: {} of {} cells were run**".format(*origin.unfinished)
                several = gpus[report.parent.name] > 1
                page = link(f"{report.parent.name}/README.md")
                cards.append(f"{shown} · [GPU by GPU]({page})" if several else shown)
        except HarnessError as error:
            errors.append(error)
    files.write_text(folder / "README.md", "\n\n".join([_HEAD, *cards]) + "\n")
    return errors


def card_of(report: Path, place: str) -> str:
    """Return a report's card as Markdown, "" if an earlier harness rendered the report without.

    ``place`` leads to the report's folder. Raises HarnessError if the card is damaged.
    """
    shown = card.read(report)
    return _card(shown, place) if shown else ""


def _changed(study: Problem | None, origin: EvidenceProvenance) -> str:
    """Return in words which parts of a study changed since a run, "" for none."""
    parts = state.changed_since(study, origin.run.origins) if study else []
    return state.in_words(parts) if parts else ""


def _card(shown: card.ReportCard, place: str) -> str:
    page = link(f"{place}/README.md")
    parts = [f"## [{escape(shown.title)}]({page})"]
    if shown.sentence:
        parts.append(f"{escape(shown.sentence)} **{prose(shown.number)}.**")
    if shown.figure:
        source = attribute(link(f"{place}/figures/{shown.figure}"))
        picture = f'<img src="{source}" width="420" alt="{attribute(shown.title)}">'
        parts.append(f'<a href="{attribute(page)}">{picture}</a>')
    facts = [", ".join(map(escape, shown.gpus)), tally(shown.verdicts), escape(shown.measured)]
    parts.append(" · ".join(facts))
    return "\n\n".join(parts)
