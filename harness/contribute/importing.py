"""Captures that were made without the harness, as cells of a study's run.

A capture says what it holds, and seldom how it came about. What it does not say stays unknown: the
cell is not watched, its packages and parameters are not recorded, and its times decide no claim.
"""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness import __version__
from harness.captures import sniff
from harness.evidence.cell_record import CellRecord, CommandRecord, GpuSummary, WorkloadRecord
from harness.evidence.kind import Kind
from harness.evidence.provenance import EngineRecord, GpuRecord, Origin, TargetRecord
from harness.evidence.subject import Subject
from harness.extract import door
from harness.ground import files
from harness.ground.errors import UsageError
from harness.ground.plain import slug
from harness.problem.model import Problem
from harness.problem.names import nearest
from harness.store import run_folder
from harness.store.run_folder import Run

ENGINE = "imported"
"""The engine of a run whose captures were made without the harness."""

_UNKNOWN_GPU = "unknown GPU"


@dataclass(frozen=True)
class Place:
    """Where captures belong: a case and a variant of a problem."""

    problem: Problem
    case: str
    variant: str


@dataclass(frozen=True)
class ImportedRun:
    """The run that holds the captures, and the names of the cells that were made."""

    run: Run
    cells: tuple[str, ...]


def place_of(problem: Problem, case: str, variant: str) -> Place:
    """Return a place of a problem; UsageError if it has no such case or variant."""
    for kind, name, names in (
        ("case", case, list(problem.cases)),
        ("variant", variant, list(problem.variants)),
    ):
        if name not in names:
            what = f"problem {problem.folder.name} has no {kind} {name!r}"
            raise UsageError(what, remedy=nearest(name, names))
    return Place(problem, case, variant)


def import_files(
    sources: Sequence[Path], place: Place, runs: Path, into: Run | None, step: str | None
) -> ImportedRun:
    """Make a cell of each capture file, in run ``into`` or a new one.

    ``step`` is the NVTX range or annotation that marks a step; it is declared as often as it
    occurs. Raises UsageError if a study does not record such captures, if the files are of several
    GPUs or of another GPU than the run, or if a timeline has no such range; CaptureError if a file
    cannot be read.
    """
    subjects = [door.capture(source) for source in sources]
    kinds = [sniff.recognised(source)[0] for source in sources]
    for source, kind in zip(sources, kinds, strict=True):
        if kind.name not in place.problem.captures:
            what = f"a {kind.name} capture, and {place.problem.folder.name} records none"
            raise UsageError(what, where=source, remedy="add it to the manifest's captures")
    declared = [
        _declared(subject, kind, step) for subject, kind in zip(subjects, kinds, strict=True)
    ]
    target = _target(sources, subjects, into)
    run = into or Run.create(runs, place.problem.folder.name, _origin(place.problem, target))
    with run.alone():
        cells = [
            _publish(run, place, source, kind, counts)
            for source, kind, counts in zip(sources, kinds, declared, strict=True)
        ]
    return ImportedRun(run, tuple(cells))


def check_open(run: Run, problem: Problem) -> None:
    """Raise UsageError if captures cannot be added to a run: it was executed, or is of another."""
    origin = run.provenance
    if origin.problem != problem.folder.name:
        raise UsageError(f"a run of {origin.problem}", where=run.folder)
    if origin.engine is None or origin.engine.engine != ENGINE:
        what = "the harness executed this run"
        raise UsageError(
            what, where=run.folder, remedy="import into a run of its own: leave out --run"
        )


def _declared(subject: Subject, kind: Kind, step: str | None) -> Mapping[str, int]:
    """Return how often the range that marks a step occurs, by its name; empty without a mark."""
    import polars as pl

    if step is None or "ranges" not in kind.fills:
        return {}
    ranges = subject.captures[kind.name].tables["ranges"]
    count = ranges.filter(pl.col("name").cast(pl.String) == step).height
    if not count:
        listed = list(dict.fromkeys(ranges["name"].cast(pl.String).to_list()))
        remedy = nearest(step, listed) if listed else "it has no ranges: leave out --range"
        raise UsageError(f"no range {step!r}", where=subject.label, remedy=remedy)
    return {step: count}


def _target(sources: Sequence[Path], subjects: Sequence[Subject], into: Run | None) -> TargetRecord:
    """Return the target that the captures name, and the run's; UsageError if they differ."""
    targets = {
        str(source): _named(capture.conditions)
        for source, subject in zip(sources, subjects, strict=True)
        for capture in subject.captures.values()
    }
    if into:
        targets[str(into.folder)] = into.provenance.target
    named = {where: target for where, target in targets.items() if target.name != _UNKNOWN_GPU}
    names = {target.name for target in named.values()}
    if len(names) > 1:
        told = ", ".join(f"{where} on {target.name}" for where, target in named.items())
        raise UsageError(f"captures of {len(names)} GPUs: {told}", remedy="import them apart")
    return next(iter([*named.values(), *targets.values()]))


def _named(conditions: Mapping[str, str]) -> TargetRecord:
    """Return the target that a capture's conditions name."""
    name = conditions.get("GPU", _UNKNOWN_GPU)
    cuda = conditions.get("CUDA")
    gpu = GpuRecord(name=name, driver=conditions.get("driver", "not known"), cuda=cuda)
    return TargetRecord(name=name, slug=slug(name), device="cuda", gpu=gpu)


def _origin(problem: Problem, target: TargetRecord) -> Origin:
    engine = EngineRecord(engine=ENGINE, where="without the harness", python="not known")
    name = problem.folder.name
    return Origin(problem=name, target=target, harness=__version__, engine=engine)


def _publish(run: Run, place: Place, source: Path, kind: Kind, declared: Mapping[str, int]) -> str:
    """Publish the cell of one capture and return its name."""
    taken = {record.name for _, record in run.records()}
    number = 0
    while f"{place.case}.{place.variant}.{kind.name}.r{number}" in taken:
        number += 1
    name = f"{place.case}.{place.variant}.{kind.name}.r{number}"
    with files.atomic_folder(run.cell(name)) as out, sniff.opened(source) as plain:
        shutil.copyfile(plain, out / str(kind.artifact))
        record = CellRecord(
            id=name,
            variant=place.variant,
            case=place.case,
            capture=kind.name,
            round=number,
            status="ok",
            reason="",
            wall_s=0.0,
            started=source.stat().st_mtime,
            seen=GpuSummary(samples=0),
            gpu=None,
            command=CommandRecord(),
            workload=WorkloadRecord(declared=dict(declared)),
            artifacts=run_folder.fingerprint(out),
            imported=source.name,
        )
        files.write_json(out / run_folder.RECORD, record.as_json())
    return name
