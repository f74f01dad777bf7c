"""A worker that hangs or dies costs one kernel; what was measured stays, and is not repeated."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

WORKER = """
import json, sys, time
told = json.loads(sys.argv[1])
for line in sys.stdin:
    problem = line.strip()
    for step in ("good", "hangs", "dies"):
        if step in told["avoided"]:
            continue
        print(f"AT {problem} {step} plan", flush=True)
        if step == "hangs":
            time.sleep(60)
        if step == "dies":
            sys.exit(3)
    print("ROW " + json.dumps({"plan": "good", "step": "good", "wrong": ""}), flush=True)
    print("AT the next problem", flush=True)
"""


@pytest.fixture
def measure(
    module: Callable[[str], ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> ModuleType:
    loaded = module("measure_shapes")
    (tmp_path / "measuring.py").write_text(WORKER)
    monkeypatch.setattr(loaded, "HERE", tmp_path)
    monkeypatch.setattr(loaded, "summary", lambda *_: "")
    return loaded


def start(measure: ModuleType, monkeypatch: pytest.MonkeyPatch, out: Path, *more: str) -> None:
    argv = ["measure_shapes.py", "--out", str(out), "--limit-s", "30", "--silence-s", "0.5"]
    monkeypatch.setattr(sys, "argv", [*argv, "--only", "check", "--jobs", "1", *more])
    assert measure.main() == 0


def test_what_hangs_or_dies_is_left_out_and_the_rest_is_measured(
    measure: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(measure, "ODD", [(1, 1, 64), (8, 8, 64)])
    out = tmp_path / "out"
    start(measure, monkeypatch, out)
    assert set((out / "avoided.txt").read_text().split()) == {"hangs", "dies"}
    rows = [json.loads(line) for line in (out / "check.jsonl").read_text().splitlines()]
    assert [row["problem"] for row in rows] == ["1x1x64:nn", "8x8x64:nn"]

    monkeypatch.setattr(measure, "ODD", [(1, 1, 64), (8, 8, 64), (16, 16, 64)])
    start(measure, monkeypatch, out)
    rows = [json.loads(line) for line in (out / "check.jsonl").read_text().splitlines()]
    assert [row["problem"] for row in rows] == ["1x1x64:nn", "8x8x64:nn", "16x16x64:nn"]


def test_the_limit_ends_it(
    measure: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(measure, "ODD", [(1, 1, 64)])
    start(measure, monkeypatch, tmp_path / "out", "--limit-s", "0")
    assert not (tmp_path / "out" / "check.jsonl").exists()
