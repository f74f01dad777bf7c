"""``harness check`` of a run whose cells ran on two GPUs."""

import json
from pathlib import Path
from typing import Any

import pytest

from harness.store import run_folder
from tests.support.manifests import GOOD, written
from tests.support.origins import origin
from tests.support.run_cells import cell, claims_of, timed
from tests.support.warm import harness


def checked(problem: Path, run: run_folder.Run) -> dict[str, Any]:
    done = harness("check", problem, "--run", run.folder, "--json")
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
            "undecided",
            "timed on 2 GPUs whose ceilings differ by up to 5.0 % (bf16)",
        ),
        (
            ("GPU-1", "GPU-3"),
            "undecided",
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
    folder = written(tmp_path, GOOD)
    first, second = (origin(ceilings=each, claims=claims_of(GOOD)) for each in known)
    run = run_folder.Run.create(tmp_path / "runs", "9-example", first)
    resumed = (second,)
    run.note(run.provenance.model_copy(update={"resumed": resumed}))
    for variant, gpu, value in (("slow", gpus[0], 1.03), ("fast", gpus[1], 1.0)):
        samples = [
            {"region": "r", "metric": "wall_time", "unit": "ms", "index": index, "value": value}
            for index in range(20)
        ]
        workload = {"samples": samples, "facts": [], "declared": {}, "packages": {}}
        for number in range(3):
            cell(run, "timing", {}, variant=variant, gpu=gpu, workload=workload, round=number)
    claim = checked(folder, run)
    assert (claim["verdict"], claim["doubt"]) == (verdict, doubt)


@pytest.mark.parametrize(("now", "code", "outcome"), [(2.0, 0, "passed"), (2.2, 1, "failed")])
def test_a_check_against_an_earlier_run_says_what_got_slower(
    tmp_path: Path, now: float, code: int, outcome: str
) -> None:
    runs = [timed(tmp_path / "runs", value) for value in (2.0, now)]
    argv = ["check", str(written(tmp_path, GOOD)), "--json"]
    argv += ["--run", str(runs[1].folder), "--against", str(runs[0].folder)]
    junit = tmp_path / "junit.xml"
    argv += ["--junit", str(junit), "--github"]
    done = harness(*argv)
    assert done.returncode == code, done.stderr
    changes = json.loads(done.stdout)["changes"]
    by_variant = {change["variant"]: change["outcome"] for change in changes}
    assert by_variant == {
        "slow": "worse" if outcome == "failed" else "not told apart",
        "fast": "not told apart",
    }
    assert junit.read_text().count("<failure") == done.stderr.count("::error title=") == code


def test_a_check_against_another_gpu_is_refused(tmp_path: Path) -> None:
    runs = [timed(tmp_path / "runs", 2.0) for _ in range(2)]
    target = {"name": "NVIDIA A100", "slug": "nvidia-a100", "device": "cuda"}
    known = runs[0].provenance
    runs[0].note(known.model_copy(update={"target": origin(target=target).target}))
    argv = ["check", str(written(tmp_path, GOOD))]
    argv += ["--run", str(runs[1].folder), "--against", str(runs[0].folder)]
    done = harness(*argv)
    assert (done.returncode, "its target is NVIDIA A100, not NVIDIA H200" in done.stderr) == (
        2,
        True,
    )
