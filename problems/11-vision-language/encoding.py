"""Qwen2.5-VL's and LLaVA's vision encoders: transformers' own code, and without its waits."""

import copy
from collections.abc import Callable
from typing import Any

import plans
import torch
from plans import Grid
from preparing import Prepared
from torch import nn
from torch.nn.functional import scaled_dot_product_attention
from transformers import PreTrainedModel
from transformers.models.qwen2_5_vl.modeling_qwen2_5_vl import apply_rotary_pos_emb_vision
from transformers.vision_utils import get_vision_position_ids, get_vision_window_index

Features = list[torch.Tensor]
"""Of each request, (tokens, width of the language model)."""
_KEPT_SHAPES = 16
"""Plans and graphs that are kept; the oldest goes first."""
_WARM = 3
"""Passes before a capture, as torch asks for."""
_ALIGNED = 8
"""Elements of bf16 in 16 bytes, which one load of a Hopper product takes."""
ENCODER_SWITCHES = ("one_call", "aligned", "compiled", "graphs")


class Encoder:
    """The encoder of a model with a variant's switches.

    ``one_call``: attention of all windows in one call; ``aligned``: with it, feed-forward layers
    padded to rows of 16 bytes; ``compiled``: its blocks by torch.compile; ``graphs``: one CUDA
    graph for each batch of grids. Only ``graphs`` acts on LLaVA.
    """

    def __init__(self, model: PreTrainedModel, switches: dict[str, Any]) -> None:
        self._model = model
        self._is_qwen = hasattr(model.model, "visual")
        self._one_call: bool = switches["one_call"]
        self._mlps: list[nn.Module] = []
        if self._is_qwen and self._one_call:
            own = [block.mlp for block in model.model.visual.blocks]
            self._mlps = [aligned(mlp) for mlp in own] if switches["aligned"] else own
        self._use_graphs: bool = switches["graphs"] and model.device.type == "cuda"
        self._block: Callable[..., torch.Tensor] = block_of
        if switches["compiled"]:
            self._block = torch.compile(block_of, dynamic=True)
        self._plans: dict[tuple[Grid, ...], Plan] = {}
        self.graphs: dict[tuple[Grid, ...], _Graph] = {}

    def __call__(self, requests: list[Prepared]) -> Features:
        """Return the features of requests that are encoded together."""
        pixels = (
            torch.cat([each.pixels for each in requests]) if requests[1:] else requests[0].pixels
        )
        grids = tuple(each.grid for each in requests)
        whole = self._graphed(pixels, grids) if self._use_graphs else self._encoded(pixels, grids)
        return list(whole.split(self.tokens(list(grids)))) if self._is_qwen else list(whole)

    def tokens(self, grids: list[Grid]) -> list[int]:
        """Return the tokens of each image or clip."""
        if self._is_qwen:
            return [plans.tokens(grid) for grid in grids]
        return [self._model.config.image_seq_length] * len(grids)

    def _encoded(self, pixels: torch.Tensor, grids: tuple[Grid, ...]) -> torch.Tensor:
        dtype = self._model.dtype
        if not self._is_qwen:
            features = self._model.model.get_image_features(
                pixels.to(dtype),
                vision_feature_layer=-2,
                vision_feature_select_strategy="default",
                output_hidden_states=True,
            )
            return torch.stack(list(features.pooler_output))
        visual = self._model.model.visual
        if not self._one_call:
            grid = torch.tensor(grids, device=pixels.device)
            return visual(pixels.to(dtype), grid_thw=grid).pooler_output
        return self._in_one_call(visual, pixels.to(dtype), self._plan(grids))

    def _in_one_call(self, visual: Any, pixels: torch.Tensor, plan: "Plan") -> torch.Tensor:
        hidden = visual.patch_embed(pixels)[plan.order]
        for at, block in enumerate(visual.blocks):
            where = plan.frames if at in visual.fullatt_block_indexes else plan.windows
            hidden = self._block(block, self._mlps[at], hidden, plan.cos, plan.sin, *where)
        return visual.merger(hidden)[plan.reverse]

    def _plan(self, grids: tuple[Grid, ...]) -> "Plan":
        if grids not in self._plans:
            _make_room(self._plans)
            self._plans[grids] = plan_of(self._model.model.visual, grids)
        return self._plans[grids]

    def _graphed(self, pixels: torch.Tensor, grids: tuple[Grid, ...]) -> torch.Tensor:
        if grids not in self.graphs:
            _make_room(self.graphs)
            if self._is_qwen:
                self._plan(grids)
            static = pixels.clone()
            self.graphs[grids] = _Graph(static, lambda: self._encoded(static, grids))
        return self.graphs[grids](pixels)


