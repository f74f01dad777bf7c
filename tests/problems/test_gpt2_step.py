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
FROM_EAGER, BY_TIMES = LEDGER[:5], {"head", "epilogues"}
"""Predicted from the eager step's audit, and from kernels' times; others from later steps."""


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
    "gelu_read": ("backward", "gpt2", "triton_red_fused_gelu_gelu_backward_sum_view_5"),
    "gelu_forward": ("forward", "gpt2", "triton_poi_fused_add_gelu_view_2"),
    "log_softmax": ("loss", "gpt2", "triton_red_fused__log_softmax_prepare_softmax_online_4"),
    "softmax_gradient": ("backward", "gpt2", "triton_red_fused__log_softmax_backward_data_add"),
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
GPU = "NVIDIA H200"


def audited(**ms: float) -> dict[str, object]:
    """Return an audit's JSON with 10 launches for each part; ceilings of 4500 GB/s, 800 TFLOP/s."""
    keys = ("phase", "path", "operator")
    rows: list[dict[str, object]] = []
    for part, taken in ms.items():
        kernel = "GammaBeta" if part == "norm_weights" else ""
        row: dict[str, object] = {"ms": taken, "launches": 10, "kernel": kernel}
        rows.append(row | dict(zip(keys, PLACES[part], strict=True)))
    limits = {"gpu": GPU, "dram_gb_s": 5000.0, "dram_reached": 0.9, "bf16_tflop_s": 1000.0}
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


