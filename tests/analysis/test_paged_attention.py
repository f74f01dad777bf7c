"""The least work of paged attention by hand, and that nothing is known where nothing says it."""

import pytest

from harness.analysis import paged_attention
from tests.support.operator_inputs import text

VLLM = "vllm::unified_attention_with_output"
SGLANG = "sglang_profiler::attention_paged_attention_ragged_7"
WRITER = "_C_cache_ops::reshape_and_cache_flash"
DECODE = "execute_2_context_0(sq0sk0sqsq0sqsk0)_generation_2(sq2sk120sqsq2sqsk120)"
QUERIES = ("bf16", [2, 64, 64])
NEW = ("bf16", [2, 8, 64])
OF_VLLM = text(QUERIES, NEW, NEW, QUERIES)


def written(type_: str) -> str | None:
    cache = (type_, [100, 32, 8, 64])
    return paged_attention.cache_type([(WRITER, text(NEW, NEW, cache, cache)), ("aten::mm", "")])


@pytest.mark.parametrize(("type_", "width"), [("bf16", 2), ("unsigned char", 1)])
def test_the_cache_is_read_in_the_type_in_which_it_is_written(type_: str, width: int) -> None:
    least = paged_attention.work(VLLM, OF_VLLM, DECODE, written(type_))
    assert least is not None
    assert least.moved_bytes == 2 * (2 * 2 * 64 * 64) + 120 * 2 * 8 * 64 * width
    assert least.flop == 2 * 64 * (64 + 64) * 120  # two products of a query's 64 heads with each
    assert least.kind == "bf16"


def test_caches_that_are_given_say_their_own_type() -> None:
    cache = ("fp8", [100, 1, 8, 64])
    inputs = text(QUERIES, ("unsigned char", [10**6]), QUERIES, cache, cache)
    least = paged_attention.work(SGLANG, inputs, DECODE, None)
    assert least is not None
    assert least.moved_bytes == 2 * (2 * 2 * 64 * 64) + 120 * 2 * 8 * 64


@pytest.mark.parametrize(
    ("inputs", "batch", "type_"),
    [
        (OF_VLLM, DECODE, None),  # nothing says the type of the cache
        (OF_VLLM, "step[DECODE bs=2]", "bf16"),  # nor the lengths
        (OF_VLLM, None, "bf16"),
        (text(QUERIES, NEW), DECODE, "bf16"),  # nor the values
        ("no inputs", DECODE, "bf16"),
    ],
)
def test_what_is_not_said_is_no_work(inputs: str, batch: str | None, type_: str | None) -> None:
    kept = written(type_) if type_ else None
    assert paged_attention.work(VLLM, inputs, batch, kept) is None


def test_caches_of_two_types_leave_the_type_open() -> None:
    both = [
        (WRITER, text(NEW, NEW, (type_, [100, 32, 8, 64]))) for type_ in ("bf16", "unsigned char")
    ]
    assert paged_attention.cache_type(both) is None
