"""The language model's part: a prompt of text around one image, to its first token and on."""

import time
from typing import Any

import plans
import torch
from plans import Grid
from transformers import DynamicCache, PreTrainedModel

_BEFORE = 16
"""Tokens of text before the image: the system's prompt."""
_SEED = 11


class Prefill:
    """Prefills prompts of ``text_tokens`` tokens of text, the first of them before the image."""

    def __init__(self, model: PreTrainedModel, text_tokens: int) -> None:
        self._model = model
        self._language = model.model.language_model
        self._embed = model.get_input_embeddings()
        self._is_qwen = hasattr(model.model, "visual")
        drawn = torch.Generator().manual_seed(_SEED)
        self._text = torch.randint(1000, 30000, (text_tokens,), generator=drawn).tolist()

    def ids(self, count: int, *, clip: bool) -> list[int]:
        """Return a prompt's tokens, ``count`` of which stand for the image or clip."""
        config = self._model.config
        image = config.image_token_id if self._is_qwen else config.image_token_index
        one = config.video_token_id if clip else image
        return [*self._text[:_BEFORE], *([one] * count), *self._text[_BEFORE:]]

    def __call__(
        self, features: list[torch.Tensor], grids: list[Grid]
    ) -> tuple[torch.Tensor, float]:
        """Return the first token of each prompt, (prompts,), and the padding's share of the rows.

        Shorter prompts are padded behind their end, which attention to what came before never sees.
        """
        lengths = [len(self._text) + len(each) for each in features]
        embedded, positions = self._embedded(features, grids, max(lengths))
        states = self._states(embedded, positions, None)
        last = torch.stack([states[row, length - 1] for row, length in enumerate(lengths)])
        padded = 1 - sum(lengths) / (len(lengths) * max(lengths))
        return self._model.lm_head(last).argmax(-1), padded

    def next_ms(self, features: torch.Tensor, grid: Grid, steps: int) -> list[float]:
        """Return the ms of each of ``steps`` tokens after the first, of one request alone."""
        cache = DynamicCache(config=self._model.config.get_text_config())
        embedded, place = self._embedded([features], [grid], len(self._text) + len(features))
        states = self._states(embedded, place, cache)[:, -1]
        place, found = place[..., -1:], []
        for _ in range(steps):
            token = self._model.lm_head(states).argmax(-1)
            token.tolist()
            begun = time.perf_counter()
            place = place + 1
            states = self._states(self._embed(token[:, None]), place, cache)[:, -1]
            self._model.lm_head(states).argmax(-1).tolist()
            found.append((time.perf_counter() - begun) * 1e3)
        return found

    def _states(self, embedded: torch.Tensor, positions: torch.Tensor, cache: Any) -> torch.Tensor:
        """Return the last layer's states (prompts, rows, width)."""
        made = self._language(
            inputs_embeds=embedded, position_ids=positions, cache=cache, use_cache=True
        )
        states: torch.Tensor = made.last_hidden_state
        return states

    def _embedded(
        self, features: list[torch.Tensor], grids: list[Grid], width: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return embedded prompts (prompts, width, model width) and the places of their rows."""
        device = self._model.device
        rows, places = [], []
        for each, grid in zip(features, grids, strict=True):
            own = self.ids(len(each), clip=grid[0] > 1)
            rows.append(own + [0] * (width - len(own)))
            places.append(self.positions(len(each), grid, width))
        embedded = self._embed(torch.tensor(rows).to(device, non_blocking=True)).clone()
        for row, each in enumerate(features):
            embedded[row, _BEFORE : _BEFORE + len(each)] = each.to(embedded.dtype)
        stacked = torch.stack(places, 1) if self._is_qwen else torch.cat(places)
        return embedded, stacked.to(device, non_blocking=True)

    def positions(self, count: int, grid: Grid, width: int) -> torch.Tensor:
        """Return positions, (3, width) of Qwen2.5-VL, else (1, width).

        Text counts on, patches have the place in their image, and the text behind goes on from its
        longer side (Qwen2-VL, arXiv:2409.12191); a clip's frames are a second apart.
        """
        if not self._is_qwen:
            return torch.arange(width)[None]
        frames, high, wide = grid[0], grid[1] // plans.MERGE, grid[2] // plans.MERGE
        second = self._model.config.vision_config.tokens_per_second if frames > 1 else 1
        axes = (torch.arange(frames) * second, torch.arange(high), torch.arange(wide))
        image = torch.stack(torch.meshgrid(*axes, indexing="ij")).reshape(3, -1) + _BEFORE
        before = torch.arange(_BEFORE).expand(3, -1)
        after = torch.arange(width - _BEFORE - count).expand(3, -1) + _BEFORE + max(high, wide)
        return torch.cat([before, image, after], -1)
