"""reports/README.md: a card of every study, with its reports by GPU."""

from collections.abc import Mapping
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from harness.evidence import calls, provenance
from harness.evidence.provenance import EvidenceProvenance
from harness.ground import files
from harness.ground.errors import HarnessError
from harness.problem import manifest, state
from harness.problem.model import Problem
from harness.problem.names import MANIFEST
from harness.report import card
from harness.report.escape import attribute, escape, link, prose
from harness.report.verdicts import tally

PARTIAL = ".partial"
"""Ends the folder's name of a report that holds less than the one it would have replaced."""

_HEAD = (
    "# Worklogs\n\n"
    "One card per study. `harness run` made each report on the GPU that its card names, and"
    " `harness check` judged its claims. *Described* is what was measured and not tested: the claim"
    " or its bound is newer than the run, or a time comes from fewer than three processes."
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
        if (problems / name / MANIFEST).is_file():
            try:
                studies[name] = manifest.load(problems / name)
            except HarnessError as error:
                errors.append(error)
    return [*errors, *write(folder, studies)]


def write(folder: Path, studies: Mapping[str, Problem]) -> list[HarnessError]:
    """Write a card of each study: one report in full, those of other GPUs as links.

    In full is the newest of those that are neither stale nor unfinished, if there is one.

    Reports made on a CPU are not committed and stay out. ``studies`` are the problems by their
    folders' names; of one that is not there nobody knows whether it changed after a report's run.
    Return the errors of the reports that cannot be read, which stay out as well.
    """
    named = {report: report.relative_to(folder).as_posix() for report in reports(folder)}
    shown, errors = cards(named, studies, with_cpu=False)
    files.write_text(folder / "README.md", "\n\n".join([_HEAD, *shown]) + "\n")
    return errors


def cards(
    named: Mapping[Path, str], studies: Mapping[str, Problem], *, with_cpu: bool
) -> tuple[list[str], list[HarnessError]]:
    """Return the cards of reports, a study each, and errors of reports that cannot be read.

    ``named``: reports' folders, those of a study one after another, with the paths that lead there.
    """
    shown: list[str] = []
    errors: list[HarnessError] = []
    for name, group in groupby(named, key=lambda report: report.parent.name):
        made: list[_Report] = []
        for report in group:
            try:
                read = _read(report, named[report], studies.get(name))
            except HarnessError as error:
                errors.append(error)
            else:
                made += [read] if read and (with_cpu or read.device != "cpu") else []
        if made:
            made.sort(key=_Report.standing, reverse=True)
            shown.append(_card(made))
    return shown, errors


class _Report(NamedTuple):
    """A report: its card, the path that leads to its folder, its device, what is amiss with it."""

    card: card.ReportCard
    place: str
    device: str
    amiss: list[str]

    def page(self) -> str:
        """Return the link to its worklog."""
        return link(f"{self.place}/README.md")

    def gpus(self) -> str:
        """Return the names of what it was made on."""
        return ", ".join(map(escape, self.card.gpus))

    def standing(self) -> tuple[bool, bool, str]:
        """Return what sorts reports: a GPU's above a CPU's, those in order, then the newest."""
        return self.device != "cpu", not self.amiss, self.card.measured

    def facts(self) -> str:
        """Return verdicts, day and what is amiss."""
        return " · ".join([tally(self.card.verdicts), escape(self.card.measured), *self.amiss])


def _read(report: Path, place: str, study: Problem | None) -> _Report | None:
    """Return a report; None if an earlier harness rendered it without a card."""
    shown = card.read(report)
    if shown is None:
        return None
    origin = provenance.load(report / "evidence")
    amiss = []
    if changed := _changed(study, origin):
        amiss.append(f"**stale: since this run {escape(changed)} changed**")
    if origin.unfinished:
        amiss.append("**unfinished: {} of {} cells were run**".format(*origin.unfinished))
    return _Report(shown, place, origin.run.target.device, amiss)


def _changed(study: Problem | None, origin: EvidenceProvenance) -> str:
    """Return in words which parts of a study changed since a run, "" for none."""
    parts = state.changed_since(study, calls.of_evidence(origin)) if study else []
    return state.in_words(parts) if parts else ""


def _card(made: list[_Report]) -> str:
    """Return a study's card, from the report that stands best on."""
    newest, *others = made
    shown, page = newest.card, newest.page()
    parts = [f"## [{escape(shown.title)}]({page})"]
    number = f"**{prose(shown.number)}.**" if shown.number else ""
    parts.append(f"{escape(shown.sentence)} {number}".strip())
    if shown.figure:
        source = attribute(link(f"{newest.place}/figures/{shown.figure}"))
        picture = f'<img src="{source}" alt="{attribute(shown.title)}">'
        parts.append(f'<a href="{attribute(page)}">{picture}</a>')
    parts.append(f"{newest.gpus()} · {newest.facts()}")
    parts += [f"Also on [{other.gpus()}]({other.page()}) · {other.facts()}" for other in others]
    if sum(each.device != "cpu" for each in made) > 1:
        every = link(f"{newest.place.rpartition('/')[0]}/README.md")
        parts.append(f"[GPU by GPU]({every})")
    return "\n\n".join(parts)
