"""Problem 5's arithmetic by another way, its manifest, and its variants on a CPU."""

import importlib
import itertools
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from types import ModuleType

import pytest

from harness.problem.manifest import find
from harness.problem.model import Problem
from tests.support.paths import ROOT
from tests.support.torch_cpu import PYTHON, needs_torch

FOLDER = ROOT / "problems" / "5-gpt2-step"
LEDGER = (
    *("fused-adamw", "padded", "masters", "compiled", "chunked-loss", "cudnn", "one-chunk"),
    *("head", "linears", "gelu", "sums", "one-launch", "one-reading", "epilogues", "graph"),
)
LATER = ("sums", "one-launch", "one-reading", "epilogues", "in-backward")
"""Predicted from the audit of the step before them."""


@pytest.fixture(scope="module", autouse=True)
def _scripts() -> Iterator[None]:
    """The problem's scripts are found as they find each other: in their own folder."""
    sys.path.insert(0, str(FOLDER))
    yield
    sys.path.remove(str(FOLDER))
    for name in ("shapes", "work", "predict", "energy"):
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


def audited(**ms: float) -> dict[str, object]:
    """Return an audit's JSON with a row for each part of a step, and ceilings of 4000 and 800."""
    places = {
        "optimizer": ("optimizer", "Optimizer.step#AdamW.step", "aten::_foreach_add_"),
        "head": ("backward", "gpt2 / head", "aten::mm"),
        "casts": ("forward", "gpt2 / blocks.* / norm_1", "aten::copy_"),
        "norms": ("forward", "gpt2 / blocks.* / norm_1", "aten::native_layer_norm"),
        "attention": ("forward", "gpt2 / blocks.* / attention", "aten::_flash_attention_forward"),
        "up": ("forward", "gpt2 / blocks.* / up", "aten::addmm"),
        "sums": ("backward", "gpt2", "triton_per_fused_add_native_layer_norm_backward_view_6"),
        "stacked": ("backward", "gpt2", "triton_poi_fused_clone_permute_stack_7"),
        "biases": ("backward", "gpt2", "aten::sum"),
        "gelu": ("backward", "gpt2", "worklogs::bias_gelu_backward"),
        "loss": ("loss", "loss", "ChunkedLoss"),
        "scaled": ("backward", "loss", "aten::mul"),
    }
    keys = ("phase", "path", "operator")
    rows = [dict(zip(keys, places[part], strict=True)) | {"ms": ms[part]} for part in ms]
    limits = {"dram_gb_s": 5000.0, "dram_reached": 0.8, "bf16_tflop_s": 1000.0}
    return {"rows": rows, "limits": limits | {"tensor_reached": 0.8}}


def test_a_fix_saves_what_its_part_takes_less_what_has_to_stay(problem: Problem) -> None:
    predict = module("predict")
    parts = {"optimizer": 5.0, "head": 40.0, "casts": 6.0, "norms": 20.0, "attention": 7.0}
    found = predict.fixes(predict.Baseline.of(audited(**parts, up=9.0)))
    assert [*found] == [name for name in LEDGER if name not in LATER]
    assert set(found) <= set(problem.variants)
    saved = {name: ms for name, (ms, _) in found.items()}
    weights = 12 * 12 * 768**2 + 50257 * 768
    assert saved["fused-adamw"] == pytest.approx(5 - 28 * weights / 4e12 * 1e3)
    head_flop = 6 * 24 * 1024 * 50257 * 768
    assert saved["padded"] == pytest.approx(40 - head_flop / (0.72 * 800e12) * 1e3)
    states, logits = 24 * 1024 * 768, 24 * 1024 * 50257
    # Of float32's 8 bytes forward and 12 backward half go: two norms, two residuals, one softmax.
    fewer = 12 * 2 * (4 + 6 + 4 + 6) * states + (4 + 6) * logits
    assert saved["masters"] == pytest.approx(6 + fewer / 4e12 * 1e3)
    between = 12 * 2 * 50 * states + 2 * 4 * logits
    assert saved["compiled"] == pytest.approx(20 - (fewer + between) / 4e12 * 1e3)
    assert saved["cudnn"] == pytest.approx(7 * (1 - 306 / 373))
    assert saved["gelu"] == pytest.approx(12 * 4 * 4 * states / 4e12 * 1e3)
    assert saved["head"] > 0
    assert saved["linears"] > 0


