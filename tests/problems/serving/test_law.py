"""The law of a prompt beside decodes, and the graphs' pool, against sums made token by token."""

from types import ModuleType, SimpleNamespace

import pytest

MIB = 1 << 20
T_MS, P_MS, DECODE_MS = 0.03, 2e-7, 7.0


def whole_ms(tokens: int) -> float:
    """A prompt alone: each token in the matrices, and with each token before it."""
    return sum(T_MS + P_MS * before for before in range(tokens))


def test_two_prompts_give_both_rates_back(modules: dict[str, ModuleType]) -> None:
    prompts = [(tokens, DECODE_MS + whole_ms(tokens)) for tokens in (2048, 16384)]
    known = modules["law"].rates(DECODE_MS, *prompts)
    assert known.token_ms == pytest.approx(T_MS, rel=1e-3)
    assert known.pair_ms == pytest.approx(P_MS, rel=1e-3)


@pytest.mark.parametrize("chunk", [128, 1000, 16384])
def test_chunks_take_the_prompt_and_a_step_of_decodes_each(
    modules: dict[str, ModuleType], chunk: int
) -> None:
    steps = modules["law"].steps_ms(modules["law"].Rates(DECODE_MS, T_MS, P_MS), 16384, chunk)
    assert len(steps) == -(-16384 // chunk)
    assert sum(steps) == pytest.approx(len(steps) * DECODE_MS + whole_ms(16384), rel=1e-4)
    assert chunk == 1000 or steps == sorted(steps)  # later chunks see more tokens before them


@pytest.mark.parametrize(
    ("batches", "mib"),
    [
        ([1], 2 + 32),
        # Small blocks: streams of 0.5, qkv 0.75 twice, in 2 segments; parts, gate and up with their
        # product in one of 20, where the logits, 15.66, fit once those are free; cuBLAS 32.
        ([64], 4 + 20 + 32),
        ([1, 2, 4, 8, 16, 32, 64], 4 + 20 + 32),
        # Batch 256: streams of 2 are large, at most 16 of a segment of 20 beside gate and up, 14,
        # which have their own; logits, 62.6, do not fit there. Batch 128: 4 small blocks of 1, and
        # tiny ones, in 3 segments.
        ([1, 2, 4, 8, 16, 32, 64, 128, 256], 6 + 20 + 14 + 64 + 32),
    ],
)
def test_the_pool_of_graphs_by_hand(
    modules: dict[str, ModuleType], batches: list[int], mib: int
) -> None:
    shape = SimpleNamespace(
        width=4096, heads=32, kv_heads=8, head=128, hidden=14336, vocabulary=128256
    )
    splits = {batch: max(1, min(32, 128 // batch)) for batch in batches}
    assert modules["pool_size"].predicted(shape, splits) == mib * MIB
