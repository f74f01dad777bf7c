"""The manifest: a ladder of single changes, the contenders of a step, and what a CPU judges."""

import itertools
import re
from types import ModuleType

import pytest

from harness.problem.model import Advice, Problem
from harness.problem.plan import Selected, plan
from tests.support.diffusion_study import FOLDER

LADDER = ("default", "channels-last", "fused", "blocks", "regions", "graph", "decoder")


def test_each_rung_changes_one_switch(problem: Problem) -> None:
    options = [problem.variants[name].options for name in LADDER]
    for before, after in itertools.pairwise(options):
        keys = before.keys() | after.keys()
        assert sum(before.get(key) != after.get(key) for key in keys) == 1


def test_contenders_of_a_step_are_rungs(problem: Problem) -> None:
    contenders = problem.cases["sdxl"].params["contenders"]
    for name in LADDER[:5]:
        assert contenders[name] == problem.variants[name].options


def test_advice_leaves_out_only_what_it_names(problem: Problem) -> None:
    for advice in problem.advice:
        assert isinstance(advice, Advice)
        assert all(advice.but.values())
        rivals = [
            name
            for name in problem.variants
            if problem.covers("timing", name, "image", "cuda")
            and name not in {advice.take, advice.instead_of, *advice.but}
        ]
        assert len(rivals) >= 2, advice.id


def test_a_cpu_checks_outputs_of_tiny_models(problem: Problem) -> None:
    cells = plan(problem, Selected(short=True), "cpu")
    assert {(cell.case, cell.variant) for cell in cells} == {
        ("sdxl", "in-turn"),
        ("streams", "in-turn"),
    }
    assert all("tiny" in cell.params["model"] for cell in plan(problem, Selected(), "cpu"))


def test_the_short_path_compiles_no_whole_unet(problem: Problem) -> None:
    for cell in plan(problem, Selected(short=True), "cuda"):
        switches = [cell.params, *cell.params.get("contenders", {}).values()]
        used = switches if cell.params["workload"] == "step" else switches[:1]
        assert all(each.get("compile") != "whole" for each in used), cell.name


def test_the_lock_has_neither_torch_nor_an_address(problem: Problem) -> None:
    lock = problem.environments["diffusers"].lock
    assert lock is not None
    text = (FOLDER / lock).read_text()
    assert not re.search(r"^(torch|numpy|nvidia-\S+|triton)==", text, re.MULTILINE)
    assert not re.search(r"://|--(extra-)?index", text)


@pytest.mark.parametrize("model", ["sdxl", "sdxl-tiny"])
def test_text_encoders_fit_the_unet(modules: dict[str, ModuleType], model: str) -> None:
    shapes = modules["shapes"]
    unet, (first, second) = shapes.UNET[model], shapes.CLIP[model]
    assert first["hidden_size"] + second["hidden_size"] == unet["cross_attention_dim"]
    sizes = 6 * unet["addition_time_embed_dim"]
    pooled = unet["projection_class_embeddings_input_dim"] - sizes
    assert second["projection_dim"] == pooled


@pytest.mark.parametrize("model", ["flux", "flux-tiny"])
def test_rotary_axes_fill_a_head(modules: dict[str, ModuleType], model: str) -> None:
    config = modules["shapes"].DIT[model]
    assert sum(config["axes_dims_rope"]) == config["attention_head_dim"]


def test_every_turn_times_each_step_once_after_a_first_call(modules: dict[str, ModuleType]) -> None:
    called: list[str] = []
    steps = {name: lambda name=name: called.append(name) for name in ("a", "b", "c")}
    found = modules["turns"].alternated(steps, 4, lambda: None)
    assert called[:3] == ["a", "b", "c"]
    for turn in range(4):
        assert sorted(called[3 + 3 * turn : 6 + 3 * turn]) == ["a", "b", "c"]
    for metrics in found.values():
        assert [len(values) for values in metrics.values()] == [4, 4]
        pairs = zip(metrics["host_ms"], metrics["step_ms"], strict=True)
        assert all(0 <= host <= step for host, step in pairs)
