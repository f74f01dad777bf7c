"""Real text as token ids: bytes of a public-domain text, whose source ``text.json`` says."""

import json
from pathlib import Path

import torch
from torch import Tensor


def tokens() -> Tensor:
    """Return the text as one row of token ids, each a byte."""
    known = json.loads(Path(__file__).with_name("text.json").read_text(encoding="utf-8"))
    return torch.tensor(list("\n".join(known["lines"]).encode()), dtype=torch.int64)


def batch(text: Tensor, number: int, rows: int, length: int) -> tuple[Tensor, Tensor]:
    """Return token ids and the next ones, [rows, length] each, the same for every equal number."""
    draw = torch.Generator().manual_seed(number)
    starts = torch.randint(len(text) - length - 1, (rows, 1), generator=draw)
    at = starts + torch.arange(length + 1)
    chosen = text[at]
    return chosen[:, :-1].contiguous(), chosen[:, 1:].contiguous()
