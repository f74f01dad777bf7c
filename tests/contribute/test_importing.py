"""Captures made without the harness: cells of a run, with what nobody recorded left unknown."""

import csv
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from harness.cli.app import app
from harness.extract import door
from harness.ground import checkout
from harness.problem import manifest
from harness.report import publish
from harness.store.run_folder import Run, verified
from tests.support.manifests import GOOD, written
from tests.support.origins import origin
from tests.support.paths import DATA

NSYS, NCU = DATA / "nsys" / "streams.sqlite.zst", DATA / "ncu" / "small.ncu-rep.zst"
TORCH, MEMORY = DATA / "torch" / "streams.json.gz", DATA / "memory" / "graph.pickle.zst"
MANIFEST = GOOD.replace("timing: {}", "timing: {}\n  nsys: {}\n  ncu: {}\n  torch: {}").replace(
    "claims:",
    "  kernels: {label: kernels, unit: kernels, capture: nsys, measure: kernels_per_step}\nclaims:",
)


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with problem 9, which records timelines and counters."""
    monkeypatch.setattr(checkout, "CHECKOUT", tmp_path)
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "problems", MANIFEST)
    return tmp_path


def imported(*arguments: object, place: str = "9/small/slow") -> Result:
    return CliRunner().invoke(app, ["contribute", *map(str, arguments), "--as", place, "--json"])


def run_of(done: Result) -> Run:
    assert done.exit_code == 0, done.output
    return Run.open(Path(json.loads(done.stdout)["run"]))


def test_a_capture_becomes_a_cell_with_the_evidence_that_it_holds(house: Path) -> None:
    done = imported(NSYS, NCU)
    assert json.loads(done.stdout)["cells"] == ["small.slow.nsys.r0", "small.slow.ncu.r0"]
    run = run_of(done)
    for folder, record in run.records():
        assert record.imported in (NSYS.name, NCU.name)
        for name in record.artifacts:
            verified(folder, record, name)
    evidence = door.run(run, house / "evidence").tables
    operations = door.capture(NSYS).captures["nsys"].tables["gpu_ops"]["name"].cast(str).to_list()
    assert evidence["gpu_ops"]["name"].cast(str).to_list() == operations
    launches = (
        door.capture(NCU).captures["ncu"].tables["counters"]["launch"].unique().sort().to_list()
    )
    assert evidence["counters"]["launch"].unique().sort().to_list() == launches


def test_the_range_that_marks_a_step_is_counted(house: Path) -> None:
    run = run_of(imported(NSYS, "--range", "step"))
    with (DATA / "nsys" / "streams_nvtx_sum.csv").open() as file:
        counts = {row["Range"].lstrip(":"): int(row["Instances"]) for row in csv.DictReader(file)}
    ((_, record),) = run.records()
    assert record.workload.declared == {"step": counts["step"]}
    report = publish.publish(
        manifest.find(house / "problems", "9"), run, house / "reports", house / ".captures"
    ).folder
    page = publish.page_of(manifest.find(house / "problems", "9"), report)
    measured = page.metrics.get("kernels", "slow", "small").value
    launched = (
        door.capture(NSYS)
        .captures["nsys"]
        .tables["gpu_ops"]["kind"]
        .cast(str)
        .to_list()
        .count("kernel")
    )
    assert measured is not None and 0 < measured * counts["step"] <= launched


def test_the_page_says_what_is_not_known(house: Path) -> None:
    run = run_of(imported(NSYS))
    reports = house / "reports"
    folder = publish.publish(
        manifest.find(house / "problems", "9"), run, reports, house / ".captures"
    ).folder
    assert folder == reports / "9-example" / "nvidia-h200"
    text = (folder / "README.md").read_text(encoding="utf-8")
    assert "| imported | 1 of 1 cells: captures made without the harness. Not known: " in text
    assert "| host | not recorded |" in text
    assert "1 not measured" in text  # the claim is on times, and a timeline has none unprofiled


def test_what_is_compared_goes_into_one_run(house: Path) -> None:
    run = run_of(imported(NSYS))
    more = imported(NSYS, "--run", run.folder, place="9/small/fast")
    again = imported(NSYS, "--run", run.folder, place="9/small/fast")
    assert run_of(more).folder == run_of(again).folder == run.folder
    assert [record.name for _, record in run.records()] == [
        "small.fast.nsys.r0",
        "small.fast.nsys.r1",
        "small.slow.nsys.r0",
    ]
    assert len(Run.folders(house / "runs", "9-example")) == 1


@pytest.mark.parametrize(
    ("arguments", "place", "told"),
    [
        ([NSYS], "9/small", "is not PROBLEM/CASE/VARIANT"),
        ([NSYS], "9/smal/slow", "has no case 'smal' (did you mean small?)"),
        ([NSYS], "9/small/slowest", "has no variant 'slowest' (did you mean slow?)"),
        ([NSYS], "8/small/slow", "no problem '8'"),
        ([NSYS, MEMORY], "9/small/slow", "a memory capture, and 9-example records none"),
        ([NSYS, TORCH, "--range", "step"], "9/small/slow", "no range 'step' (there are: whole)"),
        ([NSYS, DATA / "nsys" / "streams_nvtx_sum.csv"], "9/small/slow", "streams_nvtx_sum.csv"),
        ([NSYS, "--run", "nowhere"], "9/small/slow", "not a run folder"),
    ],
)
def test_what_cannot_be_imported_is_told_and_nothing_is_written(
    house: Path, arguments: list[object], place: str, told: str
) -> None:
    done = imported(*arguments, place=place)
    assert told in str(done.exception)
    assert not (house / "runs").exists()


@pytest.mark.usefixtures("house")
def test_captures_of_two_gpus_are_two_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_of(imported(NSYS))
    other = door.capture(NCU)
    other.captures["ncu"].conditions["GPU"] = "NVIDIA L4"
    monkeypatch.setattr(door, "capture", lambda _: other)
    done = imported(NCU, "--run", run.folder)
    assert "captures of 2 GPUs" in str(done.exception)
    assert len(list(run.records())) == 1


def test_a_run_that_the_harness_executed_takes_no_captures(house: Path) -> None:
    run = Run.create(house / "runs", "9-example", origin())
    done = imported(NSYS, "--run", run.folder)
    assert "the harness executed this run" in str(done.exception)
    assert list(run.records()) == []
