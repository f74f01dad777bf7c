"""Parts of a total: lengths of the bars, and variants that have none."""

import re

import pytest

from harness.problem.model import Metric, Problem
from harness.report.page import Page
from harness.report.sections import parts
from tests.support.pages import page, rows_of
from tests.support.small_evidence import cell, tables


def facts_page(problem: Problem, **held: dict[str, float]) -> Page:
    """A page on facts in bytes, ``whole``, ``full`` and ``free``, of each variant in case small."""
    metrics = {
        name: Metric.model_validate({"label": name, "unit": "B", "capture": "timing", "fact": name})
        for name in ("whole", "full", "free")
    }
    known = problem.model_copy(update={"metrics": metrics})
    rows = [
        {"cell": cell(variant)["cell"], "name": name, "value": value}
        for variant, values in held.items()
        for name, value in values.items()
    ]
    return page(known, tables(cells=[cell(variant) for variant in held], facts=rows))


def widths(svg: str) -> dict[tuple[str, str], float]:
    """Bytes of each drawn piece by variant and part, as the figure tells a screen reader."""
    found = re.findall(r'aria-label="([^"]*)" role="graphics-symbol"', svg)
    pieces = [dict(pair.split(": ", 1) for pair in label.split("; ")) for label in found]
    return {
        (piece["label"], piece["part"]): float(next(v for k, v in piece.items() if "GB" in k))
        for piece in pieces
        if "part" in piece
    }


def drawn(of: Page, variants: list[str]) -> str:
    parts.parts(
        of,
        "where",
        "small",
        variants,
        "",
        total="whole",
        metrics=["full", "free"],
        beside=["whole"],
    )
    return of.figures["where.svg"]


def test_pieces_are_the_parts_and_what_they_leave_of_the_total(example: Problem) -> None:
    slow = {"whole": 25e9, "full": 9e9, "free": 15e9}
    svg = drawn(
        facts_page(example, slow=slow, fast={"whole": 8e9, "full": 8e9, "free": 0}),
        ["slow", "fast"],
    )
    found = widths(svg)
    assert {part: size for (label, part), size in found.items() if label == "Slow"} == {
        "full": pytest.approx(9),
        "free": pytest.approx(15),
        "other": pytest.approx(1),
    }
    assert sum(size for (label, _), size in found.items() if label == "Fast") == pytest.approx(8)
    assert ">25 GB</text>" in svg
    assert ">8 GB</text>" in svg


def test_a_variant_that_lacks_a_part_has_no_bar(example: Problem) -> None:
    lacking = facts_page(
        example, slow={"whole": 2e9, "full": 1e9, "free": 1e9}, fast={"whole": 1e9}
    )
    assert {label for label, _ in widths(drawn(lacking, ["slow", "fast"]))} == {"Slow"}
    nothing = facts_page(example, fast={"whole": 1e9})
    shown = parts.parts(
        nothing, "where", "small", ["fast"], "", total="whole", metrics=["full", "free"], beside=[]
    )
    assert shown == "*parts of whole by variant: not measured on this target.*"
    assert not nothing.figures


def changes(of: Page, *variants: str) -> str:
    return parts.parts_changed(of, "small", list(variants), "whole", ["full", "free"])


def test_changes_of_the_parts_add_up_to_that_of_the_total(example: Problem) -> None:
    slow = {"whole": 25e9, "full": 9e9, "free": 15e9}
    both = facts_page(example, slow=slow, fast={"whole": 8e9, "full": 7.5e9, "free": 0.0})
    assert rows_of(changes(both, "slow", "fast")) == [
        ["Slow", "full", "free", "other", "whole"],
        ["bytes", "9 GB", "15 GB", "1 GB", "25 GB"],
        ["Fast", "-1.5 GB", "-15 GB", "-500 MB", "-17 GB"],
    ]


def test_without_the_first_variant_nothing_is_compared(example: Problem) -> None:
    half = facts_page(example, fast={"whole": 8e9, "full": 8e9, "free": 0.0})
    assert changes(half, "slow", "fast") == "*parts of whole: not measured on this target.*"
    assert len(rows_of(changes(half, "fast", "slow"))) == 2
