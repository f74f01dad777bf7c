"""Cells of a run with real artifacts, recorded as `harness run` records them."""

import shutil
import tempfile
from pathlib import Path
from typing import Any

from harness.ground import files
from harness.problem import started
from harness.problem.manifest import load
from harness.store import run_folder
from tests.support.manifests import GOOD, written
from tests.support.origins import origin


def cell(run: run_folder.Run, capture: str, artifacts: dict[str, Path], **more: Any) -> Path:
    """Publish a cell with real artifacts, as `harness run` would."""
    name = f"small.{more.get('variant', 'fast')}.{capture}.r{more.get('round', 0)}"
    with files.atomic_folder(run.cell(name)) as out:
        for artifact, source in artifacts.items():
            shutil.copyfile(source, out / artifact)
        record = {
            "id": name,
            "variant": "fast",
            "case": "small",
            "capture": capture,
            "round": 0,
            "status": "ok",
            "reason": "",
            "wall_s": 1.0,
            "started": 1.0,
            "command": {"argv": [], "env": {}},
            "params": {},
            "settings": {},
            "gpu": None,
            "seen": {"samples": 0, "throttle_reasons": {}},
            "counted": {},
            "workload": {"samples": [], "facts": [], "declared": {}, "packages": {}},
            "artifacts": {
                artifact: known.as_json() for artifact, known in run_folder.fingerprint(out).items()
            },
        }
        files.write_json(out / run_folder.RECORD, record | more)
    return run.cell(name)


def claims_of(manifest: str) -> dict[str, Any]:
    """Return what a run of a problem with this manifest records of its claims, as JSON."""
    with tempfile.TemporaryDirectory() as folder:
        problem = load(written(Path(folder), manifest))
    return {name: claim.as_json() for name, claim in started.started(problem).items()}


def timed(folder: Path, slow: float) -> run_folder.Run:
    """Make a run of problem 9: three rounds, whose slow variant takes ``slow`` ms."""
    run = run_folder.Run.create(folder, "9-example", origin(claims=claims_of(GOOD)))
    for number in range(3):
        for variant, value in (("slow", slow), ("fast", 1.0)):
            samples = [
                {"region": "r", "metric": "wall_time", "unit": "ms", "index": index}
                | {"value": value * (1 + 0.001 * (index + number))}
                for index in range(9)
            ]
            workload = {"samples": samples, "facts": [], "declared": {}, "packages": {}}
            known = {"variant": variant, "round": number, "gpu": "GPU-1", "workload": workload}
            cell(run, "timing", {}, **known)
    return run
