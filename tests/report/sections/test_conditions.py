"""The conditions of a run: which GPU, which engine, how many samples, what was noticed."""

from dataclasses import replace

import pytest

from harness.evidence.provenance import EngineRecord, Git, RunArguments, TargetRecord
from harness.problem.model import Problem
from harness.report.sections import conditions
from tests.support.pages import page, rows_of
from tests.support.small_evidence import Row, cell, tables


def test_gpus_are_counted_where_more_than_one_timed_a_case(example: Problem) -> None:
    def shown(*timed: tuple[Row, str]) -> str:
        gpus = {row["cell"]: gpu for row, gpu in timed}
        evidence = tables(cells=[row for row, _ in timed])
        return conditions.timed_on(page(example, evidence, gpus=gpus), "small")

    first, second = "GPU-01234567-first", "GPU-89abcdef-second"
    alone = [
        (cell("slow"), first),
        (cell("fast"), first),
        (cell("fast", capture="ncu"), second),
        (cell("odd", status="failed"), second),
        (cell("other", case="large"), second),
    ]
    assert shown(*alone) == ""
    text = shown(*alone, (cell("slow", 1), first), (cell("third"), second))
    assert text.startswith("*Timed on 2 GPUs of this model.")


def test_a_run_of_an_engine_and_a_container_is_described(example: Problem) -> None:
    shown = page(example, tables())
    engine = EngineRecord(
        engine="docker",
        where="in a container",
        python="3.11",
        image="nvcr.io/nvidia/pytorch:25.03",
        image_digest="sha256:abc",
        version="27.0",
        locks={"plain": "0123456789abcdef0123"},
    )
    jobs = RunArguments(jobs=4)
    commit = Git(commit="abc123", changed=True)
    run = shown.provenance.run.model_copy(
        update={"engine": engine, "arguments": jobs, "git": commit, "harness": "1.0"}
    )
    provenance = shown.provenance.model_copy(update={"run": run})
    rows = dict(rows_of(conditions.conditions(replace(shown, provenance=provenance))))
    assert rows["where"] == "in a container, docker engine, 3.11"
    assert rows["rights of a container"] == "27.0; capabilities: none"
    assert rows["lock of plain"] == "sha256 0123456789abcdef…"
    assert rows["cells side by side"].startswith("4 set up at once")
    assert rows["harness"] == "1.0, commit abc123 with uncommitted changes"
    assert "nsys" not in rows


def test_each_host_that_ran_cells_is_named_with_its_cores(example: Problem) -> None:
    def shown(*cores: int | None) -> dict[str, str]:
        made = page(example, tables())
        first, *others = (
            made.provenance.run.model_copy(
                update={
                    "target": TargetRecord(
                        name="GPU", slug="gpu", device="cuda", cpu="Xeon", cores=count
                    )
                }
            )
            for count in cores
        )
        run = first.model_copy(update={"resumed": tuple(others)})
        provenance = made.provenance.model_copy(update={"run": run})
        return dict(rows_of(conditions.conditions(replace(made, provenance=provenance))))

    assert shown(32, 32)["host"] == "Xeon, 32 cores"
    assert shown(None)["host"] == "Xeon"
    assert shown(32, 16, 32)["hosts"] == "Xeon, 32 cores; Xeon, 16 cores"


def test_cells_that_failed_are_named(example: Problem) -> None:
    shown = page(
        example, tables(), gpus={"slow.small.timing.r0": None, "odd.small.timing.r0": None}
    )
    well, odd = shown.provenance.cells
    cells = (well, odd.model_copy(update={"status": "timeout"}))
    provenance = shown.provenance.model_copy(update={"cells": cells})
    rows = dict(rows_of(conditions.conditions(replace(shown, provenance=provenance))))
    assert rows["cells"] == "2, of which 1 failed (odd.small.timing.r0: timeout)"


def test_a_harness_is_shown_with_the_cells_that_it_measured(example: Problem) -> None:
    def shown(*began: float) -> str:
        made = page(example, tables(), gpus={f"small.slow.timing.r{at}": None for at in range(2)})
        cells = [
            cell.model_copy(update={"started": at})
            for cell, at in zip(made.provenance.cells, began, strict=True)
        ]
        second = {"git": Git(commit="later", changed=True), "started": "1970-01-01T00:01:00Z"}
        first = {"git": Git(commit="early", changed=False), "started": "1970-01-01T00:00:10Z"}
        run = made.provenance.run.model_copy(update=first | {"harness": "1.0"})
        run = run.model_copy(update={"resumed": (run.model_copy(update=second),)})
        provenance = made.provenance.model_copy(update={"run": run, "cells": tuple(cells)})
        return dict(rows_of(conditions.conditions(replace(made, provenance=provenance))))["harness"]

    both = (
        "1.0, commit early (1 of the cells);"
        " 1.0, commit later with uncommitted changes (1 of the cells)"
    )
    assert shown(11.5, 75.0) == both
    assert shown(11.5, 59.0) == "1.0, commit early"
    assert shown(5.0, 75.0) == "1.0, commit early; 1.0, commit later with uncommitted changes"


def test_samples_are_counted_over_all_series() -> None:
    def series(stopped: str, taken: int, warmup: int, outliers: int) -> Row:
        counts = {"taken": taken, "warmup": warmup, "outliers": outliers}
        return {"cell": "small.slow.timing.r0", "stopped": stopped} | counts

    evidence = tables(
        sampling=[
            series("samples", 200, 7, 2),
            series("half-width", 40, 0, 1),
            series("half-width", 60, 5, 0),
        ]
    )
    ended, taken = (text for _, text in conditions.sampling_rows(evidence))
    assert ended == "3, ended 2 by half-width, 1 by samples"
    assert taken == "300, of which 12 left out as warm-up; 3 far off and kept"
    assert conditions.sampling_rows(tables()) == []


@pytest.mark.parametrize(
    ("count", "more"), [(0, []), (8, []), (9, ["and 1 more"]), (12, ["and 4 more"])]
)
def test_of_many_notes_eight_are_shown_and_the_others_counted(count: int, more: list[str]) -> None:
    doubtful = [cell("slow", number, doubt="power cap") for number in range(count)]
    shown = [note for _, note in conditions.noticed_rows(tables(cells=[cell("fast"), *doubtful]))]
    notes = [f"small.slow.timing.r{number} doubtful: power cap" for number in range(min(count, 8))]
    assert shown[: len(notes)] == notes
    assert [note.split(",")[0] for note in shown[len(notes) :]] == more
