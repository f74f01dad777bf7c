"""The two models at their published sizes, with random weights; and tiny ones of the same form."""

from typing import Any

import torch
from transformers import (
    CLIPVisionConfig,
    LlamaConfig,
    LlavaConfig,
    LlavaForConditionalGeneration,
    PreTrainedModel,
    Qwen2_5_VLConfig,
    Qwen2_5_VLForConditionalGeneration,
)

Config = dict[str, Any]

_QWEN_VISION: Config = {
    "depth": 32,
    "hidden_size": 1280,
    "intermediate_size": 3420,
    "num_heads": 16,
    "out_hidden_size": 2048,
    "fullatt_block_indexes": [7, 15, 23, 31],
}
_QWEN_TEXT: Config = {
    "vocab_size": 151936,
    "hidden_size": 2048,
    "intermediate_size": 11008,
    "num_hidden_layers": 36,
    "num_attention_heads": 16,
    "num_key_value_heads": 2,
    "max_position_embeddings": 32768,
    "rope_parameters": {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [16, 24, 24]},
}
_LLAVA_VISION: Config = {
    "image_size": 336,
    "patch_size": 14,
    "hidden_size": 1024,
    "intermediate_size": 4096,
    "num_hidden_layers": 24,
    "num_attention_heads": 16,
    "projection_dim": 768,
}
_LLAVA_TEXT: Config = {
    "vocab_size": 32064,
    "hidden_size": 4096,
    "intermediate_size": 11008,
    "num_hidden_layers": 8,
    "num_attention_heads": 32,
    "max_position_embeddings": 4096,
}
_TINY_ROPE: Config = {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [2, 3, 3]}
_TINY_TEXT: Config = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}

SHAPES: dict[str, tuple[Config, Config]] = {
    # Of Qwen/Qwen2.5-VL-3B-Instruct's config.json.
    "qwen2.5-vl-3b": (_QWEN_VISION, _QWEN_TEXT),
    # Of llava-hf/llava-1.5-7b-hf's config.json, but for 8 of the language model's 32 layers.
    "llava-1.5-7b-8-layers": (_LLAVA_VISION, _LLAVA_TEXT),
    "qwen-tiny": (
        _QWEN_VISION
        | {"depth": 2, "hidden_size": 64, "intermediate_size": 90, "num_heads": 4}
        | {"out_hidden_size": 64, "fullatt_block_indexes": [1]},
        _QWEN_TEXT | _TINY_TEXT | {"rope_parameters": _TINY_ROPE},
    ),
    "llava-tiny": (
        _LLAVA_VISION
        | {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 3}
        | {"num_attention_heads": 4, "image_size": 84},
        _LLAVA_TEXT | _TINY_TEXT,
    ),
}
"""Vision and text config by name."""
_STANDARD_DEVIATION = 0.02


def model(name: str, device: str, dtype: torch.dtype) -> PreTrainedModel:
    """Return the model with random weights of one seed; ``dtype`` is that of the weights."""
    vision, text = SHAPES[name]
    make = _llava if name.startswith("llava") else _qwen
    torch.set_default_dtype(dtype)  # of weights; rotary frequencies say float32 themselves
    try:
        with torch.device("meta"):
            made = make(vision, text)
    finally:
        torch.set_default_dtype(torch.float32)
    made = made.to_empty(device=device).eval()
    made.tie_weights()
    torch.manual_seed(11)
    with torch.no_grad():
        for key, weight in made.named_parameters():
            if of_norm(key):
                weight.fill_(1)
            else:
                weight.normal_(0, _STANDARD_DEVIATION)
    _fill_buffers(made, dict(make(*_shallow(vision, text)).named_buffers()))
    return made


def of_norm(name: str) -> bool:
    """Return whether a parameter is the scale of a norm."""
    return ("norm" in name or "ln_" in name) and name.endswith("weight")


def _qwen(vision: Config, text: Config) -> PreTrainedModel:
    rest = {"tie_word_embeddings": True, "image_token_id": 151655, "video_token_id": 151656}
    return Qwen2_5_VLForConditionalGeneration(
        Qwen2_5_VLConfig(vision_config=vision, text_config=text, **rest)
    )


def _llava(vision: Config, text: Config) -> PreTrainedModel:
    tokens = (vision["image_size"] // vision["patch_size"]) ** 2
    return LlavaForConditionalGeneration(
        LlavaConfig(
            vision_config=CLIPVisionConfig(**vision),
            text_config=LlamaConfig(**text),
            image_token_index=32000,
            image_seq_length=tokens,
        )
    )


def _shallow(vision: Config, text: Config) -> tuple[Config, Config]:
    """Return configs of one layer each, whose models have the same buffers."""
    depth = "depth" if "depth" in vision else "num_hidden_layers"
    small = vision | {depth: 1, "intermediate_size": 8}
    if "fullatt_block_indexes" in small:
        small["fullatt_block_indexes"] = [0]
    few = {"vocab_size": 8, "bos_token_id": 0, "eos_token_id": 0}  # half a billion weights less
    return small, text | few | {"num_hidden_layers": 1, "intermediate_size": 8}


def _fill_buffers(made: PreTrainedModel, known: dict[str, torch.Tensor]) -> None:
    """Copy rotary frequencies and position ids, which a model on "meta" has no values of."""
    for name, buffer in made.named_buffers():
        buffer.copy_(known[name])
