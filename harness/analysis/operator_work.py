"""The bytes and operations that a torch operator cannot do without, by the inputs it was given.

Signatures are those of torch's own schemas (aten/src/ATen/native/native_functions.yaml), and of the
extensions of vLLM (csrc/torch_bindings.cpp), SGLang, aiter (aiter/ops) and flash-attention
(flash_attn_interface.py). A multiplication and the addition of its product are two operations.

All of it is the least: an input is read once and a result is written once, however an operator does
it; of what the inputs do not say (how long sequences of a packed batch are, which rows an index
picks) only what is certain counts. Where nothing is, there is no work: paged attention reads caches
by tables of pages whose values no profiler records, and lists of tensors have no types.
"""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from harness.analysis.operator_inputs import BYTES, FLOATS, Inputs, Tensor, are_counts, parsed

LINEAR, ATTENTION, CONVOLUTION, FUSED = "linear", "attention", "convolution", "fused"
NORM, SOFTMAX, ELEMENTWISE, REDUCTION, GATHER = (
    *("norm", "softmax", "elementwise", "reduction", "gather"),
)


@dataclass(frozen=True)
class Work:
    """The least that an operator of a ``family`` does: bytes of device memory, and operations.

    ``kind``: of what arithmetic, "" of none that a datasheet has a rate for.
    """

    family: str
    moved_bytes: float
    flop: float = 0.0
    kind: str = ""


_NOWHERE = 1 << 10
"""A place that no argument has."""


@lru_cache(maxsize=1 << 14)
def work(operator: str, inputs: str) -> Work | None:
    """Return the least work of a call, None where its inputs do not say it.

    ``inputs`` is the JSON text of the evidence's table ``origins``.
    """
    try:
        given = parsed(inputs)
    except (ValueError, TypeError, RecursionError):
        return None
    if (rule := _RULES.get(operator)) is not None:
        return rule(given)
    if operator.startswith(("triton_poi_", "triton_red_", "triton_per_")):
        return _generated(operator, given)
    name = operator.removeprefix("aten::")
    if name == operator:
        return None
    base = name.removesuffix("_")
    if base in _ELEMENTWISE:
        return _elementwise(given, *_ELEMENTWISE[base], in_place=base != name)
    return None


def _product(given: Inputs, a: int, b: int, bias: int | None = None) -> Work | None:
    """Return the work of a product (…, rows, depth) × (…, depth, columns), and of what it adds."""
    left, right = given.tensor(a), given.tensor(b)
    if left is None or right is None or min(len(left.sizes), len(right.sizes)) < 2:
        return None
    if left.sizes[-1] != right.sizes[-2]:
        return None
    return _multiplied(left, right, right.sizes[-1], given.bytes(() if bias is None else (bias,)))


def _linear(given: Inputs) -> Work | None:
    """Return the work of inputs (…, depth) times weights (columns, depth), transposed."""
    left, weights = given.tensor(0), given.tensor(1)
    if left is None or weights is None or not left.sizes or len(weights.sizes) != 2:
        return None
    if left.sizes[-1] != weights.sizes[-1]:
        return None
    return _multiplied(left, weights, weights.sizes[0], given.bytes((2,)))


def _grouped(given: Inputs) -> Work | None:
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


