"""Problem 5's arithmetic by another way, its manifest, and its variants on a CPU."""

import importlib
import itertools
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from harness.problem.manifest import find
from harness.problem.model import Problem
from tests.support.paths import ROOT
from tests.support.torch_cpu import PYTHON, needs_torch

FOLDER = ROOT / "problems" / "5-gpt2-step"
LEDGER = (
    *("fused-adamw", "padded", "masters", "compiled", "graph", "chunked-loss", "one-chunk"),
    *("head", "linears", "gelu", "sums", "one-launch", "one-reading", "epilogues"),
)
FROM_EAGER = LEDGER[:7]
"""Predicted from the audit of the eager step; then from products' times and later steps."""


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


ADAMW, HEAD, BLOCKS = "Optimizer.step#AdamW.step", "gpt2 / head", "gpt2 / blocks.*"
PLACES = {
    "optimizer": ("optimizer", ADAMW, "aten::_foreach_add_"),
    "head": ("backward", HEAD, "aten::mm"),
    "casts": ("forward", f"{BLOCKS} / norm_1", "aten::copy_"),
    "transposes": ("backward", f"{BLOCKS} / attention", "aten::copy_"),
    "stacks": ("backward", f"{BLOCKS} / attention", "aten::cat"),
    "additions": ("forward", BLOCKS, "aten::add"),
    "norms": ("forward", f"{BLOCKS} / norm_1", "aten::native_layer_norm"),
    "norm_weights": ("backward", f"{BLOCKS} / norm_1", "aten::native_layer_norm_backward"),
    "softmax": ("loss", "gpt2 / loss", "aten::_log_softmax"),
    "attention": ("forward", f"{BLOCKS} / attention", "aten::_cudnn_attention_forward"),
    "up": ("forward", f"{BLOCKS} / up", "aten::addmm"),
    "gelu_again": ("backward", "gpt2", "triton_red_fused_add_gelu_gelu_backward_sum_view_4"),
    "gelu_gradient": ("backward", "gpt2", "triton_poi_fused_add_gelu_gelu_backward_view_6"),
    "norm_gradient": ("backward", "gpt2", "triton_per_fused_add_native_layer_norm_sum_view_6"),
    "stacked_sum": ("backward", "gpt2", "triton_red_fused_clone_permute_stack_sum_view_8"),
    "biases": ("backward", "gpt2", "aten::sum"),
    "gelu": ("backward", "gpt2", "worklogs::bias_gelu_backward"),
    "loss": ("loss", "loss", "ChunkedLoss"),
    "scaled": ("backward", "loss", "aten::mul"),
}
BANDWIDTH = 0.85 * 5000e9


def audited(**ms: float) -> dict[str, object]:
    """Return an audit's JSON with 10 launches for each part; ceilings of 4500 GB/s, 800 TFLOP/s."""
    keys = ("phase", "path", "operator")
    rows: list[dict[str, object]] = []
    for part, taken in ms.items():
        kernel = "GammaBeta" if part == "norm_weights" else ""
        row: dict[str, object] = {"ms": taken, "launches": 10, "kernel": kernel}
        rows.append(row | dict(zip(keys, PLACES[part], strict=True)))
    limits = {"dram_gb_s": 5000.0, "dram_reached": 0.9, "bf16_tflop_s": 1000.0}
    return {"rows": rows, "limits": limits | {"tensor_reached": 0.8}}


def saved(fixes: dict[str, tuple[float, str]]) -> dict[str, float]:
    return {name: ms for name, (ms, _) in fixes.items()}


