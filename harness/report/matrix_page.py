"""The index of a matrix of runs, as Markdown."""

from collections.abc import Sequence
from dataclasses import dataclass

from harness.report.escape import escape, table


@dataclass(frozen=True)
class Row:
    """One run: what it is of, how many of its cells ran well of how many, and its verdicts."""

    problem: str
    on: str
    software: str
    target: str
    cells: str
    verdicts: str
    run: str

    @property
    def words(self) -> list[str]:
        """Return the columns in their order."""
        names = (self.problem, self.on, self.software, self.target, self.cells, self.verdicts)
        return [*names, self.run]


HEAD = ("problem", "on", "software", "target", "cells", "verdicts", "run")


def page(rows: Sequence[Row]) -> str:
    """Return the page: a row a run."""
    lines = [[str(escape(word)) for word in row.words] for row in rows]
    return f"# Matrix\n\n{table(list(HEAD), lines, numeric_from=len(HEAD), whole=True)}\n"
