"""The frames of the program's own code, and what they called, as nested spans say them."""

import json
from pathlib import Path
from typing import Any

import pytest

from harness.captures.torch.read import read


def frame(name: str, start: int, duration: int, thread: int = 1, **changes: Any) -> dict[str, Any]:
    named = {"cat": "python_function", "name": name, "tid": thread}
    return named | {"ts": start, "dur": duration} | changes


MAIN = frame("train.py(3): main", 0, 1000)
LOAD = frame("data/load.py(41): load", 100, 200)


@pytest.mark.parametrize(
    ("inside", "rows"),
    [
        pytest.param([], [("train.py:3 main()", None, 0, 1000)], id="its own lines"),
        pytest.param(
            [LOAD],
            [
                ("train.py:3 main()", None, 0, 100),
                ("data/load.py:41 load()", None, 100, 200),
                ("train.py:3 main()", None, 300, 700),
            ],
            id="the innermost",
        ),
        pytest.param(
            [frame("queue.py(154): get", 0, 900), frame("threading.py(323): wait", 5, 800)],
            [
                ("train.py:3 main()", "queue.py get()", 0, 900),
                ("train.py:3 main()", None, 900, 100),
            ],
            id="called is the outermost of the library",
        ),
        pytest.param(
            [frame("<built-in function sleep>", 0, 1000)],
            [("train.py:3 main()", "sleep()", 0, 1000)],
            id="in C",
        ),
        pytest.param(
            [
                frame("torch/nn/functional.py(2914): layer_norm", 0, 500),
                frame("<built-in method layer_norm of type object at 0x7f92>", 500, 400),
                frame("aten::relu", 900, 100, cat="cpu_op"),
            ],
            [],
            id="torch's code is not the program's",
        ),
        pytest.param(
            [
                frame("nn.Module: Net_0", 0, 1000),
                frame("torch/nn/modules/module.py(1783): _call_impl", 1, 998),
                frame("net.py(7): forward", 2, 900),
            ],
            [("net.py:7 forward()", None, 2, 900)],
            id="a module's own forward",
        ),
        pytest.param(
            [frame("/opt/x/lib/python3.12/site-packages/tqdm/std.py(1): update", 0, 1000)],
            [
                (
                    "train.py:3 main()",
                    "/opt/x/lib/python3.12/site-packages/tqdm/std.py update()",
                    0,
                    1000,
                )
            ],
            id="a package",
        ),
        pytest.param(
            [frame("data/load.py(41): load", 0, 4), frame("x.py(1): f", 0, 50, thread=2)],
            [("train.py:3 main()", None, 0, 1000), ("x.py:1 f()", None, 0, 50)],
            id="short, and of another thread",
        ),
        pytest.param(
            [frame("a.py(1): f", 500, 900)],
            [("train.py:3 main()", None, 0, 500), ("a.py:1 f()", None, 500, 900)],
            id="beyond the frame around it",
        ),
        pytest.param(
            [frame("a.py(1): f", 0, 50, dur=None), frame("a.py(1): f", 0, 50, ts=None)],
            [("train.py:3 main()", None, 0, 1000)],
            id="without a time",
        ),
    ],
)
def test_frames_are_the_programs_own(
    tmp_path: Path, inside: list[dict[str, Any]], rows: list[tuple[str, str | None, int, int]]
) -> None:
    path = tmp_path / "trace.json"
    path.write_text(json.dumps([MAIN, *inside]))
    frames = read(path)["frames"].select("name", "called", "start_ns", "duration_ns")
    assert frames.rows() == [(*words, start * 1000, ns * 1000) for *words, start, ns in rows]
