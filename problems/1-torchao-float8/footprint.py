"""What a model takes: its weights' bytes, and peaks of memory since the weights were in place."""

import torch
from torch import nn
from variants import stored_bytes

from harness.probe.cell import Cell


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
