"""One of each file that the harness itself writes: a run, its report, a store, kept ceilings."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from harness.evidence import capture_list, provenance
from harness.evidence.capture_list import KeptCapture
from harness.evidence.provenance import Origin, Provenance
from harness.ground import files
from harness.problem import manifest
from harness.problem.model import Problem
from harness.report import publish
from harness.store import capture_store
from harness.store.run_folder import Run
from tests.support import reports
from tests.support.manifests import GOOD, written
from tests.support.paths import DATA
from tests.support.run_cells import cell

WORKLOG = """\
{{ w.verdict_line() }}
{{ w.m("time", "slow", "small") }}
{{ w.claims() }}
{{ w.overhead("small") }}
{{ w.ceilings() }}
{{ w.conditions() }}
"""
DRAWN = f"""\
{WORKLOG}
{{{{ w.waterfall("busy", "slow", "fast", "small", "A step.") }}}}

[more](pages/more.md)
"""
MORE = "# More\n\n{{ w.conditions() }}\n"
SPREAD = {"min": 1900.0, "median": 1950.0, "max": 1980.0}
SAMPLING = {
    "region": "r",
    "metric": "wall_time",
    "steps": 5,
    "taken": 12,
    "warmup": 1,
    "outliers": 0,
    "half_width": 0.004,
    "target": 0.005,
    "stopped": "half-width",
    "seconds": 0.5,
}
WORKLOAD = {
    "samples": [
        {"region": "r", "metric": "wall_time", "unit": "ms", "index": index, "value": 2.0 + index}
        for index in range(12)
    ],
    "sampling": [SAMPLING],
    "windows": [[10.0, 11.0, "r"]],
    "facts": [
        {"name": "weights", "unit": "B", "value": 4096.0, "text": None},
        {"name": "kind", "unit": "", "value": None, "text": "dense"},
    ],
    "declared": {},
    "packages": {"torch": "2.11.0"},
    "process": {"started": 9.0, "loaded": 9.5, "ended": 12.0, "spent": {"measure": 1.5}},
}
RECORDED = {
    "workload": WORKLOAD,
    "params": {"layers": 4, "scale": 0.5, "dtype": "bf16", "shape": [1, 2]},
    "settings": {"steps": 5, "warmup": 1},
    "seen": {"samples": 3, "sm_mhz": SPREAD, "power_w": SPREAD, "throttle_reasons": {"power": 1}},
    "doubts": ["power cap in 1 of 3 looks"],
    "idle_s": 0.5,
    "phases": {"start": 0.5, "measure": 1.5},
    "gpu": "GPU-1234",
}


@dataclass(frozen=True)
class OwnFiles:
    """A run of two timed cells and a traced one, and what was made of it."""

    problem: Problem
    run: Run
    report: Path
    store: Path
    ceilings: Path
    workload: Path

    @property
    def evidence(self) -> Path:
        return self.report / "evidence"

    @property
    def tables(self) -> list[Path]:
        return sorted(self.evidence.glob("*.parquet"))

    @property
    def cells(self) -> list[Path]:
        return sorted(self.run.folder.glob("cells/*/cell.json"))

    @property
    def stored(self) -> list[Path]:
        """Return the captures in the store."""
        return sorted(path for path in self.store.rglob("*") if path.is_file())

    @property
    def records(self) -> list[Path]:
        """Return every file of JSON."""
        of_report = [self.evidence / "provenance.json", self.evidence / "captures.json"]
        of_run = [self.run.folder / "run.json", *self.cells]
        return [*of_run, *of_report, self.report / "card.json", self.ceilings, self.workload]


def made(folder: Path, *, drawn: bool = False) -> OwnFiles:
    """Make them all in ``folder``; the report's captures are half in git and half in the store.

    ``drawn``: the report has a figure and a page under its worklog, which take their time.
    """
    problem = manifest.load(written(folder, GOOD.replace("timing: {}", "timing: {}\n  torch: {}")))
    worklog = DRAWN if drawn else WORKLOG
    (problem.folder / "worklog.md.j2").write_text(worklog, encoding="utf-8")
    if drawn:
        (problem.folder / "pages").mkdir()
        (problem.folder / "pages" / "more.md.j2").write_text(MORE, encoding="utf-8")
    known = provenance.load(reports.KEPT / "evidence").run
    origin = {key: value for key, value in known if key not in ("version", "id", "resumed")}
    run = Run.create(
        folder / "runs", "9-example", Origin.model_validate(origin | {"problem": "9-example"})
    )
    left = {"log.txt": folder / "log.txt", "result.bin": folder / "result.bin"}
    left["log.txt"].write_text("measured\n", encoding="utf-8")
    left["result.bin"].write_bytes(bytes(range(256)))
    for variant in ("slow", "fast"):
        cell(run, "timing", left, variant=variant, **RECORDED)
    for variant, trace in (("slow", "streams"), ("fast", "graph")):
        artifact = {"trace.json.gz": DATA / f"torch/{trace}.json.gz"}
        cell(run, "torch", left | artifact, variant=variant, **RECORDED)
    store = folder / "store"
    report = publish.publish(problem, run, folder / "reports", store).folder
    _to_store(report, store)
    workload = folder / "workload.json"
    files.write_json(workload, WORKLOAD)
    return OwnFiles(problem, run, report, store, _ceilings(folder, known), workload)


def _ceilings(folder: Path, known: Provenance) -> Path:
    """Keep the ceilings that a run knows as if they had been measured just now."""
    recorded = next(call.ceilings for call in known.origins if call.ceilings)
    path = folder / "cache/profiling-worklogs/ceilings" / f"{recorded.gpu}-{recorded.driver}.json"
    now = datetime.now(UTC).isoformat(timespec="seconds")
    files.write_json(path, recorded.as_json() | {"measured": now, "version": 1})
    return path


def _to_store(report: Path, store: Path) -> None:
    """Move the report's first capture to the store, as if git had no room for it."""
    listed = capture_list.read(report / "evidence")
    assert listed
    first, *others = listed.captures
    place = report / "captures" / first.name
    capture_store.add(store, place, first.sha256)
    place.unlink()
    moved = KeptCapture.model_validate(dict(first) | {"in_git": False})
    capture_list.write(report / "evidence", capture_list.CaptureList(captures=(moved, *others)))
    assert others
