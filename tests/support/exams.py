"""A small zoo: programs on a simulated GPU as the captures of a problem."""

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from harness.evidence.tables import Tables
from harness.problem import manifest
from harness.problem.model import Problem
from harness.report import own_sections
from tests.support.manifests import written
from tests.support.paths import ROOT
from tests.support.programs import MS, US, Program
from tests.support.small_evidence import Row, samples
from tests.support.small_evidence import tables as evidence

ZOO = own_sections.load(ROOT / "problems" / "6-bottleneck-zoo")
"""The sections of problem 6, with its modules."""

TURNS = 30
CASES = {"waits": "host-sync", "copies": "pageable-copy", "mislabelled": "straggler"}
_CASE = "  {name}: {{label: {name}, params: {{finding: {finding}}}}}\n"
MANIFEST = """\
title: A zoo
summary: A zoo
environments:
  plain: {{}}
baseline: sick
variants:
  sick: {{label: sick, environment: plain}}
  healthy: {{label: healthy, environment: plain}}
cases:
{cases}captures:
  timing: {{}}
  nsys: {{}}
metrics:
  time: {{label: time, unit: ms, capture: timing, sample: wall_time}}
claims:
  - {{id: better, kind: advice, statement: Be well., metric: time, take: healthy, instead_of: sick,
     at: [waits, copies, mislabelled], holds_for: all}}
"""


def zoo(tmp_path: Path) -> Problem:
    """Return the problem: two cases whose bottleneck is as planted, and one where it is not."""
    cases = "".join(_CASE.format(name=name, finding=finding) for name, finding in CASES.items())
    return manifest.load(written(tmp_path, MANIFEST.format(cases=cases)))


def program(case: str, *, sick: bool) -> Program:
    """Run a case's program."""
    made = Program()
    for _ in range(TURNS):
        if case == "waits":
            made.launch(100 * US)
            if sick:
                made.synchronise()
            made.work(60 * US)
        else:
            made.copy(
                8 << 20, 2 * MS if sick else 200 * US, "Pageable" if sick else "Pinned", stream=8
            )
            made.launch(1 * MS)
    made.synchronise()
    return made


def captured(took: Mapping[tuple[str, str], float]) -> Tables:
    """Return the evidence of all cases; ``took``: ms a step by case and variant."""
    cells: list[Row] = []
    timed: list[Row] = []
    traced: dict[str, list[pl.DataFrame]] = {}
    for case in CASES:
        for variant in ("sick", "healthy"):
            timing, trace = (_cell(case, variant, capture) for capture in ("timing", "nsys"))
            cells += [timing, trace]
            timed += samples(timing, "wall_time", took[case, variant])
            for name, rows in program(case, sick=variant == "sick").tables().items():
                cell = pl.Series("cell", [trace["cell"]] * rows.height, pl.String)
                traced.setdefault(name, []).append(rows.insert_column(0, cell))
    made = {name: pl.concat(parts) for name, parts in traced.items()}
    return made | {
        name: table
        for name, table in evidence(cells=cells, samples=timed).items()
        if name in ("cells", "samples")
    }


def _cell(case: str, variant: str, capture: str) -> Row:
    name = f"{case}.{variant}.{capture}.r0"
    place = {"cell": name, "variant": variant, "case": case, "capture": capture}
    return place | {"round": 0, "status": "ok"}
