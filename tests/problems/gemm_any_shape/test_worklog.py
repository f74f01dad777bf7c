"""The worklog on planted rows of every cell: all is told, and only what the claims bear out."""

import dataclasses
import math
import random
import re
from collections.abc import Callable
from pathlib import Path
from statistics import geometric_mean, median
from types import ModuleType
from typing import Any

import pytest

from harness.analysis.claims import judge
from harness.analysis.metrics import Metrics
from harness.evidence.tables import Tables
from harness.problem.manifest import find
from harness.problem.model import Problem
from harness.problem.plan import Selected, plan
from harness.report import own_sections
from harness.report.page import Page
from harness.report.sections import SECTIONS
from harness.report.worklog import render
from tests.support import conclusions, reports
from tests.support.hgemm import ANY_SHAPE, Cell, layer_rows, unaligned_rows
from tests.support.reading import walk
from tests.support.small_evidence import Row, ceiling, in_three, tables

CONCLUDES = re.compile(r"(?:call w\.concludes|if w\.holds|w\.verdict)\(([^)]*)\)")
HELD = re.compile(r"{% if w\.holds\([^)]*\) %}([^{]+){%")
FIGURES = {"shapes", "neighbours", "waves", "steps", "few-rows", "regret", "squares", "others"}
STATED: dict[str, dict[str, float]] = {
    "checked": {"checks": 2124, "wrong_products": 0, "largest_error_ratio": 1.2, "not_reached": 0},
    "operator": {"failed_opchecks": 0, "largest_operator_error": 3e-3},
    "sanitized": dict.fromkeys(("memory_errors", "hazards"), 0.0)
    | dict.fromkeys(("shapes_under_memcheck", "shapes_under_racecheck"), 20.0),
}
MORE = {
    "gpu__time_duration.sum": "ns",
    "dram__bytes_read.sum": "byte",
    "dram__bytes_write.sum": "byte",
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active": "%",
}


@pytest.fixture(scope="module")
def problem() -> Problem:
    return find(ANY_SHAPE.parent, "8")


def timed(module: Callable[[str], ModuleType], params: dict[str, Any]) -> list[dict[str, Any]]:
    """Return rows as measure_shapes.py writes them, in which the choice leads by a tenth."""
    parts = module("regions").parts
    sets, plans, source = module("shape_sets"), module("plans"), random.Random(0)
    shapes = [tuple(map(int, text.split("x"))) for text in params.get("shapes", [])]
    shapes += sets.reported()[::9] if "set" in params else []
    rows, sides = [], params.get("beside", [])
    compared = [side for side in sides if side != "products"]
    for at, shape in enumerate(shapes):
        layout = params["layouts"][at % len(params["layouts"])]
        found = plans.plans(plans.Problem(shape, layout))
        us = max(2.0, 2e-6 * math.prod(shape) / 700, 2e-6 * shape[1] * shape[2] / 4.2)

        def times(factor: float, count: int, us: float = us) -> list[float]:
            return [us * factor * source.gauss(1, 0.002) for _ in range(count)]

        def slowness(one: Any) -> float:
            by_cut = 1.1 if one.kernel.startswith("split") else 1.15 if parts(one) > 1 else 1.3
            return 1.0 if any(one.copied) else by_cut

        slower = {one.name: slowness(one) for one in found}
        choice = min(slower, key=lambda name: slower[name])
        aligned = all(size % 8 == 0 for size in shape)
        us /= slower[choice]
        screen = {name: us * factor for name, factor in slower.items()}
        us *= slower[choice]
        others = [name for name in slower if name != choice]
        rows.append(
            {
                "problem": "x".join(map(str, shape)) + f":{layout}",
                "shape": list(shape),
                "layout": layout,
                "choice": choice,
                "errors": {},
                "candidates": 64,
                "plans": len(found),
                "screen": screen | {"torch": us * 1.2, "lt1": us * 1.1},
                "finals": {"torch": times(1.2, 16), choice: times(1, 16), "lt1": times(1.1, 16)}
                | {name: times(1.001, 16) for name in others[-1:]}
                | {f"{side}_a": times(1.3, 16) for side in compared if side == "triton" or aligned}
                | {f"{side}_b": times(1.2, 16) for side in compared if side == "triton" or aligned}
                | ({"products_a": times(0.98, 16)} if "products" in sides else {}),
                "mhz": {choice: [1500.0] * 16, "lt1": [1600.0] * 16} if "products" in sides else {},
                "library": "lt1",
                "cold": {"lt1": times(1.1, 9), choice: times(1, 9)},
                "waiting": {"plan": choice, "us": times(1.05, 16), "library": times(1.1, 16)},
            }
        )
    return rows


