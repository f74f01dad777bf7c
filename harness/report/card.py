"""What reports/README.md shows of one report: a sentence, a number, verdicts and a picture."""

import re
from pathlib import Path

from pydantic import Field

from harness.analysis.claims import stands
from harness.analysis.scope import scope
from harness.evidence import record
from harness.evidence.record import Many, Record
from harness.ground import files
from harness.report.numbers import measured
from harness.report.page import Page
from harness.report.verdicts import by_verdict

NAME = "card.json"
"""The card's name in a report's folder; it is made with the worklog."""


class ReportCard(Record):
    """One report in short; texts are Markdown, ``verdicts`` counts claims by verdict.

    ``number`` is empty where the manifest has no card, and where its claim does not stand.
    """

    title: str
    gpus: Many[str]
    measured: str
    sentence: str = ""
    number: str = ""
    verdicts: dict[str, int] = Field(default_factory=dict)
    figure: str = ""


def write(page: Page, folder: Path) -> None:
    """Write the card of a rendered page into the report's folder."""
    run = page.provenance.run
    sentence, headline = _sentence(page)
    judged = scope(page.problem, page.results, run).judged
    card = ReportCard(
        title=page.problem.title,
        gpus=tuple(sorted({call.target.name for call in run.origins})),
        measured=(run.started or "")[:10],
        sentence=sentence,
        number=headline,
        verdicts=by_verdict(judged),
        figure=next(iter(page.figures), ""),
    )
    files.write_json(folder / NAME, card.as_json())


def read(folder: Path) -> ReportCard | None:
    """Return the card of a report's folder, None if an earlier harness rendered it without."""
    path = folder / NAME
    return record.read(ReportCard, path) if path.is_file() else None


def _sentence(page: Page) -> tuple[str, str]:
    """Return the card's sentence and its number, while its claim stands, tested or described.

    Otherwise the summary's first sentence, and no number.
    """
    card = page.problem.card
    result = next((each for each in page.results if card and each.claim.id == card.claim), None)
    if card is None or result is None or not stands(result):
        return re.split(r"(?<=[.?!])\s", page.problem.summary.strip(), maxsplit=1)[0], ""
    untested = " (described)" if result.verdict == "described" else ""
    return card.sentence.strip(), f"{measured(result.measured)} {card.number}{untested}"
