"""GPT-2 in plain torch: its published dimensions, random weights, nothing downloaded.

The layout is that of Radford et al. 2019 as llm.c and nanoGPT have it: pre-norm blocks, GELU by
tanh, learned positions, the head's weight tied to the embedding's, biases everywhere, no dropout.
"""

import contextlib
import math
import zlib

import torch
import torch.nn.functional as F  # noqa: N812 - torch's own convention
from shapes import Shape
from torch import Tensor, nn


class Attention(nn.Module):
    """Causal self-attention with one product for queries, keys and values."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.heads = shape.heads
        self.qkv = nn.Linear(shape.width, 3 * shape.width)
        self.out = nn.Linear(shape.width, shape.width)

    def forward(self, x: Tensor) -> Tensor:
        """Take and return [B, T, width]."""
        batch, tokens, width = x.shape
        parts = self.qkv(x).view(batch, tokens, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        q, k, v = parts.unbind(0)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(batch, tokens, width))


class Block(nn.Module):
    """Attention and a feed-forward of four times the width, each behind a norm."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.norm_1 = nn.LayerNorm(shape.width)
        self.attention = Attention(shape)
        self.norm_2 = nn.LayerNorm(shape.width)
        self.up = nn.Linear(shape.width, 4 * shape.width)
        self.gelu = nn.GELU(approximate="tanh")
        self.down = nn.Linear(4 * shape.width, shape.width)

    def forward(self, x: Tensor) -> Tensor:
        """Take and return [B, T, width]."""
        x = x + self.attention(self.norm_1(x))
        return x + self.down(self.gelu(self.up(self.norm_2(x))))


class GPT2(nn.Module):
    """Token ids in, mean loss of the next ones out; the embedding has ``rows``, with padding."""

    def __init__(self, shape: Shape, rows: int) -> None:
        super().__init__()
        self.tokens = nn.Embedding(rows, shape.width)
        self.positions = nn.Embedding(shape.context, shape.width)
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.norm = nn.LayerNorm(shape.width)

    def trunk(self, tokens: Tensor) -> Tensor:
        """Return the hidden states [B, T, width] of token ids [B, T]."""
        x = self.tokens(tokens) + self.positions.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.norm(x)

    def forward(self, tokens: Tensor, targets: Tensor) -> Tensor:
        """Return the mean loss of targets [B, T]."""
        hidden = self.trunk(tokens)
        with named("head"):
            logits = F.linear(hidden, self.tokens.weight)
        with named("loss"):
            return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def build(shape: Shape, rows: int, device: str) -> GPT2:
    """Return the model with weights that depend on their names alone, not on the padding.

    Weights are normal with deviation 0.02, those that end a residual branch smaller by the root of
    their number, as GPT-2's are.
    """
    with torch.device("meta"):
        model = GPT2(shape, rows)
    model = model.to_empty(device=device)
    ending = 0.02 / math.sqrt(2 * shape.layers)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            draw = torch.Generator(device).manual_seed(zlib.crc32(name.encode()))
            if parameter.dim() == 1:
                parameter.fill_(1.0 if "norm" in name and name.endswith("weight") else 0.0)
                continue
            deviation = ending if name.endswith(("out.weight", "down.weight")) else 0.02
            known = shape.vocabulary if name == "tokens.weight" else parameter.shape[0]
            for part in (parameter[:known], parameter[known:]):
                if part.numel():
                    part.normal_(std=deviation, generator=draw)
    return model


def named(name: str) -> contextlib.AbstractContextManager[object]:
    """Return an annotation of a stretch of host time, none while a compiler traces."""
    if torch.compiler.is_compiling():
        return contextlib.nullcontext()
    return torch.profiler.record_function(name)


def annotate(model: nn.Module) -> None:
    """Let every module of an eager model annotate its forward pass with its own name."""
    for path, module in model.named_modules():
        owner, _, name = path.rpartition(".")
        label = f"blocks.{name}" if owner == "blocks" else name or "gpt2"
        if isinstance(module, nn.ModuleList):
            continue
        open_: list[torch.profiler.record_function] = []

        def enter(
            _module: nn.Module, _inputs: object, label: str = label, open_: list = open_
        ) -> None:
            open_.append(torch.profiler.record_function(label))
            open_[-1].__enter__()

        def leave(_module: nn.Module, _in: object, _out: object, open_: list = open_) -> None:
            open_.pop().__exit__(None, None, None)

        module.register_forward_pre_hook(enter)
        module.register_forward_hook(leave)