@pytest.fixture(scope="module")
def evidence(module: Callable[[str], ModuleType], problem: Problem) -> Tables:
    return measured(module, problem, list(problem.cases))


def measured(module: Callable[[str], ModuleType], problem: Problem, cases: list[str]) -> Tables:
    """Return the evidence of a run of some cases."""
    found: dict[str, list[Row]] = {"cells": [], "samples": [], "facts": [], "counters": []}
    for planned in plan(problem, Selected(rounds=1), "cuda"):
        if planned.case not in cases:
            continue
        name = f"{planned.case}.{planned.variant}.{planned.capture}.r{planned.round}"
        known = {key: getattr(planned, key) for key in ("variant", "case", "capture", "round")}
        found["cells"].append({"cell": name, **known, "status": "ok", "doubt": "", "retried": ""})
        cell = Cell(planned.params)
        for stated, count in STATED.get(planned.case, {}).items():
            cell.fact(stated, count)
        keep_workload(cell, module)
        if planned.params["workload"] == "one":
            cell.fact("io_bytes", 1e6)
            found["counters"] += counters(problem, name)
        for fact, value in cell.facts.items():
            text = value if isinstance(value, str) else None
            number = None if isinstance(value, str) else float(value)
            found["facts"].append({"cell": name, "name": fact, "text": text, "value": number})
        found["samples"] += [
            {"cell": name, "region": region, "metric": metric, "index": index, "value": value}
            for (region, metric), values in cell.samples.items()
            for index, value in enumerate(values)
        ]
    return in_three(tables(**found, ceilings=[ceiling("GPU-1", "bf16", 790.0)]))


def keep_workload(cell: Cell, module: Callable[[str], ModuleType]) -> None:
    """State what the script of a cell's workload would."""
    workload = cell.params["workload"]
    if workload == "operator":
        keep_calls(cell)
    if workload == "shapes":
        keep(cell, module("regions"), timed(module, cell.params))
    if workload == "steps":
        keep_steps(cell)
    if workload == "layers":
        real_layers = module("real_layers")
        real_layers.keep(cell, layer_rows(real_layers))
    if workload == "unaligned":
        rivals = module("padded_rivals")
        rivals.keep(cell, unaligned_rows(rivals))


def copies(regions: ModuleType) -> Any:
    """Copies at 4.2 TB/s, smaller ones slower."""
    return regions.Copies({1 << 20: 3.0, 1 << 30: (1 << 30) / 4.2e6})


def keep(cell: Cell, regions: ModuleType, rows: list[dict[str, Any]]) -> None:
    """State what repro.py does; it imports torch, which has no place here."""
    regions.keep(cell, regions.measured(rows), copies(regions))
    cell.fact("bandwidth", 4.2e12)
    cell.fact("highest_mhz", 1980.0)
    for name in ("not_reached", "without_choice", "wrong_plans"):
        cell.fact(name, 0)
    for name in ("regret", "worst", "regret_constants", "shapes"):
        cell.fact(f"left_out_{name}", 2.0)
    for name in ("problems", "regret", "above"):
        cell.fact(f"swept_{name}", 2.0)


