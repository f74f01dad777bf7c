"""The data that the sections of one worklog read, and the figures that they draw."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from harness.analysis.claims import ClaimResult
from harness.analysis.metrics import Metrics
from harness.evidence import calls
from harness.evidence.provenance import EvidenceProvenance, TargetRecord
from harness.evidence.tables import Tables
from harness.ground import files
from harness.ground.errors import ManifestError
from harness.problem import state
from harness.problem.model import Problem
from harness.report.columns import NOT_MEASURED
from harness.report.escape import Markdown, escape, link, prose

_TO_CHECKOUT = "../../../"
"""From a report's folder to the checkout's root."""


@dataclass(frozen=True)
class Page:
    """The problem, its evidence and claims; ``figures`` maps file names to SVG text.

    ``folder`` is the report's, where its captures lie; ``root`` leads from the page to it.
    ``reference`` is the same study's page of a GPU, beside a page of a CPU.
    """

    problem: Problem
    metrics: Metrics
    results: list[ClaimResult]
    provenance: EvidenceProvenance
    tables: Tables
    folder: Path = Path()
    figures: dict[str, str] = field(default_factory=dict)
    root: str = ""
    reference: "Page | None" = None

    @property
    def target(self) -> TargetRecord:
        """Return the machine that the run was made on."""
        return self.provenance.run.target

    @cached_property
    def changed(self) -> list[str]:
        """Return the parts of the problem that changed since the run, as far as it recorded them.

        A page with any is stale.
        """
        return state.changed_since(self.problem, calls.of_evidence(self.provenance))

    def in_checkout(self, path: str, fragment: str = "") -> str:
        """Return the target of a link to a file of the checkout."""
        return f"{self.root}{_TO_CHECKOUT}{link(path, fragment)}"

    def figure(self, name: str, alt: str, svg: str | None, caption: str) -> Markdown:
        """Keep a figure as ``name``.svg and return the Markdown that shows it above its caption.

        Without ``svg`` return a line that says that ``alt`` was not measured. ManifestError where
        another figure of the worklog or its pages has that name, UsageError where no file can have
        it.
        """
        file = files.safe_name(f"{name}.svg")
        if svg is None:
            return not_measured(alt)
        if self.figures.setdefault(file, svg) != svg:
            raise ManifestError(
                f"two figures are called {name!r}",
                where=self.problem.folder,
                remedy="give each figure of the worklog and its pages a name of its own",
            )
        target = self.root + link(f"figures/{file}")
        return Markdown(f"![{escape(alt)}]({target})\n\n*{prose(caption)}*")


def not_measured(subject: str = "") -> Markdown:
    """Return the line that stands where a section has nothing to show."""
    text = f"{escape(subject)}: {NOT_MEASURED}" if subject else NOT_MEASURED.capitalize()
    return Markdown(f"*{text} on this target.*")