def plan_of(visual: Any, grids: tuple[Grid, ...]) -> "Plan":
    """Return the plan of a batch on the encoder's device."""
    return Plan(visual, grids, visual.device)


class Plan:
    """The indices of a batch of grids, on the device."""

    def __init__(self, visual: Any, grids: tuple[Grid, ...], device: torch.device) -> None:
        grid = torch.tensor(grids)
        index, _ = get_vision_window_index(grid, plans.MERGE, visual.window_size, visual.patch_size)
        square = torch.arange(plans.MERGE**2)
        self.order = (index[:, None] * plans.MERGE**2 + square).flatten().to(device)
        self.reverse = torch.argsort(index).to(device)
        positions = get_vision_position_ids(grid, plans.MERGE).to(device)
        rotary = visual.rotary_pos_emb(torch.empty(0, dtype=visual.dtype, device=device), positions)
        self.cos, self.sin = (part[self.order] for part in rotary)
        self.windows = _on(device, [n for each in grids for n in plans.window_lengths(each)])
        self.frames = _on(device, [n for each in grids for n in plans.frame_lengths(each)])


def _on(device: torch.device, lengths: list[int]) -> tuple[torch.Tensor, ...]:
    """Return rows (segments, width), back (rows,) and the mask of own rows, None if all are."""
    found = plans.slots(lengths)
    rows, back = (torch.tensor(each, device=device) for each in (found.rows, found.back))
    if not found.padded:
        return rows, back, None  # type: ignore[return-value]  # no mask
    own = torch.arange(found.width) < torch.tensor(lengths)[:, None]
    return rows, back, own[:, None, None, :].to(device)


def aligned(mlp: Any) -> nn.Module:
    """Return a gated feed-forward layer whose width is padded with zeros, to equal results."""
    wide = copy.deepcopy(mlp)
    inner = -(-mlp.down_proj.in_features // _ALIGNED) * _ALIGNED
    for name in ("gate_proj", "up_proj"):
        setattr(wide, name, _padded(getattr(mlp, name), inner, mlp.gate_proj.in_features))
    wide.down_proj = _padded(mlp.down_proj, mlp.down_proj.out_features, inner)
    return wide


def _padded(linear: nn.Linear, rows: int, columns: int) -> nn.Linear:
    """Return a layer with ``rows`` outputs of ``columns`` inputs; those added are zero."""
    like = {"device": linear.weight.device, "dtype": linear.weight.dtype}
    wide = nn.Linear(columns, rows, bias=linear.bias is not None, **like).requires_grad_(False)
    wide.weight.zero_()[: linear.out_features, : linear.in_features] = linear.weight
    if linear.bias is not None:
        wide.bias.zero_()[: linear.out_features] = linear.bias
    return wide


def block_of(
    block: Any,
    mlp: Any,
    hidden: torch.Tensor,
    cos: torch.Tensor,
    sin: torch.Tensor,
    rows: torch.Tensor,
    back: torch.Tensor,
    own: torch.Tensor | None,
) -> torch.Tensor:
    """Return ``hidden`` (patches, width) after one block, with one call of attention."""
    attention = block.attn
    qkv = attention.qkv(block.norm1(hidden))
    query, key, value = qkv.reshape(len(hidden), 3, attention.num_heads, -1).unbind(1)
    query, key = apply_rotary_pos_emb_vision(query, key, cos, sin)
    query, key, value = (part[rows].transpose(1, 2) for part in (query, key, value))
    seen = scaled_dot_product_attention(query, key, value, attn_mask=own)
    seen = seen.transpose(1, 2).reshape(rows.numel(), -1)[back]
    hidden = hidden + attention.proj(seen)
    return hidden + mlp(block.norm2(hidden))


class _Graph:
    """A CUDA graph of one pass over ``static``."""

    def __init__(self, static: torch.Tensor, encode: Callable[[], torch.Tensor]) -> None:
        self._static = static
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(_WARM):
                encode()
        torch.cuda.current_stream().wait_stream(side)
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph, capture_error_mode="thread_local"):  # others copy
            self._out = encode()

    def __call__(self, pixels: torch.Tensor) -> torch.Tensor:
        """Return the features; the next replay overwrites them."""
        self._static.copy_(pixels)
        self._graph.replay()
        return self._out


def _make_room(kept: dict[Any, Any]) -> None:
    while len(kept) >= _KEPT_SHAPES:
        kept.pop(next(iter(kept)))
