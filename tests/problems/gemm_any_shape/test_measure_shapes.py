"""A worker that hangs or dies costs one kernel; what was measured stays, and is not repeated."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from harness.run.output import Output

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


@pytest.mark.parametrize("only", ["check", "time"])
def test_without_a_worker_that_starts_it_ends_in_one_line(
    measure: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, only: str
) -> None:
    (tmp_path / "measuring.py").write_text("raise ModuleNotFoundError('no torch here')")
    monkeypatch.setattr(measure, "ODD", [(8, 8, 64)] * 10)
    shapes = ["--shapes", *(f"{m}x8x64" for m in range(1, 10))]
    with pytest.raises(SystemExit, match=r"no worker starts; .*no torch here$"):
        start(measure, monkeypatch, tmp_path / "out", *shapes, "--only", only)
    assert not (tmp_path / "out" / "avoided.txt").exists()


@pytest.mark.parametrize("text", ["4096", "16x16", "16x16x0", "16x16x-1", "axbxc", "1x2x3x4", ""])
@pytest.mark.parametrize("script", ["measure_shapes", "tune"])
def test_a_malformed_shape_is_named_in_one_line(
    module: Callable[[str], ModuleType],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    script: str,
    text: str,
) -> None:
    out = ["--out", "none"] if script == "measure_shapes" else []
    monkeypatch.setattr(sys, "argv", [f"{script}.py", *out, "--shapes", "8x8x8", text])
    with pytest.raises(SystemExit) as ended:
        module(script).main()
    assert ended.value.code == 2
    said = f"argument --shapes: {text!r} is no MxNxK, three sizes as in 4096x14336x4096"
    assert capsys.readouterr().err.splitlines()[-1].endswith(said)


def test_the_harness_takes_every_file_that_it_leaves(
    measure: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A file of a name that the harness keeps for itself fails the cell that measured all."""
    monkeypatch.setattr(measure, "ODD", [(1, 1, 64), (8, 8, 64)])
    (tmp_path / "cell").mkdir()
    output = Output(tmp_path / "cell")
    start(measure, monkeypatch, output.folder)
    left = {path.name for path in output.folder.iterdir()}
    assert left == {"check.jsonl", "avoided.txt", measure.LOG}
    assert output.irregular() == ""


def test_the_limit_ends_it(
    measure: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(measure, "ODD", [(1, 1, 64)])
    start(measure, monkeypatch, tmp_path / "out", "--limit-s", "0")
    assert not (tmp_path / "out" / "check.jsonl").exists()


def test_plans_alone_give_what_the_fit_reads(
    module: Callable[[str], ModuleType],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    measuring, plans = module("measuring"), module("plans")
    told: list[str] = []

    def contest(sides: Any, _always: Any, _sets: Any, at: Any, _regime: Any) -> dict[str, Any]:
        (ours,) = sides.values()
        for name in ours:
            at(name)
        at("the screen")
        screen = {name: 10.0 + place for place, name in enumerate(ours)}
        return {"screen": screen, "finals": {name: [us] for name, us in list(screen.items())[:3]}}

    monkeypatch.setattr(measuring, "contest", contest)
    monkeypatch.setattr(measuring, "at", told.append)
    monkeypatch.setattr(measuring, "prepare", lambda: None)
    monkeypatch.setattr(measuring, "peak_bandwidth", lambda: 4e6)
    library = SimpleNamespace(run=lambda plan, _: plan.name)
    monkeypatch.setattr(measuring, "Library", lambda *_, **__: library)
    pool = SimpleNamespace(sets=lambda _: [1, 2])
    monkeypatch.setattr(measuring, "OperandPool", lambda *_: pool)
    problem = plans.Problem((264, 520, 1032), "tn")
    every = module("model").ranked(problem, 4e6)
    avoided = {every[1].step(problem).name}
    measuring.Measuring("bf16", Path("none"), avoided).alone(
        problem, 512, module("pooled").Regime()
    )
    row = {"problem": "264x520x1032:tn"} | json.loads(capsys.readouterr().out.removeprefix("ROW "))
    (sample,) = module("timings").samples(module("timings").times([row]))
    left = [plan for plan in every if plan.step(problem).name not in avoided]
    assert {plan.name for plan in sample.plans} == {plan.name for plan in left}
    assert (row["choice"], row["dram"]) == (every[0].name, 4e6)
    assert told[0] == f"264x520x1032:tn {every[0].step(problem).name} {every[0].name}"
    assert "1 timed, none against the library" in module("summary").summary([], [row])
