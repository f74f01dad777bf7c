"""Whether each rung gives transformers' pixels, features and first tokens, on small models."""

from collections.abc import Mapping
from typing import Any

import loads
import models
import torch
from answering import Ask, Server
from preparing import Prepared
from spans import Clock
from transformers import PreTrainedModel

from harness.probe.cell import Cell

_LEVEL = 1 / 255 / 0.27577711
"""A step of 8 bits in the processors' output, whose blue channel has the widest scale."""
LOUD = 4.0
"""Times which weights are drawn larger, so that the image decides the token."""


def run(cell: Cell) -> None:
    """State, for each rung, how far it is from the first; of tokens, from transformers' forward."""
    params = cell.params
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    with cell.phase("load"):
        model = models.model(params["model"], cell.device, torch.float32)
        for name, weight in model.named_parameters():
            if not models.of_norm(name):
                weight.mul_(LOUD)
    asks = loads.asks(params)
    first: list[Prepared] = []
    wanted: list[list[int]] = []
    worst = {"pixel_levels": 0.0, "feature_error": 0.0, "differing": 0.0}
    for rung, switches in params["contenders"].items():
        with cell.phase(rung):
            server = Server(model, {**params, **switches})
            prepared = [server.prepared(ask) for ask in asks]
            if not first:
                first = prepared
                wanted = [tokens_of(model, server, each, params["tie"]) for each in first]
            found = compared(server, asks, first, prepared, wanted)
            server.close()
        for key, value in found.items():
            cell.fact(f"{key}.{rung}", value)
            worst[key] = max(worst[key], value)
    for key, value in worst.items():
        cell.fact(f"{key}.worst", value)


def tokens_of(model: PreTrainedModel, server: Server, prepared: Prepared, tie: float) -> list[int]:
    """Return the tokens that transformers' own forward may give: all within ``tie`` of the best."""
    is_clip = prepared.grid[0] > 1
    count = server.encode.tokens([prepared.grid])[0]
    ids = torch.tensor([server.prefill.ids(count, clip=is_clip)], device=model.device)
    given: dict[str, Any] = {"input_ids": ids}
    kind = "video" if is_clip else "image"
    given["pixel_values_videos" if is_clip else "pixel_values"] = prepared.pixels
    if server.family == "qwen":
        given[f"{kind}_grid_thw"] = torch.tensor([prepared.grid], device=model.device)
        one = model.config.video_token_id if is_clip else model.config.image_token_id
        given["mm_token_type_ids"] = (ids == one).int() * (2 if is_clip else 1)
    logits = model(**given).logits[0, -1].float()
    near = (logits >= logits.max() - tie).nonzero()
    return [int(token) for token in near.flatten()]


def compared(
    server: Server,
    asks: list[Ask],
    first: list[Prepared],
    prepared: list[Prepared],
    wanted: list[list[int]],
) -> Mapping[str, float]:
    """Return a rung's largest distance of pixels and features, and the tokens that differ.

    Features are those of the first rung's pixels, encoded by transformers' code.
    """
    pairs = list(zip(first, prepared, strict=True))
    levels = max(float((a.pixels - b.pixels).abs().max()) / _LEVEL for a, b in pairs)
    plain = server.plain_encoder()
    error = 0.0
    for (before, _), after in zip(pairs, server.encode(prepared), strict=True):
        known = plain([before])[0]
        error = max(error, float((known - after).norm() / known.norm()))
    answers = [server.answer(asks, Clock(server.device)).tokens for _ in range(2)]
    differing = sum(
        any(answer[at] not in one for answer in answers) for at, one in enumerate(wanted)
    )
    return {"pixel_levels": levels, "feature_error": 100 * error, "differing": differing}
