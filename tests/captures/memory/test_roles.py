"""What part of a program asked for a block, by stacks as torch records them."""

from pathlib import Path
from typing import Any

import pytest

from harness.captures.memory.stacks import StackNames

TORCH = "/usr/lib/python3/site-packages/torch"
STEP = ("/app/train.py", "step")
CALL = (f"{TORCH}/nn/modules/module.py", "_call_impl")
STACKS: list[tuple[str | None, list[tuple[str, str]]]] = [
    (None, []),
    (None, [("??", "at::_ops::mm::call"), ("??", "torch::autograd::engine")]),
    (None, [(f"{TORCH}/autograd/graph.py", "_engine_run_backward")]),
    ("program", [STEP]),
    ("program", [(f"{TORCH}/functional.py", "einsum"), STEP]),
    ("module", [(f"{TORCH}/nn/functional.py", "linear"), CALL, STEP]),
    ("module", [("/app/model.py", "forward"), CALL, STEP]),
    ("module", [("/cache/inductor/ab.py", "call"), (f"{TORCH}/_dynamo/eval_frame.py", "c")]),
    ("weights", [(f"{TORCH}/nn/modules/linear.py", "__init__"), ("/app/model.py", "__init__")]),
    ("weights", [(f"{TORCH}/nn/modules/module.py", "_apply"), ("/app/model.py", "build")]),
    ("program", [(f"{TORCH}/nn/parameter.py", "__deepcopy__"), ("/lib/copy.py", "deepcopy")]),
    (
        "checkpoint",
        [(f"{TORCH}/_utils.py", "_to"), (f"{TORCH}/serialization.py", "load_tensor"), STEP],
    ),
    ("checkpoint", [("/lib/site-packages/safetensors/torch.py", "load_file"), STEP]),
    ("optimizer", [(f"{TORCH}/optim/adam.py", "_multi_tensor_adam"), STEP]),
    # A closure that an optimizer calls, and the wrapper by which a scheduler counts steps.
    (
        "module",
        [("/app/model.py", "forward"), CALL, STEP, (f"{TORCH}/optim/adam.py", "step"), STEP],
    ),
    ("program", [(f"{TORCH}/optim/lr_scheduler.py", "wrapper"), STEP]),
]


@pytest.mark.parametrize(("role", "frames"), STACKS)
def test_the_role_is_that_of_the_innermost_frames(
    role: str | None, frames: list[tuple[str, str]], tmp_path: Path
) -> None:
    stack: list[Any] = [
        {"filename": file, "line": at, "name": name} for at, (file, name) in enumerate(frames)
    ]
    assert StackNames(tmp_path).role(stack) == role


def test_a_file_of_windows_counts_as_one_with_slashes(tmp_path: Path) -> None:
    frames = [(r"C:\site-packages\torch\optim\sgd.py", "sgd"), (r"C:\app\train.py", "step")]
    stack = [{"filename": file, "line": 1, "name": name} for file, name in frames]
    assert StackNames(tmp_path).role(stack) == "optimizer"


def test_no_list_is_no_stack(tmp_path: Path) -> None:
    assert StackNames(tmp_path).role(None) is None
    assert StackNames(tmp_path).role("stack") is None
