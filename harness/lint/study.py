"""The data of a review: the manifest with its lines, the templates, and the published reports."""

import itertools
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

from harness.problem import located_yaml
from harness.problem.located_yaml import Located, Place
from harness.problem.model import Bound, Problem
from harness.problem.names import MANIFEST

if TYPE_CHECKING:
    from harness.analysis.claims import ClaimResult


@dataclass(frozen=True)
class Remark:
    """One thing that a reviewer would ask to change: the rule, where, what, and what to do."""

    rule: str
    path: Path
    line: int
    what: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.rule}: {self.what} ({self.remedy})"


@dataclass(frozen=True)
class Judged:
    """Every claim as it is now, held against a report's evidence.

    ``began``: the bound of each claim when the run began, for each call of ``harness run``.
    """

    run: str
    results: list["ClaimResult"]
    began: list[dict[str, Bound]]


@dataclass(frozen=True)
class Study:
    """A problem and what it was published as.

    ``reports``: the folders of its reports; ``glossary``: the page of the harness's words.
    """

    problem: Problem
    said: Located
    reports: tuple[Path, ...] = ()
    glossary: str = ""

    @classmethod
    def read(cls, problem: Problem, reports: tuple[Path, ...] = (), glossary: str = "") -> Self:
        """Return the study of a problem; ManifestError if its manifest is not readable."""
        said = located_yaml.read(problem.folder / MANIFEST)
        return cls(problem, said, reports, glossary)

    @property
    def templates(self) -> list[Path]:
        """Return the templates of the worklog and its pages, and the parts that they include."""
        folder = self.problem.folder
        own = [path for pattern in ("*.j2", "pages/*.j2") for path in sorted(folder.glob(pattern))]
        return [path for path in own if path.is_file()]

    @cached_property
    def texts(self) -> dict[Path, str]:
        """Return the text of each template."""
        return {path: path.read_text(encoding="utf-8", errors="replace") for path in self.templates}

    @property
    def sections(self) -> str:
        """Return the code of the study's own sections, which templates ask for by name."""
        folder = self.problem.folder
        files = [folder / "sections.py", *sorted(folder.glob("sections/*.py"))]
        return "\n".join(path.read_text(encoding="utf-8") for path in files if path.is_file())

    @cached_property
    def judged(self) -> list[Judged]:
        """Return what each report says of the claims as they are now; each is read once."""
        from harness.analysis import claims
        from harness.analysis.metrics import Metrics
        from harness.extract import door

        judged = []
        for folder in self.reports:
            report = door.report(folder)
            run = report.origin.run
            metrics = Metrics(self.problem, report.tables, report.origin.gpus)
            results = claims.judge(self.problem, metrics, run.target.device)
            began = [
                {
                    name: Bound.model_validate(claim.bound)
                    for name, claim in (origin.claims or {}).items()
                }
                for origin in run.origins
            ]
            judged.append(Judged(run.id, results, began))
        return judged

    def remark(self, rule: str, where: Place, what: str, remedy: str) -> Remark:
        """Return a remark on a place of the manifest."""
        line, _ = self.said.mark(where)
        return Remark(rule, self.problem.folder / MANIFEST, line, what, remedy)

    def answers(self, remark: Remark) -> bool:
        """Return whether the manifest's comment above a remark's line gives a reason for it."""
        if remark.path.name != MANIFEST:
            return False
        above = remark.path.read_text(encoding="utf-8").splitlines()[: remark.line - 1]
        comments = itertools.takewhile(lambda line: line.lstrip().startswith("#"), above[::-1])
        return any(re.match(rf"\s*# {remark.rule}: \S", line) for line in comments)
