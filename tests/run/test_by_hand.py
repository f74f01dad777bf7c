"""A problem's script that a user starts: it gets the cell that its arguments name."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.probe import by_hand
from harness.problem import new
from tests.support.manifests import GOOD, written
from tests.support.paths import ROOT
from tests.support.torch_cpu import PYTHON, needs_torch

SCRIPT = """\
import os, sys
if "HARNESS_CELL" not in os.environ:
    sys.path.insert(0, "{root}")
    from harness.probe import by_hand
    by_hand.describe()
print(os.environ["HARNESS_CELL"])
"""

ON_CPU: dict[str, tuple[str, str] | None] = {
    "0-ceilings": None,
    "1-torchao-float8": ("bf16-eager", "stack-m1"),
    "2-gemlite-autotune": ("bf16", "m1"),
    "3-cudagraph-memory": ("bf16-default", "stack-single"),
    "4-custom-hgemm": ("torch", "stack-m4096"),
    "5-gpt2-step": ("eager", "step"),
    "6-bottleneck-zoo": ("sick", "tensor-cores-unused-fp32-matmul"),
    "7-tensor-parallel-decode": ("nccl", "small"),
    "8-gemm-any-shape": None,
    "9-serving": ("static", "ragged"),
    "10-diffusion-step": None,
    "12-split-a-model": ("in-turn", "small-2"),
}
"""By study: a cell that a CPU runs without the packages of a lock, if there is one."""
OF_A_LOCK = {"11-vision-language"}
"""Studies of which a CPU runs cells, each with packages of a lock."""
NO_TRITON = 'raise ModuleNotFoundError("No module named \'triton\'", name="triton")\n'
"""Torch's build for a CPU comes without Triton."""


def started(
    folder: Path, *arguments: str, python: str = sys.executable, path: str = ""
) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "HARNESS_CELL"}
    return subprocess.run(
        [python, "repro.py", *arguments],
        cwd=folder,
        env={**environment, "CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": f"{ROOT}:{path}"},
        capture_output=True,
        text=True,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    text = GOOD.replace("label: Small", "label: Small, params: {rows: 3}")
    text = text.replace("timing: {}", "timing: {}\n  torch: {settings: {steps: 7}}")
    text = text.replace("plain: {}", "plain: {}\n  other: {lock: other.lock}")
    text = text.replace("Fast, environment: plain", "Fast, environment: other, options: {x: 1}")
    folder = written(tmp_path, text, SCRIPT.format(root=ROOT) + '# "wall_time"\n')
    (folder / "other.lock").touch()
    return folder


def test_the_arguments_name_the_cell(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    asked = ["--variant", "fast", "--case", "small", "--capture", "torch", "--out", str(out)]
    done = started(folder, *asked)
    assert done.returncode == 0, done.stderr
    assert "note: fast is of other.lock" in done.stderr
    cell = json.loads(done.stdout)
    assert (cell["variant"], cell["case"], cell["capture"]) == ("fast", "small", "torch")
    assert cell["params"] == {"rows": 3, "x": 1}
    assert cell["settings"]["steps"] == 7
    assert cell["out"] == str(out) and out.is_dir()
    assert Path(cell["lock"]).parent.is_dir()


def test_without_arguments_it_is_the_baseline_s_first_case(folder: Path) -> None:
    done = started(folder)
    cell = json.loads(done.stdout)
    assert (cell["variant"], cell["case"], cell["capture"]) == ("slow", "small", "timing")
    assert done.stderr == ""
    assert Path(cell["out"]).is_dir()


def test_a_case_with_a_script_of_its_own_runs_that(folder: Path) -> None:
    (folder / "other.py").write_text('print("the other")')
    manifest = folder / "problem.yaml"
    manifest.write_text(manifest.read_text().replace("label: Small", "label: S, script: other.py"))
    assert started(folder).stdout == "the other\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ["--variant", "fist"],
            "repro.py: problem 9-example has no variant 'fist' (did you mean fast?)",
        ),
        (["--nothing"], "unrecognized arguments: --nothing"),
    ],
)
def test_what_there_is_not_is_told_in_a_line(folder: Path, arguments: list[str], told: str) -> None:
    done = started(folder, *arguments)
    assert done.returncode == 2
    assert done.stderr.strip().endswith(told)
    assert "Traceback" not in done.stderr


def test_what_was_measured_is_printed_without_warm_up() -> None:
    samples = [
        {"region": "r", "metric": "wall_time", "unit": "ms", "value": value, "mark": mark}
        for value, mark in ((9.0, "warm-up"), (1.0, ""), (3.0, ""), (5.0, "outlier"))
    ]
    facts = [
        {"name": "bytes", "unit": "B", "value": 12.0, "text": None},
        {"name": "kernel", "unit": "", "value": None, "text": "gemm"},
    ]
    record = {"samples": samples, "facts": facts}
    assert list(by_hand.lines(record)) == [
        "  r: wall_time 3 ms (median of 3 samples)",
        "  bytes: 12 B",
        "  kernel: gemm",
    ]


def test_every_study_is_tried_by_hand() -> None:
    assert {path.parent.name for path in (ROOT / "problems").glob("*/repro.py")} == {
        *ON_CPU,
        *OF_A_LOCK,
    }


@pytest.mark.slow
@needs_torch
@pytest.mark.parametrize(("study", "cell"), ON_CPU.items())
def test_a_study_runs_by_hand_with_torch_alone(
    tmp_path: Path, study: str, cell: tuple[str, str] | None
) -> None:
    """Nothing of the harness says where the shared workloads are before the script asks for it."""
    (tmp_path / "triton.py").write_text(NO_TRITON)
    packages = next(path for path in sys.path if path.endswith("site-packages"))
    named = ("--variant", cell[0], "--case", cell[1]) if cell else ()
    path = f"{tmp_path}:{packages}"
    done = started(ROOT / "problems" / study, *named, python=str(PYTHON), path=path)
    assert "Traceback" not in done.stderr, done.stderr
    if cell:
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(f"{cell[1]} {cell[0]} ")
    else:
        assert done.returncode == 2
        assert done.stderr.startswith("repro.py: nothing to run on cpu")


@pytest.mark.slow
@needs_torch
def test_a_draft_runs_alone(tmp_path: Path) -> None:
    draft = new.write(tmp_path / "problems", "sort")
    packages = next(path for path in sys.path if path.endswith("site-packages"))
    done = started(draft.folder, "--variant", "batched", python=str(PYTHON), path=packages)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("small batched timing cpu\n  products: wall_time ")