def _attention(
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


def _packed(given: Inputs, *, full: tuple[int, str], window: int) -> Work | None:
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


def _flash(given: Inputs) -> Work | None:
    """Return the work of torch's flash attention, whose batches may be packed."""
    place = (8, "False")
    dense = _attention(given, 0, heads=2, full=place, window=11)
    return dense or _packed(given, full=place, window=11)


def _convolution(given: Inputs, padding: int) -> Work | None:
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


def _convolution_backward(given: Inputs) -> Work | None:
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


def _elementwise(
    given: Inputs, arguments: int, result: int | None, *, in_place: bool
) -> Work | None:
    """Return the work of one result an element of the broadcast inputs.

    ``arguments`` of the first are inputs; ``result``: bytes of an element, None for the type that
    torch promotes them to (torch docs, "Tensor Attributes").
    """
    inputs = [each for each in given.tensors[:arguments] if each is not None]
    if not inputs:
        return None
    read = sum(each.bytes for each in inputs)
    if in_place:
        first = given.tensor(0)
        return Work(ELEMENTWISE, read + first.bytes) if first else None
    width = max((len(each.sizes) for each in inputs), default=0)
    padded = [(1,) * (width - len(each.sizes)) + each.sizes for each in inputs]
    elements = math.prod(0 if 0 in sides else max(sides) for sides in zip(*padded, strict=True))
    return Work(ELEMENTWISE, read + elements * (result or _promoted(inputs)))


def _promoted(inputs: Sequence[Tensor]) -> int:
    """Return the bytes of an element of the type that inputs are promoted to."""
    several = [each for each in inputs if each.sizes] or list(inputs)
    floats = [FLOATS[each.type] for each in several if each.type in FLOATS]
    return max(floats or [BYTES[each.type] for each in several])


def _touched(
    family: str, reads: Sequence[int], writes: Sequence[int] = ()
) -> Callable[[Inputs], Work | None]:
    """Return the rule of an operator that reads inputs whole, and writes as much as others hold."""

    def rule(given: Inputs) -> Work | None:
        if given.tensor((*reads, *writes)[0]) is None:
            return None
        return Work(family, given.bytes(reads) + given.bytes(writes))

    return rule


def _picked(given: Inputs, index: int, row: int) -> Work | None:
    """Return the work of writing ``row`` elements of the first input for each number of an index.

    What is read may be the same row again and again, which a cache holds.
    """
    source, numbers = given.tensor(0), given.tensor(index)
    if source is None or numbers is None:
        return None
    return Work(GATHER, numbers.bytes + numbers.elements * row * BYTES[source.type])


def _selected(given: Inputs) -> Work | None:
    source, dim = given.tensor(0), given.value(1)
    if source is None or not source.sizes or not dim.lstrip("-").isdecimal():
        return None
    if not -len(source.sizes) <= int(dim) < len(source.sizes):
        return None
    return _picked(given, 2, math.prod(source.sizes) // max(source.sizes[int(dim)], 1))


def _embedded(given: Inputs) -> Work | None:
    table = given.tensor(0)
    return _picked(given, 1, table.sizes[-1]) if table and table.sizes else None


_PARTIAL = ("embedding", "index", "gather", "select", "slice", "cat", "nll", "scatter")


def _generated(name: str, given: Inputs) -> Work | None:
    """Return the work of a kernel of Inductor's: each of its buffers is read or written once.

    Its name lists what was fused; operators that touch a part of a buffer leave it open.
    """
    if any(word in name for word in _PARTIAL):
        return None
    moved = sum(each.bytes for each in given.tensors if each)
    return Work(FUSED, moved) if moved else None


_UNARY = (
    "neg exp log sigmoid silu gelu relu tanh rsqrt sqrt cos sin abs reciprocal clamp clamp_min"
    " clamp_max erf floor round leaky_relu hardswish hardtanh elu softplus sign bitwise_not"
)
_BINARY = (
    "add sub mul div pow maximum minimum threshold_backward gelu_backward silu_backward"
    " sigmoid_backward tanh_backward masked_fill remainder fmod bitwise_and bitwise_or"
)
_COMPARING = "eq ne lt le gt ge logical_and logical_or"
_ELEMENTWISE: dict[str, tuple[int, int | None]] = {
    **dict.fromkeys(_UNARY.split(), (1, None)),
    **dict.fromkeys(_BINARY.split(), (2, None)),
    **dict.fromkeys(_COMPARING.split(), (2, 1)),
    **dict.fromkeys(("isnan", "isinf", "logical_not"), (1, 1)),
    **dict.fromkeys(("addcmul", "addcdiv"), (3, None)),
}
"""Operators with how many of their arguments are inputs, and the bytes of an element they give."""

_READERS = (
    "sum mean amax amin max min argmax argmin norm linalg_vector_norm var var_mean std any all prod"
    " topk sort multinomial max_pool2d_with_indices avg_pool2d _adaptive_avg_pool2d"
)

_RULES: dict[str, Callable[[Inputs], Work | None]] = {
    "aten::mm": lambda given: _product(given, 0, 1),
    "aten::bmm": lambda given: _product(given, 0, 1),
    "aten::addmm": lambda given: _product(given, 1, 2, 0),
    "aten::baddbmm": lambda given: _product(given, 1, 2, 0),
    "aten::_scaled_mm": lambda given: _product(given, 0, 1),
    "aten::linear": _linear,
    "vllm::rocm_unquantized_gemm": _linear,
    "vllm::rocm_unquantized_gemm_impl": _linear,
    "aiter::gemm_a16w16": _linear,
    "aten::_grouped_mm": _grouped,
    "aten::_scaled_grouped_mm": _grouped,
    "aten::_flash_attention_forward": _flash,
    "aten::_flash_attention_backward": lambda g: _attention(
        g, 1, heads=2, full=(11, "False"), window=15, backward=True
    ),
    "aten::_efficient_attention_forward": lambda g: _attention(g, 0, heads=2, full=(9, "0")),
    "aten::_efficient_attention_backward": lambda g: _attention(
        g, 1, heads=2, full=(14, "0"), backward=True
    ),
    "aten::_cudnn_attention_forward": lambda g: _attention(g, 0, heads=1, full=(10, "False")),
    "flash_attn::_flash_attn_forward": lambda g: _attention(
        g, 0, heads=2, full=(5, "False"), window=6
    ),
    "flash_attn::_flash_attn_varlen_forward": lambda g: _packed(g, full=(9, "False"), window=10),
    "aten::cudnn_convolution": lambda given: _convolution(given, 2),
    "aten::miopen_convolution": lambda given: _convolution(given, 3),
    "aten::convolution_backward": _convolution_backward,
    "aten::native_layer_norm": _touched(NORM, (0, 2, 3), (0,)),
    "aten::native_group_norm": _touched(NORM, (0, 1, 2), (0,)),
    "aten::_fused_rms_norm": _touched(NORM, (0, 2), (0,)),
    "aten::native_layer_norm_backward": _touched(NORM, (0, 1), (0,)),
    **dict.fromkeys(
        ("aten::native_batch_norm", "aten::cudnn_batch_norm", "aten::miopen_batch_norm"),
        _touched(NORM, (0,), (0,)),
    ),
    **dict.fromkeys(
        (
            "aten::native_batch_norm_backward",
            "aten::cudnn_batch_norm_backward",
            "aten::miopen_batch_norm_backward",
        ),
        _touched(NORM, (0, 1), (0,)),
    ),
    **dict.fromkeys(("_C::rms_norm", "aiter::rmsnorm"), _touched(NORM, (1, 2), (0,))),
    "aiter::rms_norm": _touched(NORM, (0, 1), (0,)),
    "_C::fused_add_rms_norm": _touched(NORM, (0, 1, 2), (0, 1)),
    **dict.fromkeys(
        ("aiter::add_rmsnorm", "aiter::rmsnorm2d_fwd_with_add_ck"),
        _touched(NORM, (1, 2, 4), (0, 3)),
    ),
    **dict.fromkeys(
        ("_C::silu_and_mul", "_C::gelu_and_mul", "sgl_kernel::silu_and_mul"),
        _touched(ELEMENTWISE, (1,), (0,)),
    ),
    **dict.fromkeys(
        ("_C::rotary_embedding", "sgl_kernel::rotary_embedding"),
        _touched(ELEMENTWISE, (0, 1, 2), (1, 2)),
    ),
    "sglang::store_cache": _touched(GATHER, (0, 1), (0, 1)),
    "_C_cache_ops::reshape_and_cache_flash": _touched(GATHER, (0, 1), (0, 1)),
    "_C::static_scaled_fp8_quant": _touched(ELEMENTWISE, (1,), (0,)),
    "aten::_softmax": _touched(SOFTMAX, (0,), (0,)),
    "aten::_log_softmax": _touched(SOFTMAX, (0,), (0,)),
    "aten::_softmax_backward_data": _touched(SOFTMAX, (0, 1), (0,)),
    "aten::_log_softmax_backward_data": _touched(SOFTMAX, (0, 1), (0,)),
    "aten::copy_": _touched(ELEMENTWISE, (1,), (0,)),
    "aten::fill_": _touched(ELEMENTWISE, (), (0,)),
    "aten::zero_": _touched(ELEMENTWISE, (), (0,)),
    "aten::where": _touched(ELEMENTWISE, (0, 1, 2)),
    "aten::lerp_": _touched(ELEMENTWISE, (0, 1, 2), (0,)),
    "aten::native_dropout": _touched(ELEMENTWISE, (0,), (0,)),
    "aten::cumsum": _touched(REDUCTION, (0,), (0,)),
    "aten::mse_loss": _touched(REDUCTION, (0, 1)),
    "aten::index_select": _selected,
    "aten::embedding": _embedded,
    "aten::gather": lambda given: _picked(given, 2, 1),
    **dict.fromkeys((f"aten::{name}" for name in _READERS.split()), _touched(REDUCTION, (0,))),
}
"""The work of operators by name."""