def test_fixes_after_gelu_are_predicted_from_its_step() -> None:
    predict = module("predict")
    parts = {"sums": 3.0, "stacked": 1.0, "biases": 0.5, "norms": 2.0, "optimizer": 1.5}
    parts |= {"loss": 1.8, "scaled": 0.2, "head": 7.0}
    found = predict.fixes_after_gelu(predict.Baseline.of(audited(**parts)))
    assert [*found] == [name for name in LATER if name != "epilogues"]
    weights, states, logits = 12 * 12 * 768**2 + 50257 * 768, 24 * 1024 * 768, 24 * 1024 * 50257
    ms = 1e3 / 4e12
    # A norm reads three tensors and writes one; queries, keys and values are read and written.
    stays = 12 * (2 * 4 + 3 * 2) * 2 * states * ms
    assert found["sums"][0] == pytest.approx(3 + 1 + 0.5 - stays)
    assert found["one-launch"][0] == pytest.approx(1.5 - 28 * weights * ms)
    assert found["in-backward"][0] == -found["one-launch"][0]
    assert found["one-reading"][0] == pytest.approx(1.8 + 0.2 - 4 * logits * ms)


def test_epilogues_save_gelu_and_what_additions_read_and_write() -> None:
    predict = module("predict")
    found = predict.fixes_after_one_reading(predict.Baseline.of(audited(gelu=2.4, norms=1.0)))
    # Twice in each of 12 blocks, 2 bytes of each state are neither written nor read again.
    fewer = 12 * 2 * (2 + 2) * 24 * 1024 * 768
    assert found["epilogues"][0] == pytest.approx(2.4 + fewer / 4e12 * 1e3)


def test_predictions_need_the_ceilings_of_this_gpu() -> None:
    audit = audited(norms=1.0)
    audit["limits"]["dram_reached"] = None  # type: ignore[index]  # a dictionary
    with pytest.raises(ValueError, match="no measured ceilings"):
        module("predict").Baseline.of(audit)


def test_the_energy_of_a_step_is_its_power_times_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    energy = module("energy")
    calls: list[str] = []

    class Monitor:
        """A GPU that is allowed 700 W and takes 350 W while it is watched."""

        def watch(self, done: Callable[[], bool]) -> tuple[float, float]:
            while not done():
                time.sleep(0.001)
            return 1500.0, 350.0

        def limit(self) -> float:
            return 700.0

    def step() -> None:
        calls.append("step")
        time.sleep(0.01)

    monkeypatch.setattr(energy, "Monitor", Monitor)
    monkeypatch.setattr(energy, "_SECONDS", 0.2)
    clock, share, joules = energy.watched(step, lambda: calls.append("synchronize"))
    assert (clock, share) == (1500.0, 0.5)
    assert joules >= 350 * 0.01  # a step sleeps for 10 ms at least
    assert calls[:3] == ["step", "step", "synchronize"]
    assert calls.count("step") == 2 * calls.count("synchronize")


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

torch.set_num_threads(1)  # the sizes are tiny
BASE = {"model": "gpt2-tiny", "batch": 4, "precision": "autocast", "warmup_steps": 5}
VARIANTS = {
    "eager": {},
    "fused": {"fused": True},
    "padded": {"padded": True},
    "masters": {"padded": True, "precision": "masters"},
    "chunked": {"padded": True, "precision": "masters", "chunks": 4},
    "in-backward": {"padded": True, "precision": "masters", "chunks": 4, "in_backward": True},
    "one-chunk": {"padded": True, "precision": "masters", "chunks": 1},
    "head": {"padded": True, "precision": "masters", "chunks": 1, "kernels": "head"},
    "linears": {"padded": True, "precision": "masters", "chunks": 1, "kernels": "linears"},
    "gelu": {"padded": True, "precision": "masters", "chunks": 1, "kernels": "linears",
             "gelu": True},
    "sums": {"padded": True, "precision": "masters", "chunks": 1, "kernels": "linears",
             "gelu": True, "sums": True, "one_launch": True, "one_reading": True},
    "epilogues": {"padded": True, "precision": "masters", "chunks": 1, "kernels": "linears",
                  "gelu": True, "sums": True, "one_launch": True, "one_reading": True,
                  "epilogues": True},
}
losses, errors = {}, {}
for name, options in VARIANTS.items():
    training = Training(BASE | options, "cpu")
    errors[name] = distance(training.gradients(), reference(training))
    training.step()
    training.settle()
    training.restart()
    losses[name] = []
    for number in range(40):
        training.load(number)
        losses[name].append(float(training.step()))
    assert losses[name][-1] < losses[name][0] - 0.5, (name, losses[name])
# Six rows of padding beside 250 take part in the softmax; all else is rounding.
assert errors["eager"] < 0.01, errors
assert all(error < 0.05 for error in errors.values()), errors
for one, other in (("eager", "fused"), ("padded", "masters"), ("masters", "chunked"),
                   ("chunked", "one-chunk"), ("head", "linears"), ("linears", "gelu"),
                   ("gelu", "sums"), ("sums", "epilogues")):
    apart = max(abs(a - b) for a, b in zip(losses[one], losses[other]))
    assert apart < 0.05, (one, other, apart)
assert losses["chunked"] == losses["in-backward"]
assert losses["one-chunk"] == losses["head"]
"""


@pytest.mark.slow
@needs_torch
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