def test_a_fix_saves_the_kernels_that_go_less_what_is_written_anew(problem: Problem) -> None:
    predict = module("predict")
    parts = {"optimizer": 5.0, "head": 40.0, "casts": 6.0, "transposes": 2.0, "stacks": 3.0}
    parts |= {"additions": 4.0, "norms": 20.0, "norm_weights": 2.5, "softmax": 1.5, "up": 9.0}
    audit = predict.Audit.of(audited(**parts, attention=7.0))
    found = saved(predict.fixes(audit, predict.CASES["step"]))
    assert tuple(found) == FROM_EAGER
    assert set(found) <= set(problem.variants)
    weights, states = 12 * 12 * 768**2 + 50257 * 768, 12 * 24 * 1024 * 768
    ms = 1e3 / BANDWIDTH
    assert found["fused-adamw"] == pytest.approx(5 - 28 * weights * ms)
    head_flop = 6 * 24 * 1024 * 50257 * 768
    assert found["padded"] == pytest.approx(40 - head_flop / (0.72 * 800e12) * 1e3)
    assert found["masters"] == pytest.approx(6 + 4 / 2)  # attention's copies are no casts
    # Transposes, stacks, the other half of additions and norms' weights; a pass of 12 bytes comes.
    assert found["compiled"] == pytest.approx(2 + 3 + 2 + 2.5 - 12 * states * ms)
    assert found["graph"] == pytest.approx(0.001 * 10 * 5)  # head, up, attention, norms, softmax
    accumulated = 3 * 3 * 2 * 50257 * 768 * ms
    assert found["chunked-loss"] == pytest.approx(1.5 - accumulated)
    assert found["one-chunk"] == pytest.approx(accumulated)


def test_products_save_what_they_take_less_under_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    predict = module("predict")
    us = {
        "24576x50304x768:nt:bf16": {"torch.mm": 3000.0, "a": 2800.0},
        "24576x3072x768:nt:bf16": {"torch.mm": 190.0, "a": 180.0},
        "768x768x24576:tn:bf16": {"torch.mm": 50.0, "a": 60.0},
        "24576x768x2304:nn:bf16": {"torch.mm": 140.0, "a": 100.0},  # of no layer that changes
    }
    chosen = dict.fromkeys(us, "a") | {"768x768x24576:tn:bf16": "torch.mm"}
    choices = tmp_path / "choices.json"
    choices.write_text(json.dumps({"choices": chosen, "us": us}), encoding="utf-8")
    monkeypatch.setattr(predict, "CHOICES", choices)
    found = saved(predict.fixes_by_products(12))
    assert found == {"head": pytest.approx(0.2), "linears": pytest.approx(12 * 0.01)}


def test_later_fixes_are_predicted_from_the_steps_before_them() -> None:
    predict = module("predict")
    work = predict.CASES["step"]
    weights, states = 12 * 12 * 768**2 + 50257 * 768, 12 * 24 * 1024 * 768
    ms = 1e3 / BANDWIDTH
    linears = predict.Audit.of(audited(gelu_again=1.7, gelu_gradient=1.5))
    assert saved(predict.fixes_after_linears(linears, work)) == {"gelu": 1.7}
    parts = {"norm_gradient": 3.0, "stacked_sum": 1.0, "biases": 0.5, "optimizer": 1.5}
    gelu = predict.Audit.of(audited(**parts, loss=1.8, scaled=0.2, head=7.0))
    found = saved(predict.fixes_after_gelu(gelu, work))
    assert found["sums"] == pytest.approx(1 + 0.5)
    assert found["one-launch"] == pytest.approx(1.5 - 28 * weights * ms)
    assert found["one-reading"] == pytest.approx(1.8 + 0.2 - 4 * 24 * 1024 * 50257 * ms)
    before = predict.Audit.of(audited(gelu=2.4, norms=1.0))
    last = saved(predict.fixes_after_one_reading(before, work))
    # Twice in each block, 2 bytes of each state are neither written nor read again.
    assert last == {"epilogues": pytest.approx(2.4 + 2 * (2 + 2) * states * ms)}
    by_products = predict.fixes_by_products(work.shape.layers)
    assert {*FROM_EAGER, *by_products, *found, *last, "gelu"} == {*LEDGER}


def test_every_fix_of_both_models_has_its_prediction(problem: Problem) -> None:
    document = json.loads((FOLDER / "predictions.json").read_text(encoding="utf-8"))
    timed = problem.captures["timing"].cells
    for case in ("step", "medium"):
        predicted = document[case]["fixes"]
        measured = LEDGER if case == "step" else timed[case]
        assert {name for name in measured if name in LEDGER} <= set(predicted)


def test_predictions_need_the_ceilings_of_this_gpu() -> None:
    audit = audited(norms=1.0)
    audit["limits"]["dram_reached"] = None  # type: ignore[index]  # a dictionary
    with pytest.raises(SystemExit, match="no measured ceilings"):
        module("predict").Audit.of(audit)


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