def keep_calls(cell: Cell) -> None:
    """State calls per second as host_calls.py does, which imports torch: a fifth more than mm's."""
    rates = [3e5 + turn for turn in range(12)]
    for region in ("1000x1000x1000", "768x256x1024", "1536x256x1536", "all"):
        cell.sample(region, "calls_over", "×", [1.2 + turn / 1e4 for turn in range(12)])
        if region != "all":
            cell.sample(region, "torch_calls_per_s", "calls/s", rates)
            cell.sample(region, "calls_per_s", "calls/s", [1.2 * rate for rate in rates])
    cell.sample("new sizes", "first_ms", "ms", [30.0 + turn for turn in range(12)])
    cell.sample("new sizes", "torch_first_ms", "ms", [0.1] * 12)


def keep_steps(cell: Cell) -> None:
    """State a small tile that waits for its loads, and a large one that multiplies."""
    for tile, loads, products in (("64x128_c1x1", 97.0, 62.0), ("128x256_c1x1", 78.0, 93.0)):
        for kind, share in (("whole", 100.0), ("loads", loads), ("products", products)):
            cell.sample(tile, f"{kind}_cycles", "cycles", [10 * share] * 5)
            if kind != "whole":
                cell.sample(tile, f"{kind}_share", "%", [share] * 5)


def counters(problem: Problem, name: str) -> list[Row]:
    wanted = {metric.counter: "" for metric in problem.metrics.values() if metric.counter} | MORE
    about = {"cell": name, "launch": 0, "name": "kernel", "grid": "1,1,1", "block": "1,1,1"}
    return [
        about | {"metric": metric, "unit": unit, "value": 5e3} for metric, unit in wanted.items()
    ]


def page_of(problem: Problem, evidence: Tables) -> Page:
    metrics = Metrics(problem, evidence)
    judged = judge(problem, metrics, "cuda")
    known = reports.of_unknown_scripts()
    return Page(problem, metrics, judged, known, evidence)


def sentences() -> list[str]:
    """The sentences of the template that stand only while their claims hold."""
    return [each.strip() for each in HELD.findall((ANY_SHAPE / "worklog.md.j2").read_text())]


def test_everything_is_told(problem: Problem, evidence: Tables) -> None:
    page = page_of(problem, evidence)
    text = render(ANY_SHAPE / "worklog.md.j2", page)
    missing = [line for line in text.splitlines() if "not measured" in line.lower()]
    assert [line for line in missing if "Published" not in line] == []
    assert re.findall(r"^\|.*\|\n(?!\||$)(.+)", text, re.M) == []  # a table takes in a line
    verdicts = {one.claim.id: one.verdict for one in page.results}
    assert verdicts["choice-mean"] == verdicts["regret-mean"] == "reproduced"
    assert verdicts["right"] == verdicts["burst-8192"] == verdicts["racecheck"] == "reproduced"
    assert "not measured" not in verdicts.values()
    assert set(page.figures) == {f"{name}.svg" for name in FIGURES}
    assert [name for name, figure in page.figures.items() if "NaN" in figure] == []
    assert [each for each in sentences() if each not in text] == []


def test_a_run_without_the_slow_cells_is_told_without_holes(
    module: Callable[[str], ModuleType], problem: Problem
) -> None:
    cases = ["reported", "operator", "checked", "burst", "neighbours"]
    text = render(ANY_SHAPE / "worklog.md.j2", page_of(problem, measured(module, problem, cases)))
    missing = [line for line in walk(text).splitlines() if "not measured" in line.lower()]
    holes = [line for line in missing if not re.search("Reproduced on|Published", line)]
    assert holes == [
        "Batches of a quarter of a second, at the power limit, were not measured in this run."
    ]


@pytest.mark.parametrize("verdict", ["refuted", "undecided", "not measured"])
def test_no_page_concludes_what_its_claim_does_not_bear_out(
    problem: Problem, evidence: Tables, verdict: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SECTIONS, "concludes", conclusions.recorded)
    page = page_of(problem, evidence)
    flipped = [dataclasses.replace(result, verdict=verdict) for result in page.results]
    template: Path = ANY_SHAPE / "worklog.md.j2"
    named = set(re.findall(r'"([\w-]+)"', " ".join(CONCLUDES.findall(template.read_text()))))
    assert named == {result.claim.id for result in page.results}
    conclusions.RENDERED.clear()
    told = render(template, dataclasses.replace(page, results=flipped, figures={}))
    blocks = [block.body for block in conclusions.RENDERED if block.body]
    conclusions.RENDERED.clear()
    assert [body for body in (*blocks, *sentences()) if body in told] == []
    assert "it is faster than the library" not in told
    assert "in place of `torch.mm`" not in told
    assert "keep `torch.mm`" in told


