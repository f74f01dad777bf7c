"""The least work of products and convolutions, by the inputs of their operators.

A multiplication and the addition of its product are two operations.
"""

import json
import math

from harness.analysis.least_work import CONVOLUTION, LINEAR, Work
from harness.analysis.operator_inputs import BYTES, Inputs, Tensor, are_counts


def product(given: Inputs, a: int, b: int, bias: int | None = None) -> Work | None:
    """Return the work of a product (…, rows, depth) × (…, depth, columns), and of what it adds."""
    left, right = given.tensor(a), given.tensor(b)
    if left is None or right is None or min(len(left.sizes), len(right.sizes)) < 2:
        return None
    if left.sizes[-1] != right.sizes[-2]:
        return None
    return _multiplied(left, right, right.sizes[-1], given.bytes(() if bias is None else (bias,)))


def linear(given: Inputs) -> Work | None:
    """Return the work of inputs (…, depth) times weights (columns, depth), transposed."""
    left, weights = given.tensor(0), given.tensor(1)
    if left is None or weights is None or not left.sizes or len(weights.sizes) != 2:
        return None
    if left.sizes[-1] != weights.sizes[-1]:
        return None
    return _multiplied(left, weights, weights.sizes[0], given.bytes((2,)))


def grouped(given: Inputs) -> Work | None:
    """Return the work of rows (rows, depth) that are each multiplied by one of several matrices.

    How many of the matrices are used no input says: one is certain.
    """
    left, right = given.tensor(0), given.tensor(1)
    if left is None or right is None or len(left.sizes) != 2 or len(right.sizes) != 3:
        return None
    one = Tensor(right.sizes[1:], right.type)
    if left.sizes[-1] != one.sizes[0]:
        return None
    return _multiplied(left, one, one.sizes[1], 0)


def _multiplied(left: Tensor, right: Tensor, columns: int, added: int) -> Work:
    """Return the work of a product; its result has the type of ``left``, or a wider one."""
    rows = math.prod(left.sizes[:-1])
    result = rows * columns * BYTES[left.type]
    flop = 2.0 * rows * columns * left.sizes[-1]
    return Work(LINEAR, left.bytes + right.bytes + result + added, flop, left.kind)


def convolution(given: Inputs, padding: int) -> Work | None:
    """Return the work of a convolution; padding, stride, dilation stand from that place on."""
    image, weights = given.tensor(0), given.tensor(1)
    if image is None or weights is None or len(image.sizes) != len(weights.sizes):
        return None
    lists = [_numbers(given.value(padding + place)) for place in range(3)]
    window = weights.sizes[2:]
    if any(len(each) != len(window) for each in lists) or not all(lists[1]):
        return None
    pads, steps, spread = lists
    out = [
        (size + 2 * pad - gap * (side - 1) - 1) // step + 1
        for size, side, pad, step, gap in zip(
            image.sizes[2:], window, pads, steps, spread, strict=True
        )
    ]
    if min(out, default=0) < 1:
        return None
    results = image.sizes[0] * weights.sizes[0] * math.prod(out)
    flop = 2.0 * results * math.prod(weights.sizes[1:])
    moved = image.bytes + weights.bytes + results * BYTES[image.type]
    return Work(CONVOLUTION, moved, flop, image.kind)


def convolution_backward(given: Inputs) -> Work | None:
    """Return the work of the gradients that the last argument asks for: input, weights, bias."""
    gradient, image, weights = (given.tensor(place) for place in range(3))
    wanted = given.value(10)
    if gradient is None or image is None or weights is None or given.value(7) != "False":
        return None
    asked = [each.strip() == "True" for each in wanted.strip("[]").split(",")]
    if len(asked) != 3:
        return None
    flop = 2.0 * gradient.elements * math.prod(weights.sizes[1:])
    read = gradient.bytes + asked[0] * weights.bytes + asked[1] * image.bytes
    written = asked[0] * image.bytes + asked[1] * weights.bytes
    return Work(CONVOLUTION, read + written, flop * sum(asked[:2]), gradient.kind)


def _numbers(text: str) -> list[int]:
    try:
        numbers = json.loads(text)
    except ValueError:
        return []
    return numbers if are_counts(numbers) else []
