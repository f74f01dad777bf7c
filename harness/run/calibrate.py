"""What this very GPU reaches at most: measured once a day, kept by GPU and driver."""

import contextlib
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from harness import engines, files
from harness.analysis import statistics
from harness.engines import CHECKOUT
from harness.errors import HarnessError, StoreError, ToolError
from harness.evidence.provenance import CellRecord
from harness.machine.target import Target
from harness.problem import manifest
from harness.problem.model import Problem
from harness.problem.plan import Cell, Selected, plan
from harness.run import execute as execution
from harness.store import run_folder

_PROBLEM = CHECKOUT / "problems" / "0-ceilings"
_VERSION = 1
_FRESH = timedelta(days=1)


@dataclass(frozen=True)
class Ceilings:
    """One GPU's ceilings: ``rates`` are name to unit, value, low, high (95 %) and rounds.

    ``doubts`` say what was noticed of the GPU meanwhile, such as a power cap: a ceiling under one
    is what the GPU sustains, not what it could do.
    """

    gpu: str
    name: str
    driver: str
    measured: str
    rates: dict[str, dict[str, Any]]
    doubts: list[str]

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready data."""
        return {"version": _VERSION, **vars(self)}

    @property
    def fresh(self) -> bool:
        """Return whether it is less than a day old."""
        age = datetime.now(UTC) - datetime.fromisoformat(self.measured)
        return timedelta(0) <= age < _FRESH


def kept(target: Target) -> Ceilings | None:
    """Return what was measured on this GPU under this driver within a day, None if nothing was."""
    try:
        known = files.read_json(_path(target))
        if known.pop("version") != _VERSION:
            return None
        found = Ceilings(**known)
        return found if found.fresh else None
    except (StoreError, KeyError, TypeError, ValueError):
        return None  # whatever is wrong with it, measuring again mends it


def measure(
    target: Target, engine: engines.Engine, report: Callable[[Cell, str, float], None]
) -> Ceilings:
    """Measure in three processes and keep the result; ToolError if none of them could."""
    problem = manifest.load(_PROBLEM)
    planned = cells_of(problem, target)
    with tempfile.TemporaryDirectory(prefix="ceilings-") as folder:
        origin = execution.provenance(problem, target, engine, {})
        run = run_folder.Run.create(Path(folder), _PROBLEM.name, origin)
        execution.Execution(problem, target, engine, run, report).execute(planned)
        records = [record for _, record in run.records()]
    found = _ceilings(problem, target, records)
    with contextlib.suppress(StoreError):  # measured all the same: the next run measures again
        files.write_json(_path(target), found.as_dict())
    return found


def ready(
    target: Target, engine: str, options: engines.Options, told: Callable[[str], None]
) -> engines.Engine:
    """Return the engine of that name, or that auto finds, built for the calibration."""
    problem = manifest.load(_PROBLEM)
    return engines.ready(engine, problem, target, options, ["plain"], told)[1]


def at_hand(
    target: Target,
    engine: str,
    options: engines.Options,
    told: Callable[[str], None],
) -> dict[str, Any] | None:
    """Return the ceilings for a run's provenance, measured now if there are no fresh ones.

    Without a GPU there are none. Where they cannot be measured, ``told`` hears why.
    """
    if target.gpu is None:
        return None
    found = kept(target)
    try:
        if found is None:
            told("measuring this GPU's ceilings, once a day")
            built = ready(target, engine, options, lambda _: None)
            found = measure(target, built, lambda *_: None)
    except HarnessError as error:
        told(f"ceilings not measured: {error}")
        return None
    return found.as_dict()


def cells(target: Target) -> int:
    """Return in how many processes the ceilings are measured."""
    return len(cells_of(manifest.load(_PROBLEM), target))


def cells_of(problem: Problem, target: Target) -> list[Cell]:
    """Return the calibration's cells: a process a round."""
    return plan(problem, Selected(), target.device)


def _ceilings(problem: Problem, target: Target, records: list[CellRecord]) -> Ceilings:
    well = [record for record in records if record.ok]
    if not well or target.gpu is None:
        why = records[0].reason if records else "needs a GPU"
        raise ToolError("could not measure the ceilings", where="calibration", remedy=why)
    rates = {}
    for name, metric in problem.metrics.items():
        rounds = {record.round: _settled(record, str(metric.sample)) for record in well}
        rounds = {number: values for number, values in rounds.items() if values}
        if rounds:
            it = statistics.estimate(rounds)
            rates[name] = {"unit": metric.unit, "value": it.value, "low": it.low, "high": it.high}
            rates[name]["rounds"] = it.rounds
    if not rates:
        raise ToolError("the ceilings' processes left no samples", where="calibration")
    return Ceilings(
        gpu=target.gpu.uuid,
        name=target.gpu.name,
        driver=target.gpu.driver,
        measured=datetime.now(UTC).isoformat(timespec="seconds"),
        rates=rates,
        doubts=sorted({doubt for record in well for doubt in record.doubts or ()}),
    )


def _settled(record: CellRecord, metric: str) -> list[float]:
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
