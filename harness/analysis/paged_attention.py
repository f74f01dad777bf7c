"""The least work of attention on a cache of pages, by what an engine's annotation says of lengths.

The tables of pages hold numbers that no profiler records, so that the inputs of such an operator do
not say how much of the cache it reads. vLLM and SGLang write it into the name of the step's range.
A key and a value of each token that is attended to are read once: of sequences that share pages, or
of a layer that sees a window of its sequence alone, that is more than the least. A layer that takes
less time than this has such a window (:func:`harness.analysis.floors.with_floors`).
"""

from dataclasses import dataclass

from harness.analysis import annotations
from harness.analysis.least_work import ATTENTION, Work
from harness.analysis.operator_inputs import BYTES, Inputs, Tensor, parsed


@dataclass(frozen=True)
class _Places:
    """The places of an operator's queries and result, and of its cache of keys and of values.

    A cache is (pages, …, heads, side). Where an operator is given none (None), heads and side are
    those of the new keys, and what writes the cache says its type.
    """

    queries: int
    result: int
    caches: tuple[int, int] | None = None
    new: tuple[int, int] | None = None


_PLACES = {
    # vllm/model_executor/layers/attention/attention.py: query, key, value, output
    "vllm::unified_attention_with_output": _Places(0, 3, new=(1, 2)),
    # aiter/ops/attention.py, paged_attention_ragged: out, workspace, query, key and value cache
    "sglang_profiler::attention_paged_attention_ragged": _Places(2, 0, caches=(3, 4)),
    "aiter::paged_attention_ragged": _Places(2, 0, caches=(3, 4)),
}
_WRITERS = ("_C_cache_ops::reshape_and_cache_flash", "_C_cache_ops::reshape_and_cache")
"""Operators of vLLM (csrc/torch_bindings.cpp) whose places 2 and 3 are the caches."""


def is_known(operator: str) -> bool:
    """Return whether the operator attends to a cache of pages, at places that are known."""
    return _without_number(operator) in _PLACES


def cache_type(operators: list[tuple[str, str]]) -> str | None:
    """Return the type of the cache that operators with these inputs write; None if not one."""
    types = {
        cache.type
        for operator, inputs in operators
        if operator in _WRITERS and (cache := _given(inputs).tensor(2))
    }
    return types.pop() if len(types) == 1 else None


def work(operator: str, inputs: str, batch: str | None, written: str | None) -> Work | None:
    """Return the least work of a call in a step of that annotation, None where it is not said.

    ``written``: the type of the cache (:func:`cache_type`), for operators that are not given it.
    """
    lengths = annotations.lengths(batch or "")
    places, given = _PLACES[_without_number(operator)], _given(inputs)
    q, result = given.tensor(places.queries), given.tensor(places.result)
    kept = [_kept(given, place, places, written) for place in places.caches or places.new or ()]
    if lengths is None or q is None or result is None or len(q.sizes) != 3:
        return None
    k, v = kept
    if k is None or v is None or min(len(k.sizes), len(v.sizes)) < 3:
        return None
    a_token = sum(each.sizes[-2] * each.sizes[-1] * BYTES[each.type] for each in (k, v))
    flop = 2.0 * q.sizes[1] * (q.sizes[2] + v.sizes[-1]) * lengths.pairs
    moved = q.bytes + result.bytes + lengths.attended * a_token
    return Work(ATTENTION, moved, flop, q.kind)


def _kept(given: Inputs, place: int, places: _Places, written: str | None) -> Tensor | None:
    """Return the cache, or the new keys or values in the cache's type."""
    found = given.tensor(place)
    if places.caches or found is None:
        return found
    return Tensor(found.sizes, written) if written else None


def _without_number(operator: str) -> str:
    """Return the name of an operator of SGLang's profiler without the number it counts them by."""
    name, _, number = operator.rpartition("_")
    return name if operator.startswith("sglang_profiler::") and number.isdecimal() else operator


def _given(inputs: str) -> Inputs:
    try:
        return parsed(inputs)
    except (ValueError, TypeError, RecursionError):
        return Inputs((), ())
