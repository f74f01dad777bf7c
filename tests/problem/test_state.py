"""A problem's state: which changes of it make a run one of another problem."""

import hashlib
from pathlib import Path

import pytest

from harness.evidence.provenance import Origin
from harness.problem import manifest
from harness.problem.model import Problem
from harness.problem.plan import Selected, plan
from harness.problem.state import changed_parts, changed_since, in_words, state
from tests.support.manifests import GOOD, written
from tests.support.origins import origin

LOCKED = (
    GOOD.replace("plain: {}", "plain: {lock: env/x.lock}")
    .replace("label: Fast,", "label: Fast, options: {tile: 8},")
    .replace("{label: Small}", "{label: Small, params: {n: 4}}")
    .replace("timing: {}", "timing: {settings: {steps: 2}}")
    + "workloads: [decoder.py]\n"
)
SCRIPT = 'N = 4\ncell.fact("wall_time", N)\n'


def folder(tmp_path: Path, text: str = LOCKED) -> Path:
    made = written(tmp_path, text, SCRIPT)
    (made / "env").mkdir(exist_ok=True)
    (made / "env" / "x.lock").write_text("torch==2.9.0\n    # via nothing\n")
    (made / "kernels").mkdir(exist_ok=True)
    (made / "kernels" / "ring.cuh").write_text("int a; // one\n")
    (made / "operator.cpp").write_text("int a; // one\n")
    (tmp_path / "workloads").mkdir(exist_ok=True)
    (tmp_path / "workloads" / "decoder.py").write_text("LAYERS = 2\n")
    return made


def problem(tmp_path: Path, text: str = LOCKED) -> Problem:
    return manifest.load(folder(tmp_path, text))


def recorded(problem: Problem) -> Origin:
    return origin(state=state(problem))


def test_each_part_has_a_name_that_readers_know(tmp_path: Path) -> None:
    scripts = ["repro.py", "kernels/ring.cuh", "operator.cpp", "workloads/decoder.py"]
    assert [*state(problem(tmp_path))] == [
        *scripts,
        "lock env/x.lock",
        "variant slow",
        "variant fast",
        "case small",
        "capture timing",
    ]


@pytest.mark.parametrize(("gpus", "changed"), [(1, ["case small"]), (2, [])])
def test_what_runs_beside_several_ranks_is_no_part_of_what_they_do(
    tmp_path: Path, gpus: int, changed: list[str]
) -> None:
    of_gpus = LOCKED.replace("params: {n: 4}", f"params: {{n: 4}}, gpus: {gpus}")
    before = recorded(problem(tmp_path, of_gpus))
    by_itself = of_gpus.replace(f"gpus: {gpus}", f"gpus: {gpus}, loads_host: true")
    assert changed_since(problem(tmp_path, by_itself), [before]) == changed


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("label: Fast", "label: Faster", []),
        ("label: Small", "label: Small one", []),
        ("A title", "Another", []),
        ("below: 1", "below: 2", []),
        ("settings: {steps: 2}", "settings: {steps: 2}, rounds: 7, deadline_s: 9", []),
        ("params: {n: 4}", "rounds: 7, params: {n: 4}", []),
        ("params: {n: 4}", "gpus: 1, params: {n: 4}", []),
        ("tile: 8", "tile: 16", ["variant fast"]),
        ("n: 4", "n: 5", ["case small"]),
        ("params: {n: 4}", "on_cpu: {n: 1}, params: {n: 4}", ["case small"]),
        ("steps: 2", "steps: 3", ["capture timing"]),
        ("label: Slow,", "label: Slow, tunes: true,", ["variant slow"]),
    ],
)
def test_a_change_of_the_manifest(old: str, new: str, changed: list[str], tmp_path: Path) -> None:
    run = recorded(problem(tmp_path))
    assert LOCKED.count(old) == 1
    assert changed_since(problem(tmp_path, LOCKED.replace(old, new)), [run]) == changed


@pytest.mark.parametrize(
    ("file", "text", "changed"),
    [
        ("9-example/repro.py", '"""Docs."""\n' + SCRIPT.replace("4", "4  # four"), []),
        ("9-example/kernels/ring.cuh", "int  a;\n", []),
        ("9-example/env/x.lock", "torch==2.9.0\n", []),
        ("9-example/new.py", "N = 5\n", []),
        ("9-example/repro.py", SCRIPT.replace("4", "5"), ["repro.py"]),
        ("9-example/kernels/ring.cuh", "int b;\n", ["kernels/ring.cuh"]),
        ("9-example/operator.cpp", "int b;\n", ["operator.cpp"]),
        ("9-example/env/x.lock", "torch==2.9.1\n", ["lock env/x.lock"]),
        ("workloads/decoder.py", "LAYERS = 3\n", ["workloads/decoder.py"]),
    ],
)
def test_a_change_of_a_file(file: str, text: str, changed: list[str], tmp_path: Path) -> None:
    study = problem(tmp_path)
    run = recorded(study)
    (tmp_path / file).write_text(text)
    assert changed_since(study, [run]) == changed


def test_a_script_that_is_gone_counts_and_a_setting_does_not(tmp_path: Path) -> None:
    study = problem(tmp_path)
    gone = {"old.py": "01", "case large": "02", "lock env/y.lock": "03"}
    assert changed_since(study, [origin(state=state(study) | gone)]) == ["old.py"]


def test_every_call_of_a_run_counts(tmp_path: Path) -> None:
    now = state(problem(tmp_path))
    calls = [origin(state=now | {part: "0"}) for part in ("case small", "repro.py")]
    assert changed_parts([*calls, origin()], now) == ["repro.py", "case small"]


def test_an_earlier_harness_recorded_the_bytes_of_all_scripts(tmp_path: Path) -> None:
    study = manifest.load(written(tmp_path, GOOD, SCRIPT))
    as_now = hashlib.sha256(b"repro.py\0" + SCRIPT.encode() + b"\0").hexdigest()
    assert changed_since(study, [origin(sources_sha256=as_now), origin()]) == []
    before = origin(sources_sha256="0" * 64)
    assert changed_since(study, [before]) == ["the scripts"]
    known = before.model_copy(update={"state": state(study)})
    assert changed_since(study, [known]) == []


def test_four_parts_are_named() -> None:
    assert in_words(["a"]) == "a"
    assert in_words(["a", "b"]) == "a and b"
    assert in_words([*"abcd"]) == "a, b, c and d"
    assert in_words([*"abcdef"]) == "a, b, c, d and 2 more"


def test_cells_are_the_same_under_other_comments(tmp_path: Path) -> None:
    study = problem(tmp_path)

    def cells() -> list[str]:
        return [cell.id for cell in plan(study, Selected(), "cuda")]

    before = cells()
    (study.folder / "repro.py").write_text(f"# Words.\n{SCRIPT}")
    assert cells() == before
    (study.folder / "repro.py").write_text(SCRIPT.replace("4", "5"))
    assert not {*cells()} & {*before}
