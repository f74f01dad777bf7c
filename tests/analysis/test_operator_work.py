"""The least work of operators, held to counters of kernels whose shapes are known, and to sums."""

import itertools
import json

import polars as pl
import pytest

from harness.analysis import flop
from harness.analysis.least_work import Work
from harness.analysis.operator_work import work
from harness.evidence import tables
from tests.support.operator_inputs import text
from tests.support.reports import committed

MB = 1_000_000


def known(operator: str, inputs: str) -> Work:
    least = work(operator, inputs)
    assert least is not None
    return least


@pytest.mark.parametrize(
    ("cell", "rows", "depth", "columns"),
    [
        ("square-1024.h7.ncu.r0", 1024, 1024, 1024),
        ("square-4096.torch.ncu.r0", 4096, 4096, 4096),
        ("short-k.h8.ncu.r0", 24576, 768, 2304),
    ],
)
def test_a_product_has_the_operations_that_its_warps_executed(
    cell: str, rows: int, depth: int, columns: int
) -> None:
    evidence = tables.load(committed("4-custom-hgemm") / "evidence")
    executed = evidence["instructions"].filter(pl.col("cell") == cell)
    (counted,) = flop.per_launch(executed).values()
    least = known("aten::mm", text(("bf16", [rows, depth]), ("bf16", [depth, columns])))
    assert least.flop == counted["bf16"]
    assert least.kind == "bf16"


@pytest.mark.parametrize(
    ("report", "cell", "launch", "operator", "inputs"),
    [
        (
            "1-torchao-float8",
            "stack-m1.bf16-eager.ncu.r0",
            0,
            "aten::mm",
            text(("bf16", [1, 4096]), ("bf16", [4096, 4096])),
        ),
        (
            "2-gemlite-autotune",
            "layer-m1.bf16-tuned-graph.ncu.r0",
            0,
            "aten::mm",
            text(("bf16", [1, 4096]), ("bf16", [4096, 4096])),
        ),
        (
            "5-gpt2-step",
            "step.eager.ncu.r0",
            2,
            "aten::native_layer_norm",
            text(("fp32", [24, 1024, 768]), ("", []), ("fp32", [768]), ("fp32", [768])),
        ),
    ],
)
def test_no_kernel_moves_less_or_is_faster_and_a_good_one_moves_hardly_more(
    report: str, cell: str, launch: int, operator: str, inputs: str
) -> None:
    """What Nsight Compute counted of one launch; the last writes of a kernel may stay in L2."""
    counters = tables.load(committed(report) / "evidence")["counters"]
    of_launch = counters.filter(pl.col("cell") == cell, pl.col("launch") == launch)
    named = dict(
        of_launch.with_columns(pl.col("metric").cast(pl.String)).select("metric", "value").rows()
    )
    least = known(operator, inputs).moved_bytes
    moved = named["dram__bytes_read.sum"] + named["dram__bytes_write.sum"]
    assert least == pytest.approx(moved, rel=0.05)
    assert least / 4.8e12 < named["gpu__time_duration.sum"] / 1e9


@pytest.mark.parametrize(
    ("operator", "inputs", "moved", "operations"),
    [
        (  # bias 5, inputs 2 × 3 and 3 × 5, result 2 × 5, all of 2 bytes
            "aten::addmm",
            text(("bf16", [5]), ("bf16", [2, 3]), ("bf16", [3, 5])),
            2 * (5 + 6 + 15 + 10),
            2 * 2 * 3 * 5,
        ),
        (
            "aten::bmm",
            text(("fp32", [7, 2, 3]), ("fp32", [7, 3, 5])),
            4 * 7 * (6 + 15 + 10),
            7 * 2 * 2 * 3 * 5,
        ),
        ("aten::linear", text(("fp32", [7, 2, 3]), ("fp32", [5, 3])), 4 * (42 + 15 + 70), 420),
        (  # of eight experts' matrices one is certain
            "aten::_grouped_mm",
            text(("bf16", [6, 4]), ("bf16", [8, 4, 5])),
            2 * (24 + 20 + 30),
            2 * 6 * 4 * 5,
        ),
        (  # 8 images of 3 × 10 × 10, 16 filters of 3 × 3, padded by 1, every second place
            "aten::cudnn_convolution",
            text(
                ("fp32", [8, 3, 10, 10]),
                ("fp32", [16, 3, 3, 3]),
                values=("", "", "[1, 1]", "[2, 2]", "[1, 1]", "1"),
            ),
            4 * (8 * 300 + 16 * 27 + 8 * 16 * 25),
            2 * 8 * 16 * 25 * 27,
        ),
        ("aten::mul", text(("bf16", [4, 8]), ("bf16", [8])), 2 * (32 + 8 + 32), 0),
        ("aten::add_", text(("fp32", [4, 8]), ("bf16", [4, 8])), 32 * (4 + 2 + 4), 0),
        ("aten::mul", text(("bf16", [4, 8]), ("double", [])), 2 * 64 + 8, 0),
        ("aten::eq", text(("int64", [10]), ("int64", [])), 80 + 8 + 10, 0),
        ("aten::copy_", text(("fp32", [10]), ("bf16", [10])), 60, 0),
        ("aten::fill_", text(("bf16", [10])), 20, 0),
        ("aten::sum", text(("fp32", [10, 10])), 400, 0),
        ("aten::_softmax", text(("bf16", [4, 9])), 2 * 72, 0),
        (  # three rows of 16 are written; which are read, and how often, is not certain
            "aten::index_select",
            text(("bf16", [100, 16]), ("", []), ("int64", [3]), values=("", "0", "")),
            3 * 8 + 3 * 16 * 2,
            0,
        ),
        ("_C::fused_add_rms_norm", text(*[("bf16", [4, 8])] * 2, ("bf16", [8])), 2 * 136, 0),
        ("aiter::rmsnorm", text(*[("bf16", [4, 8])] * 2, ("bf16", [8])), 2 * 72, 0),
        ("aiter::add_rmsnorm", text(*[("bf16", [4, 8])] * 4, ("bf16", [8])), 2 * 136, 0),
        ("sgl_kernel::silu_and_mul", text(("bf16", [4, 8]), ("bf16", [4, 16])), 2 * 96, 0),
        ("aiter::gemm_a16w16", text(("bf16", [2, 3]), ("bf16", [5, 3])), 2 * (6 + 15 + 10), 60),
        ("triton_poi_fused_add_0", text(*[("bf16", [64])] * 3), 384, 0),
    ],
)
def test_bytes_and_operations_are_those_of_a_sum_by_hand(
    operator: str, inputs: str, moved: int, operations: int
) -> None:
    least = known(operator, inputs)
    assert (least.moved_bytes, least.flop) == (moved, operations)


