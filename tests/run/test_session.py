"""A request: all of it is checked before anything is installed or written."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.engines import choose
from harness.engines.options import Options
from harness.evidence.provenance import RunArguments
from harness.ground import checkout, files
from harness.ground.errors import HarnessError
from harness.machine.host import Host
from harness.machine.target import Gpu
from harness.problem import manifest
from harness.problem.plan import Selected, plan
from harness.run import provenance
from harness.run.session import Request, session
from harness.store.run_folder import Run
from tests.support.bench import WELL, Bench, on_cpu
from tests.support.manifests import GOOD, written

pytestmark = pytest.mark.usefixtures("a_lock_of_our_own")


@pytest.fixture(autouse=True)
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with one problem on a machine without a GPU, where nothing may be built."""

    def built(*_: object) -> None:
        pytest.fail("built an engine")

    folder = tmp_path / "house"
    (folder / "problems").mkdir(parents=True)
    written(folder / "problems", GOOD)
    monkeypatch.setattr(checkout, "CHECKOUT", folder)
    monkeypatch.setattr(choose, "ready", built)
    monkeypatch.setattr(Host, "detect", on_cpu)
    return folder


@pytest.mark.parametrize(
    ("asked", "mistake"),
    [
        ({"problem": "77"}, "no problem '77'"),
        (
            {"engine": "cloud"},
            "no engine 'cloud' (there are: auto, local, docker, podman, apptainer)",
        ),
        ({"selected": Selected(variants=("fastest",))}, "no variant 'fastest'"),
        ({"selected": Selected(cases=("huge",))}, "no case 'huge'"),
        ({"selected": Selected(captures=("movie",))}, "no capture 'movie'"),
        ({"selected": Selected(rounds=0)}, "--rounds has to be at least 1"),
        ({"jobs": 0}, "--jobs has to be at least 1"),
        ({"lock_mhz": 1500}, "--lock-clocks needs a GPU"),
        ({"resume": Path("/nowhere")}, "/nowhere: neither a run's folder"),
        ({"options": Options(python=Path("/nowhere/python"))}, "/nowhere/python: --python is no"),
        ({"options": Options(wheels=Path("/nowhere"))}, "/nowhere: --wheels is no folder"),
        ({"options": Options(mounts=(Path("/nowhere"),))}, "/nowhere: --mount does not exist"),
        ({"options": Options(build_arguments=("X",))}, "--build-arg 'X' is not NAME=VALUE"),
    ],
)
def test_a_mistake_is_found_before_anything_is_written(
    house: Path, asked: dict[str, Any], mistake: str
) -> None:
    before = sorted(house.rglob("*"))
    with pytest.raises(HarnessError, match=re.escape(mistake)):
        session(replace(Request("9", engine="local"), **asked))
    assert sorted(house.rglob("*")) == before


def test_an_engine_whose_program_is_absent_is_found_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(HarnessError, match="podman: not found on PATH"):
        session(Request("9", engine="podman"))


@pytest.mark.parametrize(
    ("changed", "mistake"),
    [
        ({"problem": "8-other"}, "the run's problem is 8-other, here it is 9-example"),
        ({"target": {"name": "another CPU"}}, "the run's target is another CPU, driver None, here"),
        ({"target": 5}, "target: "),
    ],
)
def test_a_run_of_something_else_does_not_go_on(
    tmp_path: Path, changed: dict[str, Any], mistake: str
) -> None:
    run = Bench(tmp_path, slow=WELL, fast=WELL).run
    path = run.folder / "run.json"
    record = files.read_json(path)
    if isinstance(changed.get("target"), dict):
        changed = {"target": record["target"] | changed["target"]}
    files.write_json(path, record | changed)
    content = path.read_text()
    with pytest.raises(HarnessError, match=mistake):
        session(Request("9", engine="local", resume=run.folder))
    assert path.read_text() == content


def test_a_request_that_can_be_met_says_what_it_means(tmp_path: Path) -> None:
    run = Bench(tmp_path, slow=WELL, fast=WELL).run
    asked = Request("9", Selected(variants=("slow",), rounds=2), "local", resume=run.folder)
    understood = session(asked)
    assert [cell.variant for cell in understood.cells] == ["slow", "slow"]
    assert understood.environments == ["plain"]
    assert understood.resumed is not None


SHORT = GOOD.replace("bound:", "headline: true\n    bound:").replace(
    "claims:", "short: {rounds: 1}\nclaims:"
)


@pytest.fixture
def short_run(house: Path, tmp_path: Path) -> Run:
    """A run that has planned the short path of the house's problem: two cells of ten."""
    study = manifest.load(written(house / "problems", SHORT))
    names = tuple(cell.name for cell in plan(study, Selected(short=True), "cpu"))
    assert len(names) == 2
    (tmp_path / "bench").mkdir()
    engine = Bench(tmp_path / "bench", slow=WELL, fast=WELL).engine
    origin = provenance.origin_of(study, engine, RunArguments(short=True, planned=names))
    return Run.create(tmp_path / "runs", "9-example", origin)


@pytest.mark.parametrize(
    ("asked", "resumed", "cells"),
    [
        ({}, False, 2),
        ({"full": True}, False, 10),
        ({"selected": Selected(variants=("slow",))}, False, 5),
        ({"selected": Selected(rounds=3)}, False, 6),
        ({}, True, 2),
        ({"full": True}, True, 10),
        ({"selected": Selected(rounds=3)}, True, 6),
    ],
)
def test_a_request_is_the_short_path_unless_more_is_asked(
    short_run: Run, asked: dict[str, Any], resumed: bool, cells: int
) -> None:
    resume = short_run.folder if resumed else None
    understood = session(Request("9", engine="local", resume=resume, **asked))
    assert len(understood.cells) == cells
    assert understood.of_all() == 10


def test_a_run_goes_on_with_the_plan_that_it_recorded(house: Path, short_run: Run) -> None:
    path = house / "problems" / "9-example" / "problem.yaml"
    path.write_text(SHORT.replace("rounds: 1", "rounds: 2"), encoding="utf-8")
    assert len(session(Request("9", engine="local")).cells) == 4
    understood = session(Request("9", engine="local", resume=short_run.folder))
    assert {cell.name for cell in understood.cells} == short_run.provenance.planned
    assert understood.to_run == understood.cells


@pytest.mark.parametrize(("capability", "planned"), [("8.6", {"slow"}), ("9.0", {"slow", "fast"})])
def test_a_gpu_runs_what_its_compute_capability_allows(
    house: Path, monkeypatch: pytest.MonkeyPatch, capability: str, planned: set[str]
) -> None:
    written(house / "problems", GOOD.replace("label: Fast,", 'label: Fast, capability: "8.9+",'))
    gpu = Gpu(0, "GPU-1", "a GPU", capability, 24 << 30, "580.1", "13.0")
    node = Host(replace(on_cpu().target, gpu=gpu))
    monkeypatch.setattr(Host, "detect", lambda: node)
    made = session(Request("9", engine="local"))
    assert {cell.variant for cell in made.cells} == planned
    assert made.of_all() == len(made.cells)
