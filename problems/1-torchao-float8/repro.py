"""Reproduce the float8 weight-only slowdown: eight linears in a row, or a whole Llama decoder.

Run by ``harness run 1``; ``--dry-run`` prints the command and environment of each cell.
"""

import time
from collections.abc import Callable

import torch
from torch import Tensor, nn
from variants import emulate, quantise, stored_bytes, tune_coordinates
from workloads.decoder import SHAPES, build

from harness.probe.cell import Cell

EXTERN_CALL = "torchao.dequantize_affine_float8.default("


def main() -> None:
    """Run the cell that the environment names."""
    cell = Cell.load()
    torch.manual_seed(0)
    if cell.params.get("tune_coordinates"):
        tune_coordinates()
    for fix in cell.params.get("emulate", []):
        emulate(fix)
    with torch.inference_mode():
        if cell.params["workload"] == "stack":
            stack(cell)
        else:
            decoder(cell)
    cell.finish()


def stack(cell: Cell) -> None:
    """Run eight square linears: the cost per weight without other layers."""
    width, layers, m = (cell.params[key] for key in ("width", "layers", "m"))
    with cell.phase("load"):
        linears = [nn.Linear(width, width, bias=False, dtype=torch.bfloat16) for _ in range(layers)]
        model = nn.Sequential(*linears).to(cell.device).eval().requires_grad_(False)
        x = torch.randn(m, width, dtype=torch.bfloat16, device=cell.device)
    with cell.phase("quantise"):
        reference = model(x).float()
        quantise(model, cell.params["quantise"])
        in_place(cell)
    state_size(cell, model)
    step: Callable[[], Tensor] = lambda: model(x)  # noqa: E731 - the step is rebound below
    if cell.params["compile"]:
        step = compiled_stack(cell, model, x)
    with cell.phase("first"):
        error = (step().float() - reference).norm() / reference.norm()
    cell.fact("relative_error", error.item(), "")
    reset_peaks(cell)
    cell.measure("forward", step)
    state_peaks(cell)


def compiled_stack(cell: Cell, model: nn.Module, x: Tensor) -> Callable[[], Tensor]:
    """Compile the stack, keeping Inductor's output code and the extern calls in it."""
    from torch._inductor.utils import run_and_get_code

    fast = torch.compile(model, fullgraph=True, dynamic=False)
    with cell.phase("compile"):
        _, sources = run_and_get_code(fast, x)
    code = "\n".join(sources)
    (cell.out / "output_code.py").write_text(code, encoding="utf-8")
    body = [line for line in code.splitlines() if not line.lstrip().startswith("#")]
    cell.fact("extern_dequantise_calls", sum(EXTERN_CALL in line for line in body), "calls")
    cell.fact("extern_matmul_calls", sum("extern_kernels.mm(" in line for line in body), "calls")
    return lambda: fast(x)


def decoder(cell: Cell) -> None:
    """Run a decoder at batch 1: prefill eager, decode as the variant says, greedy sampling."""
    prompt_length, new_tokens = cell.params["prompt"], cell.params["new_tokens"]
    context = -(-(prompt_length + new_tokens) // 8) * 8
    with cell.phase("load"):
        model = build(cell.params["model"], context, cell.device, cache="split")
        prompt = torch.randint(
            SHAPES[cell.params["model"]].vocabulary, (1, prompt_length), device=cell.device
        )
    with cell.phase("quantise"):
        quantise(model, cell.params["quantise"])
        in_place(cell)
    state_size(cell, model)

    def one_token(token: Tensor, position: Tensor) -> Tensor:
        # Written out it fuses; the fused attention kernels are made for long queries.
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            return model(token, position).argmax(-1, keepdim=True)

    decode = one_token
    if cell.params["compile"]:
        decode = torch.compile(one_token, mode="reduce-overhead", fullgraph=True)

    def prefill() -> Tensor:
        position = torch.arange(prompt_length, device=cell.device)
        return model(prompt, position).argmax(-1, keepdim=True)

    reset_peaks(cell)
    with cell.phase("first prefill"):
        token = prefill()
    with cell.phase("compile and record"):
        position = torch.tensor([prompt_length], device=cell.device)
        for _ in range(cell.settings["warmup"]):  # compiles, then records the graph, then replays
            decode(token.clone(), position)
    if cell.params["compile"]:
        skipped = torch._dynamo.utils.counters["inductor"]["cudagraph_skips"]
        cell.fact("cudagraph_skips", skipped, "graphs")
    prefill()
    if cell.capture == "timing":
        with cell.exclusively():
            time_generation(cell, prefill, decode, prompt_length, new_tokens)
    elif cell.settings.get("region", "decode") == "prefill":
        cell.measure("prefill", prefill)
    else:
        cell.measure("decode", lambda: decode(token.clone(), position))
    state_peaks(cell)


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
            token = decode(token.clone(), position).clone()
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


def in_place(cell: Cell) -> None:
    """Free the memory cached by loading and quantising, so that peaks belong to inference."""
    cell.synchronize()
    if cell.device == "cuda":
        torch.cuda.empty_cache()


def reset_peaks(cell: Cell) -> None:
    """Reset the peak memory counters."""
    if cell.device == "cuda":
        torch.cuda.reset_peak_memory_stats()


def state_size(cell: Cell, model: nn.Module) -> None:
    """State the size of the weights without the embedding table, as the published figures do."""
    linears = [module for module in model.modules() if isinstance(module, nn.Linear)]
    sizes = [module.in_features * module.out_features for module in linears]
    cell.fact("linears", len(linears), "linears")
    cell.fact("weights", sum(sizes), "weights")
    cell.fact("largest_weight", max(sizes), "weights")
    cell.fact("model_bytes", stored_bytes(model, skip=("embedding",)), "B")


def state_peaks(cell: Cell) -> None:
    """State peak memory since the weights were in place; reserved is what the seed calls peak."""
    if cell.device == "cuda":
        cell.fact("peak_allocated_bytes", torch.cuda.max_memory_allocated(), "B")
        cell.fact("peak_reserved_bytes", torch.cuda.max_memory_reserved(), "B")


if __name__ == "__main__":
    main()
