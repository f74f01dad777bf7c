"""A rung's stages, timed one by one, and the counts of its requests: what a prediction knows."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import plans
from answering import Ask, Server
from predict import Stages, Work
from spans import AHEAD, GPU, Clock
from transformers import PreTrainedModel

from harness.probe.cell import Cell

_ALIGNED = 8
"""Elements of bf16 in 16 bytes."""
_HOST = ("decode", "process", "copy")
_LAUNCHED = ("encode", "prefill")
_SIDES = {"host": 0, "gpu": GPU, "ahead": AHEAD}
"""Where a launched stage is timed: its launches, first to last kernel, and the GPU alone."""


@dataclass
class Timed:
    """The stages of a rung's requests, from passes between the turns, so in the host's own moods.

    Each pass times a part of the requests, or all where the encoder takes them together.
    """

    server: Server
    asks: list[Ask]
    _found: dict[int, list[dict[str, float]]] = field(default_factory=dict)

    def take(self, turn: int, turns: int) -> None:
        """Time the requests of a turn: over all turns each of them once."""
        together = self.server.options["encode"] == "together"
        asks = self.asks if together else self.asks[turn::turns]
        if not asks:
            return
        clock = Clock(self.server.device, alone=True)
        clock.start()
        self.server.one_by_one(asks, clock)
        clock.stop()
        for ask in asks:
            self._found.setdefault(ask.number, []).append(self._of(clock, ask, len(asks)))

    def each(self) -> list[dict[str, float]]:
        """Return the ms of each request's stages, in the requests' order, by key."""
        passes = [self._found[ask.number] for ask in self.asks]
        return [
            {key: statistics.median(one[key] for one in each) for key in each[0]} for each in passes
        ]

    def stages(self) -> list[Stages]:
        """Return the stages as a prediction takes them."""
        return [
            Stages(
                **{key: each[key] for key in _HOST},
                encode_host=each["encode_host"],
                encode_gpu=_own(each, "encode"),
                prefill_host=each["prefill_host"],
                prefill_gpu=_own(each, "prefill"),
            )
            for each in self.each()
        ]

    def keep(self, cell: Cell, name: str) -> None:
        """Keep the mean over the requests of what was timed for all of them."""
        each = self.each()
        for key in each[0]:
            if all(key in one for one in each):
                mean = statistics.fmean(one[key] for one in each)
                cell.sample(name, f"{key}_ms", "ms", [mean])

    def _of(self, clock: Clock, ask: Ask, count: int) -> dict[str, float]:
        """Return a request's ms by key; of what runs for all together, its share."""
        found = {stage: clock.ms(stage).get(ask.number, 0.0) for stage in _HOST}
        for stage in _LAUNCHED:
            shared = self.server.options[stage] == "together"
            for side, where in _SIDES.items():
                ms = clock.ms(stage, where)
                if shared and ms:
                    found[f"{stage}_{side}"] = sum(ms.values()) / count
                elif ask.number in ms:
                    found[f"{stage}_{side}"] = ms[ask.number]
        return found


def _own(each: Mapping[str, float], stage: str) -> float:
    """Return the GPU's own ms of a stage, else first to last kernel, without a GPU the host's."""
    keys = (f"{stage}_ahead", f"{stage}_gpu", f"{stage}_host")
    return next(each[key] for key in keys if key in each)


def works(
    model: PreTrainedModel, server: Server, sizes: Sequence[Sequence[int]], gb_s: float
) -> list[Work]:
    """Return the counts of each request that a server answered, from its size and the model's."""
    params, grids = server.options, [server.grids[number] for number in range(len(sizes))]
    weights = sum(each.numel() for each in model.model.language_model.layers.parameters())
    lengths = [params["text_tokens"] + tokens for tokens in server.encode.tokens(grids)]
    vision = model.config.vision_config
    width, hidden = vision.hidden_size, vision.intermediate_size
    blocks, whole = _blocks(vision)
    found = []
    for (wide, high), grid, length in zip(sizes, grids, lengths, strict=True):
        odd = plans.feed_forward_flop([grid], width, hidden, blocks) if hidden % _ALIGNED else 0.0
        work = Work(
            blocks=blocks,
            image_bytes=3.0 * wide * high * params.get("frames", 1),
            calls=plans.calls([grid], blocks, whole) if server.family == "qwen" else blocks,
            encode_flop=plans.flop([grid], width, hidden, blocks, whole),
            odd_flop=odd,
            prefill_flop=2.0 * weights * length,
            pass_bytes=2.0 * math.prod(grid) * width,
            padded=max(lengths) / length,
            gb_s=gb_s,
        )
        found.append(work)
    return found


def _blocks(vision: Any) -> tuple[int, int]:
    """Return the encoder's blocks, and those of them with attention over a whole frame."""
    whole = getattr(vision, "fullatt_block_indexes", None)
    if whole is None:
        return vision.num_hidden_layers, vision.num_hidden_layers
    return vision.depth, len(whole)
