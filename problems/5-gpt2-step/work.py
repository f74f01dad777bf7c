"""What a step has to do at least: floating-point operations, and bytes of device memory."""

from shapes import Shape

_BETWEEN_FORWARD, _BETWEEN_BACKWARD = 16, 13
"""Widths of what lies between two products of a block: two norms' inputs and outputs, queries, keys
and values, attention's output, four widths before and after GELU; and their gradients."""
_PASSES = 3
"""A tensor between products is written, read by the next product and read by a gradient's."""
_WEIGHT_BYTES = 34
"""A weight is read in both passes and its gradient written, in bf16; AdamW moves 28 bytes."""


def weights(shape: Shape) -> int:
    """Return the weights of the products: of a block 12 width², of the head the vocabulary."""
    return 12 * shape.layers * shape.width**2 + shape.vocabulary * shape.width


def step_flop(shape: Shape, batch: int) -> float:
    """Return the operations of a step: 6 a weight and token, and attention's causal half.

    Chowdhery et al. 2022, "PaLM", appendix B, which counts all of attention's 12 · layers · width ·
    context; a causal model needs half of them.
    """
    tokens = batch * shape.context
    return tokens * (6.0 * weights(shape) + 6.0 * shape.layers * shape.width * shape.context)


def compulsory_bytes(shape: Shape, batch: int) -> float:
    """Return the bytes that a step moves if nothing but products and attention ends a kernel.

    In bf16; the logits never reach device memory.
    """
    tokens = batch * shape.context
    widths = shape.layers * (_BETWEEN_FORWARD + _BETWEEN_BACKWARD)
    return 2.0 * _PASSES * tokens * widths * shape.width + _WEIGHT_BYTES * float(weights(shape))