def test_each_problem_is_in_one_class_of_sides_and_in_one_of_durations(
    problem: Problem, evidence: Tables
) -> None:
    text = render(ANY_SHAPE / "worklog.md.j2", page_of(problem, evidence))
    rows = re.findall(r"^\| ([^|]+) \| (\d+) \(\S+%\) \| \d+ / ", text, re.M)
    counts = {label: int(count) for label, count in rows}
    sides = [count for label, count in counts.items() if "row" in label]
    durations = [count for label, count in counts.items() if "µs" in label]
    assert len(sides) == 3
    assert len(durations) > 1
    assert counts["all"] == sum(sides) == sum(durations)


Speeds = tuple[float, float, float]


def at_speeds(problem: Problem, rows: dict[str, tuple[float, Speeds]]) -> Page:
    """Return a page of problems: the library's µs; speeds warm, with L2 flushed, without PDL."""
    cell = "reported.in-turn.timing.r0"
    where = {"variant": "in-turn", "case": "reported", "capture": "timing", "round": 0}
    facts: list[Row] = []
    samples: list[Row] = []
    for name, (us, speeds) in rows.items():
        facts += [
            {"cell": cell, "name": f"kind.{name}", "text": "a row no multiple of 8", "value": None},
            {"cell": cell, "name": f"flop.{name}", "text": None, "value": 1e8 * us / speeds[0]},
        ]
        values = zip(("tflops", "choice", "cold", "waiting"), (1.0, *speeds), strict=True)
        samples += [
            {"cell": cell, "region": name, "metric": metric, "index": 0, "value": value}
            for metric, value in values
        ]
    cells = [{"cell": cell, **where, "status": "ok", "doubt": "", "retried": ""}]
    return page_of(problem, tables(cells=cells, facts=facts, samples=samples))


def test_what_is_lost_and_a_mean_by_time_by_hand(problem: Problem) -> None:
    even = (100.0, 100.0, 100.0)
    page = at_speeds(
        problem,
        {
            "1x1x1:nn": (2.0, (225.0, 121.0, 144.0)),
            "1x1x2:nn": (4.0, even),
            "1x1x3:nn": (40.0, (125.0, 125.0, 125.0)),
            "1x1x4:nn": (160.0, even),
            "1x1x5:nn": (10.0, (90.0, 80.0, 80.0)),
        },
    )
    own, place = own_sections.known_to(ANY_SHAPE), ("in-turn", "reported")
    # Geometric means: 150, 110, 120. Of a lead of 50 % flushing L2 leaves 10.
    assert own["lost"](page, *place, "under 5 µs") == "80%"
    assert own["lost"](page, *place, "30 µs and more") == "0%"
    assert own["lost"](page, *place, "10 to 30 µs") == "–"
    by_time = str(own["by_time"](page, *place, "30 µs and more", "cold"))
    assert by_time.startswith("104% ")  # 200 / 192


def test_an_interval_of_a_mean_by_time_is_that_of_resampled_shapes(problem: Problem) -> None:
    source = random.Random(1)
    rows = {
        f"1x1x{at}:{layout}": (source.uniform(30, 90), (speed, speed, speed))
        for at in range(80)
        for speed in [source.gauss(110, 12)]
        for layout in ("nn", "tt")
    }
    shown = own_sections.known_to(ANY_SHAPE)["by_time"](
        at_speeds(problem, rows), "in-turn", "reported", "all", "choice"
    )
    sums = [
        (rows[f"1x1x{at}:nn"][0] + rows[f"1x1x{at}:tt"][0], rows[f"1x1x{at}:nn"][1][0])
        for at in range(80)
    ]
    means = []
    for _ in range(2000):
        drawn = source.choices(sums, k=len(sums))
        means.append(sum(us for us, _ in drawn) / sum(us / speed for us, speed in drawn))
    half = (sorted(means)[1989] - sorted(means)[10]) / 2
    assert float(str(shown).split("±")[1].rstrip("%")) == pytest.approx(half, abs=0.8)


