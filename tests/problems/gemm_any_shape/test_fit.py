"""The fit finds the constants and the habits of kernels behind times that were made from both."""

import json
import lzma
import math
import os
import random
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from harness.evidence import capture_list
from harness.store import capture_store
from tests.support.hgemm import ANY_SHAPE
from tests.support.paths import DATA, ROOT

SHAPES = [(16, 4096, 4096), (512, 512, 4096), (1024, 1024, 1024), (2000, 3000, 1000), (300, 7, 999)]


@pytest.fixture
def fit(module: Callable[[str], ModuleType]) -> ModuleType:
    return module("fit")


@pytest.fixture
def timings(module: Callable[[str], ModuleType]) -> ModuleType:
    return module("timings")


@pytest.fixture(scope="module")
def tuning(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The times that the committed fit rests on: whole where the store has them, or each 300th."""
    (file,) = capture_list.stored(ROOT / "problems")
    whole = ROOT / ".captures" / capture_store.relative(file.sha256)
    named = tmp_path_factory.mktemp("tuning") / file.name
    named.symlink_to(whole if whole.is_file() else DATA / "gemm_any_shape" / file.name)
    return named


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the problem, and of the one it builds on: fitting writes beside itself."""
    for folder in (ANY_SHAPE, ANY_SHAPE.parent / "4-custom-hgemm"):
        ignored = shutil.ignore_patterns(".cubins", "__pycache__", "*.json", "*.xz")
        shutil.copytree(folder, tmp_path / folder.name, ignore=ignored)
    shutil.copy(ANY_SHAPE.parent / "4-custom-hgemm/choices.json", tmp_path / "4-custom-hgemm")
    return tmp_path / ANY_SHAPE.name


def run(folder: Path, *argv: str) -> str:
    """Run the Python that has LightGBM in the problem's folder; return what it printed."""
    if "WORKLOGS_TEST_PYTHONS" not in os.environ:
        pytest.skip("WORKLOGS_TEST_PYTHONS is not set: see .ci/pythons")
    python = Path(os.environ["WORKLOGS_TEST_PYTHONS"]) / "fit/bin/python"
    done = subprocess.run([python, *argv], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def rows(
    module: Callable[[str], ModuleType], by: Any, shapes: list[tuple[int, int, int]], habit: float
) -> list[dict[str, Any]]:
    """Return what measure_shapes.py would have written if the GPU took what the model says.

    ``habit``: the deviation of the factor by which each kernel is slower or faster than that.
    """
    plans, model = module("plans"), module("model")
    demand, source = module("demand").demand, random.Random(0)
    habits: dict[str, float] = {}
    written = []
    for index, shape in enumerate(shapes):
        problem = plans.Problem(shape, ("nn", "nt", "tn", "tt")[index % 4])
        times = {}
        for plan in plans.plans(problem):
            own = habits.setdefault(plan.kernel, source.gauss(0, habit))
            noise = source.gauss(0, 0.005) if habit else 0.0
            times[plan.name] = model.us(demand(plan, problem), by) * math.exp(own + noise)
        best = min(times, key=lambda name: times[name])
        written.append(
            {
                "problem": "x".join(map(str, shape)) + ":" + problem.layout,
                "dram": module("device").H200,
                "screen": times | {"torch": 1.0},
                "finals": {"torch": [1.0, 1.0], best: [times[best]] * 3},
            }
        )
    return written


def written(path: Path, found: list[dict[str, Any]]) -> str:
    path.write_text("\n".join(json.dumps(row) for row in found), encoding="utf-8")
    return str(path)


@pytest.mark.slow
def test_the_fit_finds_the_constants(
    copied: Path, module: Callable[[str], ModuleType], tmp_path: Path
) -> None:
    truth = replace(module("model").Constants(), tensor=1.4, realign=9.0, l2=30.0, dram=0.7)
    shapes = [*SHAPES, (4096, 4096, 4096), (4097, 4104, 4104), (16, 4097, 4099), (64, 50000, 768)]
    judged = module("shape_sets").reported()[0]
    found = rows(module, truth, [*shapes, judged], 0.0)
    run(copied, "fit.py", written(tmp_path / "time.jsonl", found))
    constants = json.loads((copied / "constants.json").read_text())
    for name in ("tensor", "realign", "l2"):
        assert constants[name] == pytest.approx(getattr(truth, name), rel=0.15), name
    kept = lzma.decompress((copied / "tuning.jsonl.xz").read_bytes()).splitlines()
    assert [json.loads(line)["problem"] for line in kept] == [row["problem"] for row in found[:-1]]
    again = run(copied, "fit.py", "--dry", "tuning.jsonl.xz")
    assert f"{constants['l2']:12.4g}" in again


@pytest.mark.slow
def test_trees_teach_a_kernels_habit_to_shapes_that_were_left_out(
    copied: Path, module: Callable[[str], ModuleType], tmp_path: Path
) -> None:
    sets = module("shape_sets")
    shapes = sets.tuning()[:40]
    found = rows(module, module("model").Constants(), shapes, 0.2)
    run(copied, "fit.py", written(tmp_path / "time.jsonl", found))
    stated = json.loads((copied / "validation.json").read_text())
    assert stated["left_out_shapes"] == 40
    assert stated["left_out_regret"] < 0.5 * stated["left_out_regret_constants"]
    chosen = f"""
import model, plans
print(model.choose(plans.Problem((16, 4096, 4096), {found[6]["problem"][-2:]!r})).name)
"""
    assert found[6]["problem"].startswith("16x4096x4096")
    times = found[6]["screen"]
    name = run(copied, "-c", chosen).strip()
    assert times[name] < 1.1 * min(time for plan, time in times.items() if plan != "torch")


def test_a_problem_measured_twice_has_the_mean_of_its_times_at_the_first_clock(
    timings: ModuleType,
) -> None:
    place = {"problem": "640x640x640:nn", "dram": 5e6}
    first = place | {"screen": {"a": 10.0, "b": 20.0, "e": 30.0}, "finals": {"a": [11.0]}}
    later = place | {"times": {"a": 5.5, "b": 10.0, "c": 6.0, "e": 18.0}}
    other = later | {"dram": 3e6}  # a GPU of other memory
    assert timings.times([first, later, other]) == {
        ("640x640x640:nn", 5e6, 0.0): {"a": 11.0, "b": 20.0, "c": 12.0, "e": 33.0},
        ("640x640x640:nn", 3e6, 0.0): {"a": 5.5, "b": 10.0, "c": 6.0, "e": 18.0},
    }


def test_a_sweep_is_judged_by_another_of_the_same_plans(timings: ModuleType) -> None:
    place = {"problem": "640x640x640:nn", "dram": 5e6}
    first = place | {"times": {"a": 10.0, "b": 11.0, "c": 1.0}}
    second = place | {"times": {"a": 12.0, "b": 10.0, "d": 1.0}}
    third = place | {"times": {"a": 10.0, "b": 12.0}}
    alone = place | {"dram": 3e6, "times": {"a": 1.0, "b": 2.0}}
    assert timings.regrets_of_sweeps([first, alone, second, third]) == [pytest.approx(0.2), 0.0]


def test_what_a_loaded_byte_draws_is_found_from_times_after_rests(
    fit: ModuleType, timings: ModuleType, module: Callable[[str], ModuleType]
) -> None:
    """In turn all plans have one clock; after a rest each its own, lower the more it loads."""
    plans, model = module("plans"), module("model")
    demand, source = module("demand").demand, random.Random(0)
    found, drawn = [], 6.0
    for shape in ((8192, 8192, 4096), (16384, 5000, 8192), (512, 512, 4096)):
        problem = plans.Problem(shape)
        place = {"problem": "x".join(map(str, shape)) + ":nn", "dram": module("device").H200}
        demands = {plan.name: demand(plan, problem) for plan in plans.plans(problem)}
        weight, clock = drawn * model.capped(problem), source.uniform(0.8, 0.9)
        times = {name: model.us(of, model.Constants()) for name, of in demands.items()}
        alone = {
            name: clock * us * math.exp(weight * demands[name].loaded) for name, us in times.items()
        }
        found += [place | {"times": times}, place | {"rest_ms": 30.0, "times": alone}]
    known = timings.times(found)
    in_turn = {place: times for place, times in known.items() if not place[-1]}
    rested = timings.samples({place: times for place, times in known.items() if place[-1]})
    assert len(in_turn) == len(rested) == 3
    assert fit.drawn(rested, in_turn) == pytest.approx(drawn, rel=0.02)
    assert fit.drawn([], in_turn) == 0.0
    assert not timings.regrets_of_sweeps(found)


def test_a_row_of_an_unknown_memory_is_named(timings: ModuleType, tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"problem": "8x8x8:nn", "dram": 5e6}, {"problem": "8x8x8:nn"}]
    path = Path(written(tmp_path / "time.jsonl", rows))
    with pytest.raises(SystemExit, match=r"time\.jsonl, line 2: no dram"):
        timings.read(path)


def test_no_reported_shape_is_fitted_to(
    timings: ModuleType, module: Callable[[str], ModuleType], tuning: Path
) -> None:
    shape = "x".join(map(str, module("shape_sets").reported()[0]))
    assert not timings.times([{"problem": f"{shape}:nn", "times": {"a": 1.0}}])
    kept = {timings.understood(row["problem"]).shape for row in timings.read(tuning)}
    assert not kept & set(module("shape_sets").reported())


def test_a_tree_is_read_as_lightgbm_reads_it(copied: Path) -> None:
    compared = """
import fit, lightgbm, numpy
source = numpy.random.default_rng(0)
seen = source.normal(size=(2000, 6)).round(2)
aim = numpy.sin(3 * seen[:, 0]) + seen[:, 1] * (seen[:, 2] > 0.5)
data = lightgbm.Dataset(seen, aim, weight=numpy.ones(len(seen)))
forest = lightgbm.train(fit.GROWING, data, fit.ROUNDS)
trees = [fit._tree(each["tree_structure"]) for each in forest.dump_model()["tree_info"]]
theirs = forest.predict(seen)
off = [sum(t.value(row) for t in trees) - value for row, value in zip(seen.tolist(), theirs)]
print(max(map(abs, off)), numpy.abs(theirs - aim).mean())
"""
    largest, missed = map(float, run(copied, "-c", compared).split())
    assert largest < 1e-3 < missed < 0.2


def test_a_shape_is_left_out_in_all_its_layouts(
    fit: ModuleType, timings: ModuleType, module: Callable[[str], ModuleType]
) -> None:
    problem = module("plans").Problem
    measured = [timings.Sample(problem(s, at), [], [], []) for s in SHAPES for at in ("nn", "tt")]
    judged = []
    for kept, out in fit.folds(measured):
        assert not {s.problem.shape for s in kept} & {s.problem.shape for s in out}
        judged += out
    assert len(judged) == len(measured)


def test_regret_is_the_choice_over_the_best(
    fit: ModuleType, timings: ModuleType, module: Callable[[str], ModuleType]
) -> None:
    problem = module("plans").Problem((16, 4096, 4096))
    by, demand = module("model").Constants(), module("demand").demand
    order = sorted(
        module("plans").plans(problem), key=lambda p: module("model").us(demand(p, problem), by)
    )
    pair = [order[0], next(plan for plan in order if plan.config != order[0].config)]
    sample = timings.Sample(problem, pair, [demand(plan, problem) for plan in pair], [15.0, 10.0])
    trees = module("trees")
    assert fit.regrets(by, trees.Forest(), [sample]) == [0.5]
    first, second = (row[0] for row in fit.seen(by, sample))  # log_us
    assert first < second
    slower = trees.Tree([0], [(first + second) / 2], [-1], [-2], [9.0, 0.0])
    assert fit.regrets(by, trees.Forest([slower]), [sample]) == [0.0]
    timed = trees.Forest([], frozenset({pair[1].kernel}))
    assert fit.regrets(by, timed, [sample]) == [0.0]  # the other was never measured


def test_a_branch_is_taken_up_to_its_threshold(module: Callable[[str], ModuleType]) -> None:
    trees = module("trees")
    tree = trees.Tree([1, 0], [2.0, 5.0], [1, -1], [-3, -2], [0.1, 0.2, 0.3])
    assert tree.value([5.0, 2.0]) == 0.1
    assert tree.value([5.5, 2.0]) == 0.2
    assert tree.value([0.0, 2.1]) == 0.3
    stump = trees.Tree([], [], [], [], [0.5])
    forest = trees.Forest([tree, stump], frozenset({"sliced_m16_tt"}))
    assert forest.factor("sliced_m16_tt", [5.0, 2.0]) == pytest.approx(math.exp(0.6))
    assert forest.factor("sliced_m32_tt", [5.0, 2.0]) == trees.UNTIMED
    assert trees.Forest().factor("sliced_m32_tt", [5.0, 2.0]) == 1.0


def test_trees_are_read_with_the_features_they_were_grown_on(
    module: Callable[[str], ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trees = module("trees")
    monkeypatch.setattr(trees, "GROWN", tmp_path / "trees.json")
    read = trees.forest.__wrapped__
    assert read() == trees.Forest()
    grown = trees.Forest(
        [trees.Tree([1], [2.0], [-1], [-2], [0.1, 0.2])], frozenset({"sliced_m16_tt"})
    )
    trees.save(grown)
    assert read() == grown
    monkeypatch.setattr(trees, "NAMES", ("another",))
    with pytest.raises(ValueError, match=r"trees\.json was grown on other features: run fit\.py"):
        read()


def test_every_feature_has_a_name(module: Callable[[str], ModuleType]) -> None:
    plans, names = module("plans"), module("features").NAMES
    demand, features = module("demand").demand, module("features").features
    problem = plans.Problem((2, 4096, 999), "nt")
    found = plans.plans(problem)
    assert not any(plan.swapped for plan in found)
    for plan in found:
        of = demand(plan, problem)
        seen = dict(zip(names, features(plan, problem, of, 1.0), strict=True))
        assert (seen["log_us"], seen["log_m"], seen["k_rest"]) == (0.0, 1.0, 39.0)
        assert (seen["a_aligned"], seen["c_aligned"], seen["b_transposed"]) == (0.0, 1.0, 1.0)
        assert seen["steps"] == of.steps
        assert seen["tiling"] + seen["slicing"] == float(not plan.kernel.startswith("dots"))


def test_features_of_a_swapped_plan_are_those_of_the_transpose(
    module: Callable[[str], ModuleType],
) -> None:
    plans, names = module("plans"), module("features").NAMES
    demand, features = module("demand").demand, module("features").features
    problem = plans.Problem((320, 1792, 999), "nn")
    (plan,) = [
        plan for plan in plans.plans(problem) if plan.name == "split_x128x160_c1x1_g16_s6/28/112+a"
    ]
    of = demand(plan, problem)
    seen = dict(zip(names, features(plan, problem, of, 1.0), strict=True))
    assert (seen["log_m"], seen["m_filled"], seen["n_filled"]) == (math.log2(1792), 1.0, 1.0)
    assert (seen["a_transposed"], seen["b_transposed"]) == (1.0, 1.0)
    assert (seen["a_aligned"], seen["b_aligned"]) == (1.0, 0.0)
    assert (of.lines, of.crossing, of.steps) == (128 + 160, 0, 4)
    assert of.copied == 2 * 2 * 320 * 999


def test_the_committed_choice_rests_on_the_committed_times(
    module: Callable[[str], ModuleType], fit: ModuleType, timings: ModuleType, tuning: Path
) -> None:
    """Of the shapes that it was fitted to, the dispatcher names a plan near the fastest."""
    rows = timings.read(tuning)
    measured = timings.samples(timings.times(rows[:: 10 if len(rows) > 1000 else 1]))
    model, trees = module("model"), module("trees")
    lost = fit.regrets(model.constants(), trees.forest(), measured)
    assert len(lost) > 50
    assert sum(lost) / len(lost) < 0.03
    assert not {sample.problem.shape for sample in measured} & set(module("shape_sets").reported())
