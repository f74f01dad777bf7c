"""A step from one GPU's share: by hand on the report's numbers, and what the law adds to it."""

from collections.abc import Iterator
from statistics import geometric_mean

import pytest

from harness.report.page import Page
from tests.support.split_study import SECTIONS, by_process

CASES = ["llama", "train", "mixtral"]


def split_ways(report: Page) -> Iterator[tuple[str, str, str]]:
    """Yield case, work and way of each way that was predicted."""
    for case in CASES:
        for work, about in report.problem.cases[case].params["works"].items():
            yield from ((case, work, way) for way in about["ways"] if way != "whole")


def test_every_split_way_has_a_row_with_both_errors(report: Page) -> None:
    told = SECTIONS.from_one_gpu(report, "in-turn", CASES)
    rows = {line.split("`")[1]: line for line in told.splitlines() if line.startswith("| `")}
    assert set(rows) == {f"{work}-by-{way}" for _, work, way in split_ways(report)}
    # tensor parallelism hides nothing: half of one GPU's step, and its collectives
    place = "prefill-by-tensor"
    whole, step, comm = (
        by_process(report, name, "llama")
        for name in ("step_ms@prefill-by-whole", f"step_ms@{place}", f"comm_ms@{place}")
    )
    errors = [100 * (1 - (a / 2 + c) / b) for a, b, c in zip(whole, step, comm, strict=True)]
    assert f"| {geometric_mean(errors):.1f}%" in rows[place]
    # a naive pipeline's own work is half of its step; one GPU's step is as long
    parts, wholes = (
        by_process(report, f"{metric}@train-by-{way}", "train")
        for metric, way in (("part_ms", "naive"), ("step_ms", "whole"))
    )
    over_share = geometric_mean(
        part / (whole / 2) for part, whole in zip(parts, wholes, strict=True)
    )
    assert f"`train-by-naive` | {over_share:.3f} ± " in rows["train-by-naive"]
    missed = told.rpartition(" %: ")[2].partition(". ")[0].split(", ")
    assert f"{len(missed)} of {len(rows)} ways" in SECTIONS.missed_from_one_gpu(
        report, "in-turn", CASES
    )


def test_what_the_law_adds_does_not_depend_on_own_work(report: Page) -> None:
    for case, work, way in split_ways(report):
        name = f"{work}-by-{way}"
        predicted, own, bubble, comm = (
            by_process(report, f"{metric}@{name}", case)
            for metric in ("predicted_ms", "part_ms", "bubble_law", "comm_ms")
        )
        slowed = by_process(report, f"slowed_ms@{name}", case) or [0.0] * len(comm)
        parts = [
            (step - lost - part / (1 - idle / 100)) / alone
            for step, lost, part, idle, alone in zip(
                predicted, slowed, own, bubble, comm, strict=True
            )
        ]
        assert parts == pytest.approx([parts[0]] * len(parts), abs=1e-6)


def test_without_one_gpu_s_step_there_is_no_share(report: Page) -> None:
    assert "not measured" in SECTIONS.from_one_gpu(report, "in-turn", ["llama-4"])
    assert SECTIONS.missed_from_one_gpu(report, "in-turn", ["llama-4"]) == "not measured"
