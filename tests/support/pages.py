"""Pages made by hand: a problem and its evidence, on a target that has only a name."""

from collections.abc import Mapping
from html import unescape

from harness.analysis.metrics import Metrics
from harness.evidence.cell_record import GpuSummary
from harness.evidence.provenance import CellProvenance, EvidenceProvenance, Provenance, TargetRecord
from harness.evidence.tables import Tables
from harness.problem.model import Problem
from harness.report.page import Page
from tests.support.small_evidence import cell, samples
from tests.support.small_evidence import tables as evidence


def page(
    problem: Problem,
    tables: Tables,
    target: str = "a GPU",
    gpus: Mapping[str, str | None] | None = None,
) -> Page:
    """Return a page without claims; ``gpus``: the GPU that each cell ran on."""
    place = TargetRecord(name=target, slug="target", device="cuda")
    run = Provenance(version=1, id="now", problem=problem.folder.name, target=place)
    cells = tuple(cell_provenance(name, gpu) for name, gpu in (gpus or {}).items())
    provenance = EvidenceProvenance(run=run, cells=cells)
    return Page(problem, Metrics(problem, tables, gpus), [], provenance, tables)


def timed_page(problem: Problem, **times: float) -> Page:
    """Return a page on ``wall_time`` (ms) of each variant in case small, one sample a process."""
    cells = {name: [cell(name, number) for number in range(3)] for name in times}
    rows = [
        row
        for name, of in cells.items()
        for each in of
        for row in samples(each, "wall_time", times[name])
    ]
    return page(
        problem, evidence(cells=[each for of in cells.values() for each in of], samples=rows)
    )


def cell_provenance(name: str, gpu: str | None) -> CellProvenance:
    """Return the provenance of a cell that ran well, unwatched."""
    return CellProvenance(
        cell=name,
        status="ok",
        reason="",
        wall_s=1.0,
        started=0.0,
        seen=GpuSummary(samples=0),
        gpu=gpu,
    )


def rows_of(markdown: str) -> list[list[str]]:
    """Return the cells of a Markdown table as they are shown, its head first."""
    lines = [line for line in markdown.splitlines() if line.startswith("|")]
    head, _, *rows = (
        [unescape(cell.strip()) for cell in line.strip("|").split(" |")] for line in lines
    )
    return [head, *rows]
