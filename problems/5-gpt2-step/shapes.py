"""Dimensions of the models; nothing here imports torch."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Shape:
    """Dimensions in elements; ``vocabulary`` without padding."""

    layers: int
    width: int
    heads: int
    context: int
    vocabulary: int


SHAPES = {
    "gpt2-124m": Shape(12, 768, 12, 1024, 50257),
    "gpt2-355m": Shape(24, 1024, 16, 1024, 50257),
    "gpt2-tiny": Shape(2, 64, 2, 32, 250),
}
