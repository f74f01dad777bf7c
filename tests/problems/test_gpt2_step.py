"""Problem 5's arithmetic by another way, its manifest, and its variants on a CPU."""

import importlib
import itertools
import json
import subprocess
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

from harness.problem.manifest import find
from harness.problem.model import Problem
from tests.support.paths import ROOT

FOLDER = ROOT / "problems" / "5-gpt2-step"
PYTHON = next(ROOT.glob(".envs/torch-cpu-*/bin/python"), None)
LEDGER = ("fused-adamw", "padded", "masters", "compiled", "chunked-loss", "cudnn", "graph")


@pytest.fixture(scope="module", autouse=True)
def _scripts() -> Iterator[None]:
    """The problem's scripts are found as they find each other: in their own folder."""
    sys.path.insert(0, str(FOLDER))
    yield
    sys.path.remove(str(FOLDER))
    for name in ("shapes", "work", "predict"):
        sys.modules.pop(name, None)


def module(name: str) -> ModuleType:
    return importlib.import_module(name)


@pytest.fixture(scope="module")
def problem() -> Problem:
    return find(ROOT / "problems", "5")


def test_the_operations_of_a_step_are_those_of_its_products() -> None:
    shape = module("shapes").SHAPES["gpt2-124m"]
    tokens, width = 24 * 1024, shape.width
    products = [(width, 3 * width), (width, width), (width, 4 * width), (4 * width, width)]
    forward = shape.layers * sum(2 * tokens * k * n for k, n in products)
    forward += 2 * tokens * width * shape.vocabulary
    # Queries with keys, weights with values; token t sees t + 1 others, so half of the context.
    forward += shape.layers * 2 * 2 * tokens * (shape.context / 2) * width
    assert module("work").step_flop(shape, 24) == pytest.approx(3 * forward)


def test_each_variant_of_the_ledger_adds_to_the_one_before(problem: Problem) -> None:
    options = [problem.variants[name].options for name in ("eager", *LEDGER)]
    for before, after in itertools.pairwise(options):
        added = {key: value for key, value in after.items() if before.get(key) != value}
        assert len(added) == 1
        assert set(before) - set(after) <= {"fused"}  # the master optimizer is one kernel, too


def test_every_fix_was_predicted_by_the_arithmetic_that_is_committed(problem: Problem) -> None:
    known = json.loads((FOLDER / "predictions.json").read_text(encoding="utf-8"))
    assert [*known["fixes"]] == [*LEDGER, "in-backward"]
    assert set(known["fixes"]) <= set(problem.variants)
    for name, (moved, ms, why) in module("predict").fixes(known["ceilings"]["bf16"]).items():
        saved = moved / (known["ceilings"]["dram_copy"] * 1e9) * 1e3 + ms
        assert known["fixes"][name] == {"saves_ms": pytest.approx(saved, abs=1e-3), "because": why}


def test_the_text_is_plain_and_says_its_source() -> None:
    known = json.loads((FOLDER / "text.json").read_text(encoding="utf-8"))
    assert "public domain" in known["source"]
    assert "jargon-text" in known["source"]
    text = "\n".join(known["lines"])
    assert text.isascii()
    assert len(text) > 3 * 24 * 1024


CODE = """
import torch
from training import Training, distance, reference

BASE = {"model": "gpt2-tiny", "batch": 4, "precision": "autocast"}
VARIANTS = {
    "eager": {},
    "fused": {"fused": True},
    "padded": {"padded": True},
    "masters": {"padded": True, "precision": "masters"},
    "chunked": {"padded": True, "precision": "masters", "chunked": True},
    "in-backward": {"padded": True, "precision": "masters", "chunked": True, "in_backward": True},
}
losses, errors = {}, {}
for name, options in VARIANTS.items():
    training = Training(BASE | options, "cpu")
    errors[name] = distance(training.gradients(), reference(training))
    training.step()
    training.settle()
    losses[name] = []
    for number in range(40):
        training.load(number)
        losses[name].append(float(training.step()))
    assert losses[name][-1] < losses[name][0] - 0.5, (name, losses[name])
# Six rows of padding beside 250 take part in the softmax; all else is rounding.
assert errors["eager"] < 0.01, errors
assert all(error < 0.05 for error in errors.values()), errors
for one, other in (("eager", "fused"), ("padded", "masters"), ("masters", "chunked")):
    apart = max(abs(a - b) for a, b in zip(losses[one], losses[other]))
    assert apart < 0.05, (one, other, apart)
assert losses["chunked"] == losses["in-backward"]
"""


@pytest.mark.slow
@pytest.mark.skipif(PYTHON is None, reason="needs the CPU interpreter of the local engine (.envs)")
def test_every_variant_has_the_gradients_of_float32_and_learns_alike() -> None:
    done = subprocess.run(
        [str(PYTHON), "-c", CODE],
        cwd=FOLDER,
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
