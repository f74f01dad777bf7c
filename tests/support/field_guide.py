"""Made-up evidence of problem 6: every twin takes half the time, and every capture holds something.

What the captures hold is the same for all specimens of a profiler, so that pages can be rendered;
what a page says of it is not what the specimen shows on a GPU.
"""

from functools import cache

import polars as pl

from harness.evidence.kinds import unprofiled
from harness.evidence.tables import Tables
from harness.problem.model import Problem
from harness.problem.plan import Selected, plan
from tests.support.profiled_launches import quiet
from tests.support.programs import MS, US, Program
from tests.support.small_evidence import Row, samples
from tests.support.small_evidence import tables as evidence
from tests.support.snapshots import JSONS, tables_of

STEP = "step"
TOOK = {"sick": 4.0, "healthy": 2.0}
"""What each twin takes, in ms of any time and bytes of any memory."""
_SAMPLED = ("gpu_time", "wall_time")
_FACTS = ("error", "peak_reserved")


def measured(problem: Problem) -> Tables:
    """Return the evidence of a whole run."""
    parts = [_rows(problem)]
    for row in parts[0]["cells"].iter_rows(named=True):
        if row["capture"] != unprofiled():
            made = _captured(row["capture"], sick=row["variant"] == problem.baseline)
            parts.append({name: _of(row["cell"], table) for name, table in made.items()})
    names = parts[0].keys()
    return {name: pl.concat([part[name] for part in parts if name in part]) for name in names}


def _rows(problem: Problem) -> Tables:
    """Return the cells, what each states, and the times of those that are not profiled."""
    cells: list[Row] = []
    timed: list[Row] = []
    facts: list[Row] = []
    for place in plan(problem, Selected(), "cuda"):
        cell = {"cell": place.name, "variant": place.variant, "case": place.case}
        cells.append(cell | {"capture": place.capture, "round": place.round, "status": "ok"})
        took = TOOK[place.variant]
        facts += [{"cell": place.name, "name": name, "value": took} for name in _FACTS]
        if place.capture == unprofiled():
            timed += [row for name in _SAMPLED for row in samples(cell, name, took)]
    return evidence(cells=cells, samples=timed, facts=facts)


def _of(cell: str, table: pl.DataFrame) -> pl.DataFrame:
    return table.select(pl.lit(cell).alias("cell"), pl.all())


def _captured(kind: str, *, sick: bool) -> Tables:
    if kind == "ncu":
        return _profiled()
    return _snapshot() if kind == "memory" else _traced(sick=sick)


@cache
def _profiled() -> Tables:
    metrics = quiet() | {"launch__registers_per_thread": 32.0}
    row = {"cell": "", "launch": 0, "name": "kernel"}
    rows = [row | {"metric": name, "value": value} for name, value in metrics.items()]
    return {name: table.drop("cell") for name, table in evidence(counters=rows).items()}


@cache
def _snapshot() -> Tables:
    tables: Tables = tables_of(JSONS[0])
    return tables


@cache
def _traced(*, sick: bool) -> Tables:
    program = Program()
    for _ in range(3):
        with program.marked(STEP):
            for _ in range(20):
                program.launch(100 * US)
                if sick:
                    program.synchronise()
                program.work(60 * US)
            program.launch(1 * MS)
            program.synchronise()
    declared = {"cell": "", "name": f"declared {STEP}", "value": 3.0}
    return program.tables() | {"facts": evidence(facts=[declared])["facts"].drop("cell")}