def queries_keys_values(length: int, keys: int, *, causal: str) -> str:
    tensors = [("bf16", [2, each, 4, 16]) for each in (length, keys, keys)]
    return text(*tensors, values=("",) * 8 + (causal,))


@pytest.mark.parametrize(("length", "keys"), [(6, 6), (6, 9), (9, 4), (1, 7)])
def test_attention_multiplies_the_pairs_that_its_mask_leaves(length: int, keys: int) -> None:
    pairs = list(itertools.product(range(length), range(keys)))
    seen = sum(key <= query for query, key in pairs)
    a_pair = 2 * (2 * 16) * 2 * 4  # a multiplication and an addition, twice, of heads and batches
    full, causal = (
        known("aten::_flash_attention_forward", queries_keys_values(length, keys, causal=word))
        for word in ("False", "True")
    )
    assert full.flop == len(pairs) * a_pair
    assert causal.flop == seen * a_pair
    assert full.moved_bytes == 2 * 2 * 4 * 16 * (2 * length + 2 * keys)


@pytest.mark.parametrize("lengths", [(5, 5, 5), (1, 2, 12), (15,)])
def test_a_packed_batch_multiplies_no_less_than_its_floor(lengths: tuple[int, ...]) -> None:
    """Equal lengths have the least pairs, and the floor is theirs, whatever the lengths are."""
    packed = [("bf16", [15, 4, 16])] * 3
    inputs = [
        text(*packed, ("int", [len(lengths) + 1]), values=("",) * 8 + (word,))
        for word in ("False", "True")
    ]
    full, causal = (known("aten::_flash_attention_forward", each) for each in inputs)
    a_pair = 2 * (2 * 16) * 4
    pairs, seen = (
        sum(each**2 for each in lengths),
        sum(each * (each + 1) // 2 for each in lengths),
    )
    assert full.flop <= a_pair * pairs
    assert causal.flop <= a_pair * seen
    if len(set(lengths)) == 1:
        assert (full.flop, causal.flop) == (a_pair * pairs, a_pair * seen)
    assert full.moved_bytes == 4 * 2 * 15 * 4 * 16


@pytest.mark.parametrize(
    ("operator", "inputs"),
    [
        ("aten::cat", '[[[[4],[4]],[]],["TensorList","Scalar"],[[[1],[1]],[]],["","0"]]'),
        ("vllm::unified_attention_with_output", text(*[("bf16", [8, 4, 16])] * 4)),
        ("triton_poi_fused_embedding_0", text(("bf16", [50257, 768]), ("bf16", [4, 768]))),
        ("aten::mm", text(("bf16", [2, 3]), ("bf16", [4, 5]))),
        ("aten::mm", text(("quint4x2", [2, 3]), ("quint4x2", [3, 5]))),
        ("aten::mm", text(("bf16", [1 << 39, 1 << 39]), ("bf16", [1 << 39, 1]))),
        ("aten::mm", "[1,2,3]"),
        ("aten::mm", "[[[1]],[[]],null,null]"),
        ("aten::mm", "[" * 1900 + "]" * 1900),
        ("aten::mm", json.dumps([[[True, "x"]], ["float"], None, None])),
        ("aten::nowhere", text(("bf16", [2]))),
    ],
)
def test_what_the_inputs_do_not_say_is_not_known(operator: str, inputs: str) -> None:
    assert work(operator, inputs) is None


def test_an_expanded_tensor_is_read_once() -> None:
    sizes, types = [[8, 8], [8, 8]], ["float", "float"]
    expanded = json.dumps([sizes, types, [[8, 1], [0, 1]], ["", ""]])
    assert known("aten::add", expanded).moved_bytes == 4 * (64 + 8 + 64)
