"""A measured step: its kernels, families, operators and counters, from evidence made by hand."""

import polars as pl
import pytest

from harness.analysis import step_parts
from harness.analysis.metrics import Metrics
from harness.evidence.tables import SCHEMAS, Tables
from harness.problem.model import Problem
from tests.support.small_evidence import Row, cell, tables
from tests.support.timelines import Op, timeline

MARK = "step:made"
COPY = Op("Memcpy DtoD", 900, kind="memcpy")


def recorded(captures: dict[str, Tables], **other: list[Row]) -> Tables:
    """Return the evidence of variant slow with one capture a kind, each step declared."""
    cells = [cell("slow", capture=kind) for kind in captures]
    declared = [
        {"cell": row["cell"], "name": f"declared {MARK}", "unit": "ranges", "value": 2.0}
        for row in cells
    ]
    base = tables(cells=cells, facts=declared, **other)
    rows = {
        name: [
            capture[name].insert_column(0, pl.lit(row["cell"]).alias("cell"))
            for row, capture in zip(cells, captures.values(), strict=True)
        ]
        for name in SCHEMAS
    }
    return {name: pl.concat([base[name], *rows[name]]) for name in base}


def two_steps(matmul_ns: int) -> Tables:
    """Return two steps of a GEMM and two pointwise kernels each."""
    kernels = [Op("ampere_bf16_gemm_128x64", matmul_ns), *[Op("triton_poi_fused_add_0", 1_000)] * 2]
    return timeline([[*kernels, COPY]] * 2, mark=MARK)


def test_kernels_are_a_steps_and_leave_copies_out(example: Problem) -> None:
    evidence = recorded({"nsys": two_steps(5_000)})
    kernels = step_parts.kernels(Metrics(example, evidence), "slow", "small")
    assert kernels
    assert (kernels.steps, kernels.kind) == (2, "nsys")
    counts = dict(kernels.kernels.select("name", "count").iter_rows())
    assert counts == {"ampere_bf16_gemm_128x64": 2, "triton_poi_fused_add_0": 4}


@pytest.mark.parametrize(("without_nsys", "kind"), [(False, "nsys"), (True, "torch")])
def test_the_cheapest_timeline_with_gpu_work_counts(
    example: Problem, without_nsys: bool, kind: str
) -> None:
    nsys = {name: rows.clear() if without_nsys else rows for name, rows in two_steps(5_000).items()}
    evidence = recorded({"torch": two_steps(7_000), "nsys": nsys})
    kernels = step_parts.kernels(Metrics(example, evidence), "slow", "small")
    assert kernels
    assert kernels.kind == kind


def test_without_a_timeline_there_are_no_kernels(example: Problem) -> None:
    assert (
        step_parts.kernels(Metrics(example, tables(cells=[cell("slow")])), "slow", "small") is None
    )


@pytest.mark.parametrize("on_gpu", [True, False])
def test_operators_are_those_with_gpu_time_or_all_where_none_has_any(
    example: Problem, on_gpu: bool
) -> None:
    name = cell("slow", capture="torch")["cell"]
    of_gpu = {"aten::mm": 8_000, "aten::add": 2_000, "aten::view": 0}
    operators = [
        {"cell": name, "name": operator, "count": 4, "total_ns": 6_000}
        | {"device_ns": device_ns if on_gpu else None}
        for operator, device_ns in of_gpu.items()
    ]
    evidence = recorded({"torch": two_steps(5_000)}, operators=operators)
    top = step_parts.operators(Metrics(example, evidence), "slow", "small", most=8)
    assert top is not None
    rows = {operator: tuple(values) for operator, *values in top.iter_rows()}
    if on_gpu:
        assert rows == {"aten::mm": (2.0, 3.0, 4.0), "aten::add": (2.0, 3.0, 1.0)}
    else:
        assert rows == dict.fromkeys(of_gpu, (2.0, 3.0, None))


def test_counters_are_medians_over_the_launches_of_a_name(example: Problem) -> None:
    name = cell("slow", capture="ncu")["cell"]
    times = {0: 100.0, 1: 300.0, 2: 200.0}
    rows = [
        {"cell": name, "launch": launch, "name": "k", "grid": "1,1,1", "block": "1,1,1"}
        | {"metric": "gpu__time_duration.sum", "unit": "ns", "value": time_ns}
        for launch, time_ns in times.items()
    ]
    evidence = tables(cells=[cell("slow", capture="ncu")], counters=rows)
    kernels = step_parts.counters(Metrics(example, evidence), "slow", "small")
    assert kernels is not None
    assert kernels.select("name", "launches", "time_ns").rows() == [("k", 3, 200.0)]
    assert kernels["dram_bytes"].to_list() == [None]


def test_a_difference_needs_a_timeline_of_both(example: Problem) -> None:
    evidence = recorded({"nsys": two_steps(5_000)})
    assert step_parts.difference(Metrics(example, evidence), "slow", "fast", "small") is None
    diff = step_parts.difference(Metrics(example, evidence), "slow", "slow", "small")
    assert diff
    assert diff.a_ns == diff.b_ns
