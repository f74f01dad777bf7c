"""Floors of operations: by hand, and that no operation of a real trace needs less than it took."""

import polars as pl
import pytest

from harness.analysis import datasheets, floors
from harness.analysis.floors import Rates
from harness.evidence.tables import empty, frame
from tests.support.operator_inputs import text

H200 = datasheets.of("NVIDIA H200")
assert H200 is not None
SHEET = Rates(H200, {})
CALIBRATED = Rates(H200, {"dram_read": 4400.0, "dram_copy": 4000.0, "bf16": 700.0})
PRODUCT = text(("bf16", [4096, 4096]), ("bf16", [4096, 4096]))
NORM = text(("fp32", [24, 1024, 768]), ("", []), ("fp32", [768]), ("fp32", [768]))


def launched(*rows: tuple[str, int, str | None, str | None, int | None]) -> pl.DataFrame:
    """Return kernels of a name, a duration, an operator, its inputs and the call's number."""
    names, durations, operators, inputs, calls = zip(*rows, strict=True)
    ops = frame(
        "gpu_ops",
        {
            "kind": ["kernel"] * len(rows),
            "name": names,
            "start_ns": range(0, 10**9 * len(rows), 10**9),
            "duration_ns": durations,
            "correlation": range(len(rows)),
        },
    )
    made = {"operator": operators, "inputs": inputs, "call": calls, "correlation": range(len(rows))}
    return floors.with_origins(ops, frame("origins", made))


def floored(ops: pl.DataFrame, rates: Rates = SHEET) -> floors.Floor:
    least = floors.floor(floors.with_floors(ops, rates, "duration_ns"), "duration_ns")
    assert least is not None
    return least


def test_a_floor_is_the_longer_of_bytes_and_operations() -> None:
    ops = launched(
        ("gemm", 200_000, "aten::mm", PRODUCT, 1),
        ("norm", 40_000, "aten::native_layer_norm", NORM, 2),
        ("paged_attention", 60_000, "vllm::unified_attention", PRODUCT, 3),
        ("ncclDevKernel_AllReduce", 10_000, None, None, None),
    )
    product, norm = 2 * 4096**3 / 989.4e12 * 1e9, 2 * 24 * 1024 * 768 * 4 / 4800
    least = floored(ops)
    parts = {part.family: part for part in least.parts}
    assert parts["linear"].floor_ns == pytest.approx(product)
    assert parts["linear"].bound == floors.ARITHMETIC
    assert parts["norm"].floor_ns == pytest.approx(norm, rel=1e-3)
    assert parts["norm"].bound == floors.MEMORY
    assert least.unknown == pytest.approx(60 / 300)
    assert least.floor_ns == pytest.approx(product + norm + 60_000 + 10_000, rel=1e-4)
    assert (least.exchange_ns, least.faster_ns, least.ceiling_ns) == (10_000, 0, None)


def test_calibrated_rates_make_a_second_floor() -> None:
    least = floored(launched(("gemm", 300_000, "aten::mm", PRODUCT, 1)), CALIBRATED)
    assert least.ceiling_ns == pytest.approx(2 * 4096**3 / 700e12 * 1e9)
    assert least.floor_ns < (least.ceiling_ns or 0)


def test_the_kernels_of_one_call_share_its_floor() -> None:
    alone = floored(launched(("gemm", 300_000, "aten::mm", PRODUCT, 1)))
    split = launched(
        ("gemm", 200_000, "aten::mm", PRODUCT, 1), ("splitKreduce", 100_000, "aten::mm", PRODUCT, 1)
    )
    assert floored(split).floor_ns == pytest.approx(alone.floor_ns)
    twice = launched(
        ("gemm", 200_000, "aten::mm", PRODUCT, 1), ("gemm", 200_000, "aten::mm", PRODUCT, 2)
    )
    assert floored(twice).floor_ns == pytest.approx(2 * alone.floor_ns)


def test_what_is_faster_than_its_floor_is_said_and_never_counts_as_more_than_all() -> None:
    least = floored(launched(("norm", 10_000, "aten::native_layer_norm", NORM, 1)))
    assert least.faster == 1
    assert least.floor_ns == 10_000
    assert least.parts[0].reached == 1


def test_fills_and_copies_within_a_device_need_no_shape() -> None:
    ops = frame(
        "gpu_ops",
        {
            "kind": ["memset", "copy", "copy"],
            "name": ["Memset", "Memcpy DtoD", "Memcpy HtoD"],
            "start_ns": [0, 10**6, 2 * 10**6],
            "duration_ns": [5000, 5000, 5000],
            "bytes": [4_800_000, 4_800_000, 4_800_000],
            "copy_kind": [None, "Device-to-Device", "Host-to-Device"],
        },
    )
    rows = floors.with_floors(
        floors.with_origins(ops, empty("origins")), SHEET, "duration_ns"
    ).select("family", "floor_ns")
    assert rows["family"].to_list() == [floors.FILL, floors.COPY, None]
    assert rows["floor_ns"].to_list() == [pytest.approx(1000), pytest.approx(2000), None]


def test_a_gpu_without_a_datasheet_has_no_floor() -> None:
    ops = launched(("gemm", 300_000, "aten::mm", PRODUCT, 1))
    assert floors.floor(floors.with_floors(ops, None, "duration_ns"), "duration_ns") is None
    tables = {"devices": empty("devices"), "ceilings": empty("ceilings")}
    assert floors.rates(tables, 0, "some GPU") is None


def test_each_replay_of_a_captured_call_has_its_floor() -> None:
    rows = [("gemm", 200_000, "aten::mm", PRODUCT, 1)] * 3
    eager = floored(launched(*rows))
    replayed = floored(launched(*rows).with_columns(in_graph=pl.lit(value=True)))
    assert replayed.floor_ns == pytest.approx(3 * eager.floor_ns)
