"""How far one output is from another."""

import math

from torch import Tensor


def error(output: Tensor, reference: Tensor) -> float:
    """Return the length of the difference over that of the reference."""
    wanted = reference.double()
    return float((output.double() - wanted).norm() / wanted.norm())


def psnr_db(output: Tensor, reference: Tensor) -> float:
    """Return the ratio of the reference's range to the root mean square difference, in dB.

    Of equal outputs it is infinite, here 200: a fact is a finite number.
    """
    wanted = reference.double()
    squares = float((output.double() - wanted).square().mean())
    span = float(wanted.max() - wanted.min())
    return 200.0 if squares == 0 else min(200.0, 10 * math.log10(span * span / squares))


def cosine(output: Tensor, reference: Tensor) -> float:
    """Return the cosine of the angle between them."""
    one, other = output.double().flatten(), reference.double().flatten()
    return float(one @ other / (one.norm() * other.norm()))
