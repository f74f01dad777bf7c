"""A plan that is executed with shell scripts in place of a workload."""

from dataclasses import dataclass, field, replace
from pathlib import Path

from harness.engines.engine import Command, Node, OnHost
from harness.evidence.provenance import RunArguments
from harness.machine import target
from harness.machine.host import Host
from harness.machine.monitor import GpuMonitor, GpuSample
from harness.problem import manifest
from harness.problem.plan import Cell, Selected, plan
from harness.run import provenance
from harness.run.execute import Execution, Notify
from harness.store import run_folder
from tests.support.manifests import GOOD, written

WELL = """echo '{"samples": [{"region": "r", "metric": "wall_time", "unit": "ms", "index": 0,
 "value": 2.0}], "facts": [], "declared": {}, "packages": {}}' > "$OUT/workload.json" """


def on_cpu() -> Host:
    return Host(replace(target.detect(), gpu=None))


class Scripts(OnHost):
    """An engine whose cells are shell scripts, by variant; counts what it ran and ended."""

    keeps_caches = True

    def __init__(self, scripts: dict[str, str], node: Node) -> None:
        self.node = node
        self.scripts = scripts
        self.ran: list[str] = []
        self.ended: list[str] = []
        self.still = ""

    def preparation(self, environments: list[str]) -> list[list[str]]:
        return []

    def prepare(self, environments: list[str], log: Path) -> None:
        pass

    def command(self, cell: Cell, out: Path, scratch: Path) -> Command:
        self.ran.append(cell.variant)
        env = {"OUT": str(out), "SCRATCH": str(scratch), "TMPDIR": str(scratch)}
        return Command(["bash", "-c", self.scripts[cell.variant]], env, out, cell.variant)

    def afterwards(self, cell: Cell, out: Path) -> list[Command]:
        return []

    def begin(self, command: Command) -> None:
        pass

    def end(self, command: Command) -> str:
        self.ended.append(command.name)
        return self.still

    def end_run(self, run: Path) -> None:
        pass

    def why(self, command: Command, log: str) -> str:
        return "the engine is down" if "cannot connect" in log else ""

    def provenance(self) -> dict[str, object]:
        return {"engine": "scripts", "where": "on host", "python": "", "locks": {}}


class Bench:
    """A problem, its plan, a run folder and an engine."""

    def __init__(
        self, tmp_path: Path, slow: str, fast: str, node: Node | None = None, rounds: int = 1
    ) -> None:
        self.problem = manifest.load(written(tmp_path, GOOD))
        self.cells = plan(self.problem, Selected(rounds=rounds), "cpu")
        self.engine = Scripts({"slow": slow, "fast": fast}, node or on_cpu())
        origin = provenance.origin_of(self.problem, self.engine, RunArguments(jobs=1))
        self.run = run_folder.Run.create(tmp_path / "runs", "9-example", origin)
        self.notes: list[str] = []

    def execution(self, jobs: int = 1, notify: Notify = lambda *_: None) -> Execution:
        return Execution(self.engine, self.run, notify, jobs)

    def execute(self, jobs: int = 1) -> dict[str, str]:
        def note(cell: Cell, status: str, _seconds: float) -> None:
            self.notes.append(f"{cell.variant} {status}")

        self.execution(jobs, note).execute(self.cells)
        return {record.variant: record.status for _, record in self.run.records()}


@dataclass(frozen=True)
class Watched(Host):
    """A machine whose monitors see these samples, one list for each attempt at a cell."""

    attempts: list[list[GpuSample]] = field(default_factory=list)

    def monitor(self, token: str | None = None) -> GpuMonitor:
        monitor = GpuMonitor(None)
        monitor.samples = self.attempts.pop(0)
        return monitor
