"""Floors of serving engines' decode steps, held to tables made by hand of the models' sizes."""

from functools import cache

import pytest

from harness.analysis.audit import conclude
from harness.analysis.audit.rows import Row
from harness.extract import door
from tests.support.paths import DATA

GB_S = 5300.0
"""Of an MI300X's memory, in bytes a nanosecond times 1000."""
BATCH = 32


@cache
def of_published(name: str) -> conclude.Audit:
    files = (DATA / "serving" / f"{name}.{end}" for end in ("json.gz", "capture.json.gz"))
    step, capture = (door.capture(file).captures["torch"] for file in files)
    return conclude.audit([step], capture)


def ms(moved_bytes: float, launches: int) -> float:
    return launches * moved_bytes / GB_S / 1e6


def product(depth: int, columns: int, *, bias: bool = False) -> int:
    """Return the bytes of a product in bf16 of a batch's rows: inputs, weights, result, bias."""
    return 2 * (BATCH * depth + depth * columns + BATCH * columns + bias * columns)


QWEN3 = {
    "QKVParallelLinear_*, aten::mm": ms(product(4096, (32 + 2 * 8) * 128), 36),
    "Qwen3Attention_* / RowParallelLinear_*, aten::mm": ms(product(32 * 128, 4096), 36),
    "MergedColumnParallelLinear_*, aten::mm": ms(product(4096, 2 * 12288), 36),
    "Qwen2MLP_* / RowParallelLinear_*, aten::mm": ms(product(12288, 4096), 36),
    "LogitsProcessor_*, aten::mm": ms(product(4096, 151936), 1),
    # 32785 tokens of keys and values of 8 heads of 128; queries and results of 32 heads
    "attention_paged_attention_ragged_100": ms(
        2 * (32785 * 2 * 8 * 128 + 2 * BATCH * 32 * 128), 36
    ),
    "SiluAndMul_*, sgl_kernel::silu_and_mul": ms(2 * BATCH * 3 * 12288, 36),
}
"""Qwen3-8B: hidden 4096, 32 heads, 8 of keys, intermediate 12288, vocabulary 151936, 36 layers."""

GPT_OSS = {
    "MT32x32x256": ms(product(2880, 80 * 64, bias=True) + product(64 * 64, 2880, bias=True), 24),
    "MT16x16x256": ms(product(2880, 32, bias=True), 24),
    "MT448x32x64": ms(product(2880, 201088), 1),
    # 55086 tokens of keys and values of 8 heads of 64; every other layer sees 128 of each sequence
    "kernel_unified_attention_3d,reduce_segments": ms(
        2 * (55086 * 2 * 8 * 64 + 2 * BATCH * 64 * 64), 12
    ),
}
"""gpt-oss-20b: hidden 2880, 64 heads of 64, 8 of keys, 32 experts, vocabulary 201088, 24 layers."""


def sums(rows: list[Row]) -> tuple[float, float]:
    assert rows
    assert all(row.floor_ms is not None for row in rows)
    return sum(row.floor_ms or 0 for row in rows), sum(row.ms for row in rows)


@pytest.mark.parametrize("where", QWEN3)
def test_floors_of_qwen3(where: str) -> None:
    rows = of_published("sglang_qwen3_8b_decode").rows
    floor, took = sums([row for row in rows if f"{row.path}, {row.operator}".endswith(where)])
    assert floor == pytest.approx(QWEN3[where], rel=1e-3)
    assert floor < took


@pytest.mark.parametrize("kernels", GPT_OSS)
def test_floors_of_gpt_oss(kernels: str) -> None:
    rows = of_published("vllm_decode_full").rows
    names = kernels.split(",")
    floor, took = sums([row for row in rows if any(name in row.kernel for name in names)])
    assert floor == pytest.approx(GPT_OSS[kernels], rel=2e-3)
    assert floor < took


def test_a_layer_that_sees_a_window_has_no_floor() -> None:
    rows = of_published("vllm_decode_full").rows
    (windowed,) = (row for row in rows if row.kernel == "kernel_unified_attention_2d")
    whole = ms(2 * 55086 * 2 * 8 * 64, 12)
    assert windowed.ms < whole
    assert windowed.floor_ms is None


@pytest.mark.parametrize("name", ["sglang_qwen3_8b_decode", "vllm_decode_full"])
def test_no_floor_is_above_the_time_and_layers_agree_with_rows(name: str) -> None:
    audit = of_published(name)
    assert audit.shapes is not None
    assert audit.shapes.floor_ns < audit.shapes.work_ns
    assert all(row.floor_ms <= row.ms for row in audit.rows if row.floor_ms is not None)
    assert audit.layers is not None
    attention = [part for part in audit.layers.parts if "attention" in part.operator]
    rows = [row for row in audit.rows if "attention" in row.operator and row.floor_ms is not None]
    (part,) = attention
    expected = sum(row.floor_ms or 0 for row in rows) / audit.layers.count
    assert part.floor_ms == pytest.approx(expected)
    assert part.reached == pytest.approx(
        sum(row.floor_ms or 0 for row in rows) / sum(row.ms for row in rows)
    )


def test_almost_all_of_a_dense_model_s_step_has_a_floor() -> None:
    least = of_published("sglang_qwen3_8b_decode").shapes
    assert least is not None
    assert 1 - least.unknown > 0.99
    assert sum(QWEN3.values()) == pytest.approx(least.floor_ns / 1e6, rel=0.03)


def test_what_has_no_floor_is_counted_by_operator() -> None:
    least = of_published("vllm_decode_full").shapes
    assert least is not None
    assert sum(each.time_ns for each in least.unknowns) == pytest.approx(least.unknown_ns)
    assert all(each.recorded for each in least.unknowns)
    rows = [row for row in of_published("vllm_decode_full").rows if row.floor_ms is None]
    longest = least.unknowns[0]
    mine = sum(row.ms for row in rows if row.operator == longest.operator)
    assert mine == pytest.approx(longest.time_ns / 1e6)
