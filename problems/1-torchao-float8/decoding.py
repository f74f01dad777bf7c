"""A Llama-shaped decoder at batch 1: prefill eager, each decode step one CUDA graph, greedy."""

import time
from collections.abc import Callable

import torch
from cuda_graph import captured
from footprint import in_place, reset_peaks, state_peaks, state_size
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from variants import quantise
from workloads.decoder import SHAPES, Decoder, build

from harness.probe.cell import Cell


def decoder(cell: Cell) -> None:
    """Build, quantise and compile the decoder; measure generation, or one region of it."""
    prompt_length, new_tokens = cell.params["prompt"], cell.params["new_tokens"]
    context = -(-(prompt_length + new_tokens) // 8) * 8
    with cell.phase("load"):
        model = build(cell.params["model"], context, cell.device, cache="split")
        prompt = torch.randint(
            SHAPES[cell.params["model"]].vocabulary, (1, prompt_length), device=cell.device
        )
    with cell.phase("quantise"):
        quantise(model, cell.params["quantise"], tune=cell.params.get("tune", True))
        in_place(cell)
    state_size(cell, model)

    def prefill() -> Tensor:
        position = torch.arange(prompt_length, device=cell.device)
        return model(prompt, position).argmax(-1, keepdim=True)

    reset_peaks(cell)
    with cell.phase("first prefill"):
        token = prefill()
    position = torch.tensor([prompt_length], device=cell.device)
    decode = decoding(cell, model, token, position)
    prefill()
    if cell.capture == "timing":
        with cell.exclusively():
            time_generation(cell, prefill, decode, prompt_length, new_tokens)
    else:
        cell.measure("decode", lambda: decode(token, position))
    state_peaks(cell)


def decoding(
    cell: Cell, model: Decoder, token: Tensor, position: Tensor
) -> Callable[[Tensor, Tensor], Tensor]:
    """Return the decode step: token [1, 1] and position [1] in, next token [1, 1] out.

    Blocks are compiled as a region, once for all of them: 32 copies in one graph would be traced,
    compiled and tuned for minutes. On a GPU the whole step is then captured in one CUDA graph.
    """

    def block(layer: nn.Module, x: Tensor, rope: Tensor, mask: Tensor, at: Tensor) -> Tensor:
        # Written out it fuses; the fused attention kernels are made for long queries.
        with sdpa_kernel(SDPBackend.MATH):
            return layer(x, rope, mask, at)

    def last(decoder: Decoder, x: Tensor) -> Tensor:
        return decoder.leave(x).argmax(-1, keepdim=True)

    fast_block, fast_last = (
        torch.compile(region, fullgraph=True, dynamic=False) for region in (block, last)
    )
    token, position = token.clone(), position.clone()

    def step() -> Tensor:
        x, rope, mask = model.enter(token, position)
        for layer in model.blocks:
            x = fast_block(layer, x, rope, mask, position)
        return fast_last(model, x)

    with cell.phase("compile"):
        step()
    if cell.device == "cuda":
        with cell.phase("capture"):
            step = captured(step)

    def decode(next_token: Tensor, next_position: Tensor) -> Tensor:
        token.copy_(next_token)
        position.copy_(next_position)
        return step()

    return decode


def time_generation(
    cell: Cell,
    prefill: Callable[[], Tensor],
    decode: Callable[[Tensor, Tensor], Tensor],
    prompt_length: int,
    new_tokens: int,
) -> None:
    """Generate ``new_tokens`` several times; keep time to first token and both token rates."""
    first, total = [], []
    for _ in range(cell.settings["generations"]):
        cell.synchronize()
        start = time.perf_counter()
        token = prefill()
        cell.synchronize()
        prefilled = time.perf_counter()
        position = torch.tensor([prompt_length], device=cell.device)
        for _ in range(new_tokens - 1):
            token = decode(token, position)
            position += 1
        cell.synchronize()
        first.append(prefilled - start)
        total.append(time.perf_counter() - start)
    decoding = [whole - part for whole, part in zip(total, first, strict=True)]
    cell.sample("generate", "time_to_first_token", "ms", [1e3 * value for value in first])
    cell.sample("generate", "tokens_per_second", "tok/s", [new_tokens / value for value in total])
    cell.sample(
        "generate", "decode_tokens_per_second", "tok/s", [(new_tokens - 1) / v for v in decoding]
    )
    size = cell.stated("model_bytes")
    cell.sample("generate", "model_bandwidth", "GB/s", [size * new_tokens / v / 1e9 for v in total])
    cell.sample("generate", "wall_time", "ms", [1e3 * v / (new_tokens - 1) for v in decoding])
