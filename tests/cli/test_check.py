"""``harness check`` of a run whose cells ran on two GPUs."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from harness.store import run_folder
from tests.support.manifests import GOOD, written
from tests.support.origins import origin
from tests.support.run_cells import cell


def checked(problem: Path, run: run_folder.Run) -> dict[str, Any]:
    argv = [sys.executable, "-m", "harness", "check", str(problem), "--run", str(run.folder)]
    done = subprocess.run([*argv, "--json"], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    claims: list[dict[str, Any]] = json.loads(done.stdout)
    (claim,) = claims
    return claim


@pytest.mark.parametrize(
    ("gpus", "verdict", "doubt"),
    [
        (("GPU-1", "GPU-1"), "reproduced", ""),
        (
            ("GPU-1", "GPU-2"),
            "inconclusive",
            "timed on 2 GPUs whose ceilings differ by up to 5.0 %",
        ),
        (
            ("GPU-1", "GPU-3"),
            "inconclusive",
            "timed on 2 GPUs whose ceilings are not all known; others differ by up to 5.0 %",
        ),
    ],
)
def test_a_gain_that_the_gpus_account_for_is_not_reproduced(
    tmp_path: Path, gpus: tuple[str, str], verdict: str, doubt: str
) -> None:
    known = [
        {"gpu": gpu, "rates": {"bf16": {"unit": "TFLOP/s", "value": rate}}}
        for gpu, rate in (("GPU-1", 800.0), ("GPU-2", 840.0))
    ]
    run = run_folder.Run.create(tmp_path / "runs", "9-example", origin(ceilings=known[0]))
    resumed = (origin(ceilings=known[1]),)
    run.note(run.provenance.model_copy(update={"resumed": resumed}))
    for variant, gpu, value in (("slow", gpus[0], 1.03), ("fast", gpus[1], 1.0)):
        samples = [
            {"region": "r", "metric": "wall_time", "unit": "ms", "index": index, "value": value}
            for index in range(20)
        ]
        workload = {"samples": samples, "facts": [], "declared": {}, "packages": {}}
        cell(run, "timing", {}, variant=variant, gpu=gpu, workload=workload)
    claim = checked(written(tmp_path, GOOD), run)
    assert (claim["verdict"], claim["doubt"]) == (verdict, doubt)
