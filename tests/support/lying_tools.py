"""Programs on PATH that lie, linger, shout or die in the place of nsys and docker."""

from dataclasses import dataclass, replace
from pathlib import Path

from harness.engines.choose import make
from harness.engines.options import Options
from harness.evidence.cell_record import CellRecord
from harness.evidence.provenance import RunArguments
from harness.machine.host import Host
from harness.machine.target import Target
from harness.problem import manifest
from harness.problem.model import Problem
from harness.problem.plan import Selected, plan
from harness.run import provenance
from harness.run.execute import Execution
from harness.store.run_folder import Run

DEADLINE_S = 1.5

MANIFEST = """\
title: One cell
summary: Under a tool that lies.
environments: {plain: {}}
baseline: one
variants: {one: {label: One, environment: plain}}
cases: {here: {label: Here}}
captures: {timing: {}, nsys: {}}
metrics: {time: {label: time, unit: ms, capture: timing, sample: wall_time}}
claims: []
"""
REPRO = """\
out=${HARNESS_CELL#*'"out": "'}; out=${out%%'"'*}
echo '{"samples": [], "facts": [], "declared": {}, "packages": {}}' > "$out/workload.json"
"""
NSYS = """\
#!/bin/sh
for word; do
    case $word in --output=*) out=${word#--output=};; esac
    last=$word
done
workload() { sh "$last"; }
report() { echo report > "$out"; }
case $1 in
profile) PROFILE ;;
export) EXPORT ;;
esac
"""


@dataclass(frozen=True)
class Tool:
    """What a lying nsys does as `profile` and as `export`, both shell; how its cell has to end."""

    profile: str
    export: str
    status: str
    reason: str


def problem(folder: Path) -> Problem:
    """Write the problem and return it."""
    house = folder / "9-x"
    house.mkdir()
    (house / "problem.yaml").write_text(MANIFEST)
    (house / "repro.py").write_text(REPRO)
    return manifest.load(house)


def on_path(folder: Path, name: str, script: str) -> Path:
    """Write a program and return its path."""
    folder.mkdir(exist_ok=True)
    program = folder / name
    program.write_text(script)
    program.chmod(0o755)
    return program


def executed(
    asked: Problem,
    engine: str,
    options: Options,
    target: Target,
    capture: str,
    runs: Path,
    deadline_s: float = DEADLINE_S,
) -> tuple[Run, CellRecord]:
    """Execute the problem's one cell under ``capture`` and return the run and the cell's record."""
    built = make(engine, asked, Host(target), options)
    run = Run.create(runs, "9-x", provenance.origin_of(asked, built, RunArguments(jobs=1)))
    cells = plan(asked, Selected(captures=(capture,), rounds=1), target.device)
    Execution(built, run, lambda *_: None).execute(
        [replace(cell, deadline_s=deadline_s) for cell in cells]
    )
    ((_, record),) = run.records()
    return run, record
