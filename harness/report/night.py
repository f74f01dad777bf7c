"""The page of a night: how each study fared on each cluster, what got worse, and what failed."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from harness.analysis.regression import COUNTED, Change, Since
from harness.report import verdicts
from harness.report.check_results import by_factor
from harness.report.columns import DASH
from harness.report.escape import Markdown, code, escape, link, table
from harness.report.numbers import in_cell


@dataclass(frozen=True)
class Fared:
    """How a study fared on a cluster.

    ``counts``: its tested claims by verdict, None without evidence, which lies below the page in
    ``folder``; ``since``: what changed since ``against``; ``failures``: a line for each cell or job
    that failed, with its log; ``lacking``: what the study needs and the cluster lacks.
    """

    study: str
    cluster: str
    counts: Mapping[str, int] | None = None
    since: Since | None = None
    against: str = ""
    failures: tuple[str, ...] = ()
    lacking: str = ""

    @property
    def folder(self) -> str:
        """Return the folder of its evidence and its worklog, below that of the page."""
        return f"{self.cluster}/{self.study}"

    @property
    def is_worse(self) -> bool:
        """Return whether a metric got worse or a claim is newly refuted."""
        return self.since is not None and bool(self.since.worse or self.since.refuted)

    def in_words(self) -> str:
        """Return the verdicts, what changed, and how much failed."""
        if self.lacking:
            return "not run"
        parts = [verdicts.tally(self.counts)] if self.counts is not None else []
        if self.since:
            outcomes = Counter(map(_outcome, self.since.changes))
            counts = ", ".join(
                f"{outcomes[name]} {name}" for name in ("worse", "better", "doubtful")
            )
            parts.append(f"{counts} of {outcomes.total()} metrics")
            if self.since.refuted:
                parts.append(f"{len(self.since.refuted)} newly refuted")
        elif self.counts is not None:
            parts.append("nothing to compare with")
        if self.failures:
            parts.append(f"{len(self.failures)} failed")
        return "; ".join(parts)


def _outcome(change: Change) -> str:
    """Return a change's outcome, or that it is doubtful: what was measured cannot tell."""
    is_doubtful = change.outcome == "not told apart" and change.why not in ("", COUNTED)
    return "doubtful" if is_doubtful else change.outcome


def page(name: str, gpus: Mapping[str, str], fared: Sequence[Fared], waiting: int) -> str:
    """Return the page of the night ``name``.

    ``gpus``: the GPU of each cluster; ``waiting``: how many studies have not ended on a cluster.
    """
    worse = [each for each in fared if each.is_worse]
    failed = [each for each in fared if each.failures]
    summary = [f"{len(worse)} of {len(fared)} got worse", f"{len(failed)} failed"]
    if waiting:
        summary.append(f"{waiting} still run or wait")
    parts = [f"# Night {escape(name)}", f"**{'; '.join(summary)}.**", _grid(gpus, fared)]
    head = ["metric", "cell", "before", "now", "now over before", "since"]
    parts += _part("Worse", head, [row for each in worse for row in _worse(each)])
    head = ["claim", "before", "now", "bound", "since"]
    parts += _part("Newly refuted", head, [row for each in worse for row in _refuted(each)])
    lines = [[*_names(each), escape(line)] for each in failed for line in each.failures]
    parts += _part("Failed", ["what, and its log"], lines)
    lines = [[*_names(each), escape(each.lacking)] for each in fared if each.lacking]
    parts += _part("Not run", ["why"], lines)
    return "\n\n".join(parts) + "\n"


def _part(title: str, further: list[str], rows: list[list[str]]) -> list[str]:
    head = ["study", "cluster", *further]
    return [f"## {title}", table(head, rows, len(head), whole=True)] if rows else []


def _names(fared: Fared) -> list[str]:
    return [fared.study, fared.cluster]


def _grid(gpus: Mapping[str, str], fared: Sequence[Fared]) -> str:
    """Return the table of studies by clusters."""
    cells = {(each.study, each.cluster): _cell(each) for each in fared}
    head = ["study", *(f"{cluster}: {gpu}" for cluster, gpu in gpus.items())]
    studies = sorted({each.study for each in fared})
    rows = [[study, *(cells.get((study, each), DASH) for each in gpus)] for study in studies]
    return table(head, rows, len(head), whole=True)


def _cell(fared: Fared) -> Markdown:
    said = escape(fared.in_words())
    said = Markdown(f"**{said}**") if fared.is_worse or fared.failures else said
    return said if fared.counts is None else Markdown(f"[{said}]({link(fared.folder)}/README.md)")


def _worse(fared: Fared) -> Iterator[list[str]]:
    """Yield a row for each metric that got worse."""
    for change in fared.since.worse if fared.since else ():
        place = code(f"{change.case}.{change.variant}")
        values = (in_cell(change.then), in_cell(change.now), by_factor(change) or DASH)
        yield [*_names(fared), code(change.metric), place, *values, code(fared.against)]


def _refuted(fared: Fared) -> Iterator[list[str]]:
    """Yield a row for each claim that is newly refuted."""
    for now, then in fared.since.refuted if fared.since else ():
        values = (verdicts.value(then), verdicts.value(now), verdicts.promised(now))
        yield [*_names(fared), code(now.claim.id), *values, code(fared.against)]