def test_ratios_are_those_of_the_rows(module: Callable[[str], ModuleType]) -> None:
    regions = module("regions")
    rows = timed(module, {"set": "reported", "layouts": ["nn", "nt", "tn", "tt"]})
    each = [regions.series(row, copies(regions)) for row in rows]
    for row, metrics in zip(rows, each, strict=True):
        wanted = 100 * median(row["finals"]["lt1"]) / median(row["finals"][row["choice"]])
        assert median(metrics["choice"]) == pytest.approx(wanted, rel=0.01)
        assert median(metrics["cold"]) == pytest.approx(110, rel=0.01)
        assert median(metrics["waiting"]) == pytest.approx(110 / 1.05, rel=0.01)
    assert not {"over_triton", "products", "mhz"} & set(regions.of_group(each))
    assert "over_cutlass" not in regions.of_group(each)
    params = {"shapes": ["64x64x64", "63x63x63"], "layouts": ["nn"]}
    for row in timed(module, params | {"beside": ["triton", "products"]}):
        metrics = regions.series(row, copies(regions))
        assert median(metrics["over_triton"]) == pytest.approx(120, rel=0.01)
        assert median(metrics["products"]) == pytest.approx(100 * 1.1 / 0.98, rel=0.01)
        assert (median(metrics["mhz"]), median(metrics["library_mhz"])) == (1500, 1600)
    groups = regions.groups(rows)
    assert len(groups["all"]) == len(rows)
    assert sum(len(groups[name]) for name in ("NN", "NT", "TN", "TT")) == len(rows)
    assert sum(len(groups[name]) for name in regions.ALIGNED.values()) == len(rows)
    few = groups[regions.FEW]
    assert all(row["shape"][0] <= 64 for row in few)
    assert sum(len(groups.get(name, [])) for name in regions.FEW_PARTS.values()) == len(few)
    first = [metrics["choice"][0] for metrics in each]
    assert regions.of_group(each)["choice"][0] == pytest.approx(geometric_mean(first))
    under = regions.worst_decile(each)["choice"][0]
    assert sum(value < under for value in first) / len(first) == pytest.approx(0.1, abs=0.05)


def test_a_kind_of_plan_gains_over_all_others(module: Callable[[str], ModuleType]) -> None:
    regions, plans = module("regions"), module("plans")
    problem = plans.Problem((1536, 1536, 1536))
    by_cut = {regions.parts(one) > 1: one.name for one in plans.plans(problem)}
    row = {"problem": "1536x1536x1536:nn", "screen": {by_cut[True]: 10.0, by_cut[False]: 15.0}}
    stated = {name: value for name, value, _ in regions.gains([row | {"finals": {}}])}
    assert stated["won.cut"] == 1
    assert stated["gain.cut"] == pytest.approx(1.5)
    assert stated["won.copied"] == 0
    assert "gain.copied" not in stated


@pytest.mark.parametrize(
    ("shape", "kinds"),
    [((5112, 5112, 5112), {"lined"}), ((5119, 5119, 5119), {"copied"})],
)
def test_copies_that_tma_needs_are_told_from_others(
    module: Callable[[str], ModuleType], shape: tuple[int, int, int], kinds: set[str]
) -> None:
    regions, plans = module("regions"), module("plans")
    by_copy = {any(plan.copied): plan.name for plan in plans.plans(plans.Problem(shape))}
    row = {"problem": "x".join(map(str, shape)) + ":nn", "finals": {}}
    row["screen"] = {by_copy[True]: 10.0, by_copy[False]: 12.0}
    stated = {name: value for name, value, _ in regions.gains([row])}
    assert {kind for kind in ("copied", "lined") if stated[f"won.{kind}"]} == kinds