@pytest.fixture
def timed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels with known times under load: three products of two models, and their epilogues."""
    us = {
        "24576x50304x768:nt:bf16": {"torch.mm": 3000.0, "a": 2800.0},
        "24576x3072x768:nt:bf16": {"torch.mm": 190.0, "a": 180.0},
        "768x768x24576:tn:bf16": {"torch.mm": 50.0, "a": 60.0},
        "24576x768x2304:nn:bf16": {"torch.mm": 140.0, "a": 100.0},  # of no layer that changes
        "8192x4096x1024:nt:bf16": {"torch.mm": 110.0, "a": 90.0},
        "8192x1024x3072:nn:bf16": {"torch.mm": 80.0, "a": 70.0},  # of no layer that changes
    }
    chosen = dict.fromkeys(us, "a") | {"768x768x24576:tn:bf16": "torch.mm"}
    up, down = {"fused": 220.0, "apart": 260.0}, {"fused": 190.0, "apart": 170.0}
    epilogues = {"step": {"up": up, "down": down}, "medium": {"up": up}}
    choices = tmp_path / "choices.json"
    document = {GPU: {"choices": chosen, "us": us, "epilogues": epilogues}}
    choices.write_text(json.dumps(document), encoding="utf-8")
    monkeypatch.setattr(module("predict"), "CHOICES", choices)


@pytest.mark.usefixtures("timed")
def test_products_and_epilogues_save_what_they_take_less_under_load() -> None:
    predict = module("predict")
    known = predict.Audit.of(audited())
    found = saved(predict.fixes_by_times(predict.CASES["step"], known))
    assert set(found) == BY_TIMES
    assert found["head"] == pytest.approx(0.2)
    states, ms = 12 * 24 * 1024 * 768, 1e3 / BANDWIDTH
    # Twice in each block, 2 bytes of each state are neither written nor read again.
    assert found["epilogues"] == pytest.approx(12 * (40 - 20) / 1e3 + 2 * (2 + 2) * states * ms)
    other = saved(predict.fixes_by_times(predict.CASES["medium"], known))
    states = 24 * 8 * 1024 * 1024
    assert other["epilogues"] == pytest.approx(24 * 40 / 1e3 + 2 * (2 + 2) * states * ms)


@pytest.mark.usefixtures("timed")
def test_later_fixes_are_predicted_from_the_steps_before_them() -> None:
    predict = module("predict")
    work = predict.CASES["step"]
    weights, states = 12 * 12 * 768**2 + 50257 * 768, 12 * 24 * 1024 * 768
    logits, ms = 24 * 1024 * 50257, 1e3 / BANDWIDTH
    compiled = predict.Audit.of(audited(log_softmax=1.7, softmax_gradient=1.5, up=9.0))
    losses = saved(predict.fixes_after_compiled(compiled, work))
    accumulated = 3 * 3 * 2 * 50257 * 768 * ms
    assert losses["one-chunk"] == pytest.approx(accumulated)
    assert losses["chunked-loss"] == pytest.approx(3.2 - 3 * 2 * logits * ms - accumulated)
    head = predict.Audit.of(audited(gelu_read=0.5, gelu_gradient=1.5, gelu_forward=1.2))
    products = saved(predict.fixes_after_head(head, work))
    assert products == {"linears": pytest.approx(12 * 0.01 + 0.5 - 1.5)}
    linears = predict.Audit.of(audited(gelu_again=1.7, gelu_gradient=1.5, gelu_forward=1.3))
    gelu = saved(predict.fixes_after_linears(linears, work))
    assert gelu == {"gelu": pytest.approx(1.7 + 1.5 + 1.3 - 4 * (4 + 6) * states * ms)}
    parts = {"norm_gradient": 3.0, "stacked_sum": 1.0, "biases": 0.5, "optimizer": 1.5}
    audit = predict.Audit.of(audited(**parts, loss=1.8, scaled=0.2, head=7.0))
    found = saved(predict.fixes_after_gelu(audit, work))
    assert found["sums"] == pytest.approx(1 + 0.5)
    assert found["one-launch"] == pytest.approx(1.5 - 28 * weights * ms)
    assert found["one-reading"] == pytest.approx(1.8 + 0.2 - 4 * logits * ms)
    assert {*FROM_EAGER, *BY_TIMES, *losses, *products, *gelu, *found} == {*LEDGER}


def test_an_audit_of_other_work_grows_with_what_each_kernel_computes() -> None:
    predict = module("predict")
    step, medium = predict.CASES["step"], predict.CASES["medium"]
    audit = predict.Audit.of(audited(optimizer=1.5, loss=1.8, gelu_forward=1.2))
    other = {row["operator"]: row["ms"] for row in audit.scaled(step, medium).rows}
    assert other["ChunkedLoss"] == pytest.approx(1.8 / 3)  # a third of the tokens
    states = (8 * 1024 * 24) / (24 * 768 * 12)
    assert other["triton_poi_fused_add_gelu_view_2"] == pytest.approx(1.2 * states)
    bytes_of = [28 * (12 * 12 * 768**2 + 50257 * 768), 28 * (12 * 24 * 1024**2 + 50257 * 1024)]
    before, after = (1e3 * number / BANDWIDTH for number in bytes_of)
    tensors = (24 * 12 + 4) / (12 * 12 + 4)
    assert other["aten::_foreach_add_"] == pytest.approx(after + (1.5 - before) * tensors)


def test_every_fix_of_both_models_has_its_prediction(problem: Problem) -> None:
    document = json.loads((FOLDER / "predictions.json").read_text(encoding="utf-8"))
    timed = problem.captures["timing"].cells
    for of_gpu in document.values():
        for case in ("step", "medium"):
            predicted = of_gpu[case]["fixes"]
            measured = LEDGER if case == "step" else timed[case]
            assert {name for name in measured if name in LEDGER} <= set(predicted)


@pytest.mark.usefixtures("timed")
def test_a_gpu_whose_products_were_not_timed_has_no_predictions() -> None:
    predict = module("predict")
    audit = audited()
    audit["limits"]["gpu"] = "NVIDIA H300"  # type: ignore[index]  # a dictionary
    with pytest.raises(ValueError, match="nothing of NVIDIA H300"):
        predict.fixes_by_times(predict.CASES["step"], predict.Audit.of(audit))


def test_predictions_need_the_ceilings_of_this_gpu() -> None:
    audit = audited(norms=1.0)
    audit["limits"]["dram_reached"] = None  # type: ignore[index]  # a dictionary
    with pytest.raises(ValueError, match="no measured ceilings"):
        module("predict").Audit.of(audit)


@pytest.mark.parametrize(
    ("text", "said"), [("{", "Expecting"), ("{}", "no measured ceilings"), (None, "No such file")]
)
def test_what_is_no_audit_is_one_line_and_exit_code_2(
    tmp_path: Path, text: str | None, said: str
) -> None:
    path = tmp_path / "audit.json"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    argv = [sys.executable, str(FOLDER / "predict.py"), "step", str(path)]
    ended = subprocess.run(argv, check=False, capture_output=True, text=True)
    assert ended.returncode == 2
    assert "Traceback" not in ended.stderr
    assert "audit.json" in ended.stderr.splitlines()[-1]
    assert said in ended.stderr.splitlines()[-1]


def test_the_energy_of_a_step_is_its_power_times_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    energy = module("energy")
    calls: list[str] = []

    class Monitor:
        """A GPU that is allowed 700 W and takes 350 W while it is watched."""

        def watch(self, done: Callable[[], bool], _period_s: float) -> tuple[float, float]:
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
    assert calls[:6] == [*["step"] * 5, "synchronize"]
    assert calls.count("step") == 5 * calls.count("synchronize")


def test_each_side_of_a_turn_settles_before_it_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    turns = module("turns")
    now = 0.0
    runs: dict[float, int] = {0.02: 0, 0.04: 0}
    last = 0.0

    def costing(seconds: float) -> Callable[[], None]:
        since = 0

        def run() -> None:
            nonlocal now, last, since
            since = since + 1 if last == seconds else 1
            last = seconds
            runs[seconds] += 1
            now += seconds * (2 if since < 4 else 1)  # at first it finds the other's clock

        return run

    monkeypatch.setattr(turns.time, "perf_counter", lambda: now)
    found = turns.in_turns(costing(0.02), costing(0.04), 3, lambda: None)
    assert found == [(pytest.approx(0.02), pytest.approx(0.04))] * 3
    assert runs == {0.02: 3 + 3 * 13, 0.04: 3 + 3 * 7}  # by a first step of 40 and of 80 ms


def test_the_text_is_plain_and_says_its_source() -> None:
    known = json.loads((FOLDER / "text.json").read_text(encoding="utf-8"))
    assert "public domain" in known["source"]
    assert "jargon-text" in known["source"]
    text = "\n".join(known["lines"])
    assert text.isascii()
    assert len(text) > 3 * 24 * 1024


CODE = """
import torch
from training import Training, distance, reference, worst_distance

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

# A single weight that is wrong hides in the distance of all, and not in the worst.
right = {"large": torch.full((100,), 10.0), "small": torch.full((4,), 0.5), "none": torch.zeros(3)}
found = {name: weight.clone() for name, weight in right.items()}
found["small"] *= 1.2
found["none"] += 1e-3
assert distance(found, right) < 0.003
assert abs(worst_distance(found, right) - 0.2) < 1e-6

# A choice that problem 8 no longer has is an error, and not the model's choice instead.
import products
first = next(products.problems(next(iter(products.CASES.values()))))
name = products.key(first, "bf16")
known = next(iter(products.plans(first)))
assert products._chosen_plan(first, {name: known.name}).name == known.name
assert products._chosen_plan(first, {name: products.LIBRARY}) is None
assert products._chosen_plan(first, {}) is None
try:
    products._chosen_plan(first, {name: "gone"})
except ValueError as error:
    assert "no plan gone" in str(error)
else:
    raise AssertionError("a plan that is gone was taken")
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
