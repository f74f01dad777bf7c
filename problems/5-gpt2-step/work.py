"""What a step has to do at least: floating-point operations, and bytes of device memory."""

from dataclasses import dataclass

from shapes import SHAPES, Shape

_BETWEEN_FORWARD, _BETWEEN_BACKWARD = 16, 13
"""Widths of what lies between two products of a block: two norms' inputs and outputs, queries, keys
and values, attention's output, four widths before and after GELU; and their gradients."""
_PASSES = 3
"""A tensor between products is written, read by the next product and read by a gradient's."""
_WEIGHT_BYTES = 34
"""A weight is read in both passes and its gradient written, in bf16; AdamW moves 28 bytes."""


@dataclass(frozen=True)
class Work:
    """What a case trains: a model, and rows of its context a step."""

    shape: Shape
    batch: int

    @property
    def tokens(self) -> int:
        """Return the tokens of a batch."""
        return self.batch * self.shape.context

    @property
    def states(self) -> int:
        """Return the elements of the residual stream, once for each layer."""
        return self.tokens * self.shape.width * self.shape.layers

    @property
    def logits(self) -> int:
        """Return the elements of a batch's logits."""
        return self.tokens * self.shape.vocabulary

    @property
    def parameters(self) -> int:
        """Return the tensors that the optimizer updates: of a block 12, both embeddings, a norm."""
        return 12 * self.shape.layers + 4


CASES = {"step": Work(SHAPES["gpt2-124m"], 24), "medium": Work(SHAPES["gpt2-355m"], 8)}


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
