"""The least work of attention on keys and values that are inputs of the operator."""

from harness.analysis.least_work import ATTENTION, Work
from harness.analysis.operator_inputs import BYTES, Inputs

_NOWHERE = 1 << 10
"""A place that no argument has."""


def attention(
    given: Inputs,
    first: int,
    *,
    heads: int,
    full: tuple[int, str],
    window: int = _NOWHERE,
    backward: bool = False,
) -> Work | None:
    """Return the work of attention on queries, keys and values at ``first`` and the places after.

    They have four dimensions, of which ``heads`` are the heads: batches of equal lengths. ``full``:
    a place and the value there that says that no mask is causal; any other leaves half of the
    products. ``window``: the place of a window's length: which products it leaves is not counted.
    Forward there are two products of queries and keys, backward five.
    """
    q, k, v = (given.tensor(first + place) for place in range(3))
    if q is None or k is None or v is None or {len(each.sizes) for each in (q, k, v)} != {4}:
        return None
    length = 3 - heads
    queries, keys = q.sizes[length], k.sizes[length]
    pairs = queries * keys
    if given.value(full[0]) != full[1]:
        early = min(queries, keys)
        pairs = early * (early + 1) // 2 + (queries - early) * keys
    if given.value(window).isdecimal():
        pairs = 0
    a_pair = 2.0 * q.sizes[0] * q.sizes[heads] * (q.sizes[3] + v.sizes[3])
    result = q.elements // max(q.sizes[3], 1) * v.sizes[3] * BYTES[q.type]
    moved = q.bytes + k.bytes + v.bytes + result
    if backward:
        return Work(ATTENTION, 2 * moved, 2.5 * a_pair * pairs, q.kind)
    return Work(ATTENTION, moved, a_pair * pairs, q.kind)


def packed(given: Inputs, *, full: tuple[int, str], window: int) -> Work | None:
    """Return the work of attention on sequences of a batch behind each other: (tokens, heads, …).

    Their ends stand in the tensor at place 3, whose numbers no trace has. However long each of n
    sequences of T tokens together is, the sum of the squares of their lengths is T² / n at least.
    """
    q, k, v, ends = (given.tensor(place) for place in range(4))
    if q is None or k is None or v is None or {len(each.sizes) for each in (q, k, v)} != {3}:
        return None
    tokens, heads, side = q.sizes
    pairs = 0.0
    known = ends is not None and len(ends.sizes) == 1 and ends.sizes[0] > 1
    if ends is not None and known and k.sizes[0] == tokens and not given.value(window).isdecimal():
        pairs = tokens**2 / (ends.sizes[0] - 1)
        pairs = pairs if given.value(full[0]) == full[1] else (pairs + tokens) / 2
    result = tokens * heads * v.sizes[2] * BYTES[q.type]
    moved = q.bytes + k.bytes + v.bytes + result
    return Work(ATTENTION, moved, 2.0 * heads * (side + v.sizes[2]) * pairs, q.kind)


def flash(given: Inputs) -> Work | None:
    """Return the work of torch's flash attention, whose batches may be packed."""
    place = (8, "False")
    dense = attention(given, 0, heads=2, full=place, window=11)
    return dense or packed(given, full=place, window=11)
