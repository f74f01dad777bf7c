"""The decoder that problems share, in the interpreter that the local engine builds for a CPU."""

import pytest

from tests.support import torch_cpu
from tests.support.torch_cpu import needs_torch

CODE = """
import torch
from workloads.decoder import SHAPES, build

CONTEXT, PROMPT = 16, 12
shape = SHAPES["llama-tiny"]
logits = {}
for cache in ("split", "stacked"):
    torch.manual_seed(0)
    model = build("llama-tiny", CONTEXT, "cpu", cache)
    tokens = torch.randint(shape.vocabulary, (1, PROMPT))
    with torch.inference_mode():
        at_once = model(tokens, torch.arange(PROMPT))
        for block in model.blocks:
            for buffer in block.attention.cache.buffers():
                buffer.zero_()
        for at in range(PROMPT):
            one_by_one = model(tokens[:, at : at + 1], torch.tensor([at]))
    # A cache that is filled token by token holds what a prefill writes.
    torch.testing.assert_close(one_by_one, at_once, rtol=0.05, atol=0.05)
    logits[cache] = at_once
    held = [buffer for block in model.blocks for buffer in block.attention.cache.buffers()]
    assert len(held) == shape.layers * {"split": 2, "stacked": 1}[cache]
    total = 2 * shape.layers * shape.kv_heads * CONTEXT * shape.head
    assert sum(buffer.numel() for buffer in held) == total
    assert {tensor.dtype for tensor in [*model.parameters(), *held]} == {torch.bfloat16}
    with torch.inference_mode():
        model(tokens.flip(1), torch.arange(PROMPT))
        assert not torch.equal(model(tokens[:, -1:], torch.tensor([PROMPT - 1])), at_once)
assert torch.equal(logits["split"], logits["stacked"])
"""


@pytest.mark.slow
@needs_torch
def test_both_layouts_of_the_cache_compute_the_same() -> None:
    torch_cpu.run(CODE)
