"""Problem 6: its folder and its manifest agree, and its references run on a CPU."""

import ast
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from harness.problem.manifest import find
from harness.problem.model import Advice, Problem
from harness.problem.plan import Selected, plan
from tests.support.manifests import bound_claims
from tests.support.paths import ROOT
from tests.support.torch_cpu import PYTHON, needs_torch

FOLDER = ROOT / "problems" / "6-bottleneck-zoo"
FILES = sorted(FOLDER.glob("specimens/*/*.py"))
KERNEL_FINDINGS = (
    *("dram-bound", "uncoalesced", "cache-thrash", "bank-conflicts", "warp-divergence"),
    *("register-spills", "atomics-contention", "too-few-blocks", "tail-effect"),
    *("tile-quantisation", "low-occupancy-registers", "low-occupancy-shared", "latency-bound"),
    *("barrier-imbalance", "issue-bound", "integer-bound", "special-function-bound"),
    *("fp64-bound", "fp32-bound", "shared-memory-bound", "tensor-cores-unused"),
    *("inter-sm-traffic", "host-memory-traffic", "tensor-bound"),
)


@pytest.fixture(scope="module")
def problem() -> Problem:
    return find(ROOT / "problems", "6")


def case_of(file: Path) -> str:
    return file.stem.replace("_", "-")


def test_every_specimen_is_a_case_and_the_reverse(problem: Problem) -> None:
    specimens = {case_of(file): f"{file.parent.name}/{file.stem}" for file in FILES}
    assert {name: case.params["specimen"] for name, case in problem.cases.items()} == specimens


def test_a_case_is_named_after_its_finding(problem: Problem) -> None:
    for name, case in problem.cases.items():
        assert name.startswith(case.params["finding"])


def test_twins_differ_in_nothing_but_the_twin(problem: Problem) -> None:
    assert list(problem.variants) == ["sick", "healthy"]
    assert [variant.options for variant in problem.variants.values()] == [
        {"twin": "sick"},
        {"twin": "healthy"},
    ]


def test_both_twins_of_every_specimen_are_timed_and_profiled(problem: Problem) -> None:
    cells = plan(problem, Selected(), "cuda")
    count = Counter((cell.case, cell.capture) for cell in cells)
    timeline = {"nsys", "torch"}
    profilers = {"kernel": {"ncu"}, "timeline": timeline, "multi": timeline, "memory": {"memory"}}
    for file in FILES:
        case, profiled = case_of(file), profilers[file.parent.name]
        assert count[case, "timing"] == 6  # three rounds of both
        assert sum(count[case, capture] for capture in profiled) == 2
    assert len(cells) <= 520


def test_every_specimen_is_in_the_advice_of_its_finding(problem: Problem) -> None:
    advised = {claim.id: claim.at for claim in problem.claims if isinstance(claim, Advice)}
    hidden = {claim.of.case for claim in bound_claims(problem)}  # not slow, only not to be seen
    for name, case in problem.cases.items():
        if name not in hidden:
            found = [found for found, at in advised.items() if name in at]
            assert found == [case.params["finding"]]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_specimen_says_what_gives_it_away(file: Path) -> None:
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    for word in ("Work: ", "Gives it away: ", "Quiet: ", "Healthy: "):
        assert text.count(f"\n{word}") == 1, word


@pytest.mark.parametrize(
    "file", sorted(FOLDER.glob("specimens/*/*.cu")), ids=lambda file: file.stem
)
def test_twins_differ_in_the_source_or_in_the_launch(file: Path) -> None:
    differs = re.compile(r"^#ifn?def SICK$", re.MULTILINE)
    script = file.with_suffix(".py").read_text(encoding="utf-8")
    assert differs.search(file.read_text(encoding="utf-8")) or 'twin == "sick"' in script


@pytest.mark.parametrize("id_", KERNEL_FINDINGS)
def test_every_kernel_finding_has_a_specimen(problem: Problem, id_: str) -> None:
    assert any(case.params["finding"] == id_ for case in problem.cases.values())


@pytest.mark.slow
@needs_torch
def test_references_run_on_a_cpu() -> None:
    done = subprocess.run(
        [str(PYTHON), "check_all.py", "--cpu"],
        cwd=FOLDER,
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(FILES)} of {len(FILES)} are right" in done.stdout
