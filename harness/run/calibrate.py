"""The ceilings of this very GPU: measured once a day, kept by GPU and driver."""

import contextlib
import os
import tempfile
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from harness.analysis import statistics
from harness.engines import choose
from harness.engines.engine import Engine, Node
from harness.engines.options import Options
from harness.evidence.cell_record import CellRecord
from harness.evidence.provenance import Ceilings, Rate, RunArguments
from harness.evidence.record import read
from harness.ground import checkout, files
from harness.ground.errors import EvidenceError, HarnessError, StoreError, ToolError
from harness.machine.target import Target
from harness.problem import manifest
from harness.problem.model import Problem
from harness.problem.plan import Cell, Selected, plan
from harness.run import provenance
from harness.run.execute import Execution, Notify
from harness.run.queue import most_jobs
from harness.store import run_folder

_STUDY = "0-ceilings"
_VERSION = 1
_FRESH = timedelta(days=1)


def problem() -> Problem:
    """Return the case study whose metrics are the ceilings."""
    return manifest.load(checkout.problems() / _STUDY)


def measured_by(study: Problem) -> bool:
    """Return whether a run of ``study`` measures the ceilings itself."""
    return study.folder.name == _STUDY


def cells(target: Target) -> list[Cell]:
    """Return the calibration's cells: one process for each round."""
    return plan(problem(), Selected(), target.device)


def kept(target: Target) -> Ceilings | None:
    """Return the ceilings of this GPU under this driver, None if they are over a day old."""
    try:
        ceilings = read(Ceilings, _path(target))
        if ceilings.version != _VERSION:
            return None
        age = datetime.now(UTC) - datetime.fromisoformat(ceilings.measured or "")
    except (StoreError, EvidenceError, TypeError, ValueError, OverflowError):
        return None  # the file is absent or damaged: measuring again replaces it
    return ceilings if timedelta(0) <= age < _FRESH else None


def node_with_gpu(engine: str, options: Options) -> Node:
    """Return the machine to calibrate; ToolError if it has no GPU, UsageError for bad options."""
    node = choose.node_of(engine, options)
    if node.target.gpu is None:
        raise ToolError("no GPU here, so it has no ceilings", remedy="see harness doctor")
    options.check()
    return node


def ready(node: Node, engine: str, options: Options, notify: Callable[[str], None]) -> Engine:
    """Return the engine of that name, or the one that "auto" finds, built for the calibration."""
    return choose.ready(engine, problem(), node, options, ["plain"], notify)[1]


def measure(engine: Engine, notify: Notify) -> Ceilings:
    """Measure in one process for each round and keep the result; ToolError if all of them fail."""
    study = problem()
    target = engine.node.target
    with tempfile.TemporaryDirectory(prefix="ceilings-") as folder:
        origin = provenance.origin_of(study, engine, RunArguments())
        run = run_folder.Run.create(Path(folder), study.folder.name, origin)
        Execution(engine, run, notify, most_jobs(target)).execute(cells(target))
        return keep(run, target)


def keep(run: run_folder.Run, target: Target) -> Ceilings:
    """Keep the ceilings that a run of the study measured; ToolError if it measured none."""
    uuid = target.gpu.uuid if target.gpu else None
    records = [record for _, record in run.records() if record.gpu == uuid]
    ceilings = _ceilings(problem(), target, records)
    with contextlib.suppress(StoreError):  # measured all the same: the next run measures again
        files.write_json(_path(target), ceilings.as_json())
    return ceilings


def note(run: run_folder.Run, target: Target) -> None:
    """Keep the ceilings that a run of the study measured, and note them in its provenance.

    Without a GPU, or if the run failed, there are none to note.
    """
    with contextlib.suppress(ToolError):
        ceilings, record = keep(run, target), run.recorded
        *earlier, last = record.origins
        if earlier:
            resumed = (*record.resumed[:-1], last.model_copy(update={"ceilings": ceilings}))
            run.note(record.model_copy(update={"resumed": resumed}))
        else:
            run.note(record.model_copy(update={"ceilings": ceilings}))


def at_hand(
    node: Node, engine: str, options: Options, notify: Callable[[str], None]
) -> Ceilings | None:
    """Return the ceilings for a run's provenance, measured now if there are no fresh ones.

    Without a GPU there are none. If they cannot be measured, ``notify`` gets the reason.
    """
    if node.target.gpu is None:
        return None
    ceilings = kept(node.target)
    if ceilings:
        return ceilings
    notify("measuring this GPU's ceilings, once a day")
    try:
        return measure(ready(node, engine, options, lambda _: None), lambda *_: None)
    except HarnessError as error:
        notify(f"ceilings not measured: {error}")
        return None


def _ceilings(study: Problem, target: Target, records: Sequence[CellRecord]) -> Ceilings:
    rounds = [record for record in records if record.ok]
    if not rounds or target.gpu is None:
        why = records[0].reason if records else "needs a GPU"
        raise ToolError("could not measure the ceilings", where="calibration", remedy=why)
    rates = {}
    for name, metric in study.metrics.items():
        values = {record.round: _settled(record, str(metric.sample)) for record in rounds}
        values = {number: settled for number, settled in values.items() if settled}
        if values:
            mean = statistics.estimate(values)
            rates[name] = Rate(
                unit=metric.unit, value=mean.value, low=mean.low, high=mean.high, rounds=mean.rounds
            )
    if not rates:
        raise ToolError("the ceilings' processes left no samples", where="calibration")
    return Ceilings(
        version=_VERSION,
        gpu=target.gpu.uuid,
        name=target.gpu.name,
        driver=target.gpu.driver,
        measured=datetime.now(UTC).isoformat(timespec="seconds"),
        rates=rates,
        doubts=tuple(sorted({doubt for record in rounds for doubt in record.doubts or ()})),
    )


def _settled(record: CellRecord, metric: str) -> list[float]:
    """Return a metric's values after the warm-up."""
    return [
        sample.value
        for sample in record.workload.samples
        if sample.metric == metric and sample.mark != "warm-up"
    ]


def _path(target: Target) -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    gpu = target.gpu
    name = f"{gpu.uuid}-{gpu.driver}" if gpu else "cpu"
    return cache / "profiling-worklogs" / "ceilings" / f"{files.safe_name(name)}.json"
