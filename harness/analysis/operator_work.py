"""The bytes and operations that a torch operator cannot do without, by the inputs it was given.

Signatures are those of torch's own schemas (aten/src/ATen/native/native_functions.yaml), and of the
extensions of vLLM (csrc/torch_bindings.cpp), SGLang, aiter (aiter/ops) and flash-attention
(flash_attn_interface.py).

All of it is the least: an input is read once and a result is written once, however an operator does
it; of what the inputs do not say (how long sequences of a packed batch are, which rows an index
picks) only what is certain counts. Where nothing is, there is no work: paged attention reads caches
by tables of pages whose values no profiler records, and lists of tensors have no types.
"""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

from harness.analysis.attention_work import attention, flash, packed
from harness.analysis.least_work import ELEMENTWISE, FUSED, GATHER, NORM, REDUCTION, SOFTMAX, Work
from harness.analysis.operator_inputs import BYTES, FLOATS, Inputs, Tensor, parsed
from harness.analysis.product_work import (
    convolution,
    convolution_backward,
    grouped,
    linear,
    product,
)


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
    "aten::mm": lambda given: product(given, 0, 1),
    "aten::bmm": lambda given: product(given, 0, 1),
    "aten::addmm": lambda given: product(given, 1, 2, 0),
    "aten::baddbmm": lambda given: product(given, 1, 2, 0),
    "aten::_scaled_mm": lambda given: product(given, 0, 1),
    "aten::linear": linear,
    "vllm::rocm_unquantized_gemm": linear,
    "vllm::rocm_unquantized_gemm_impl": linear,
    "aiter::gemm_a16w16": linear,
    "aten::_grouped_mm": grouped,
    "aten::_scaled_grouped_mm": grouped,
    "aten::_flash_attention_forward": flash,
    "aten::_flash_attention_backward": lambda g: attention(
        g, 1, heads=2, full=(11, "False"), window=15, backward=True
    ),
    "aten::_efficient_attention_forward": lambda g: attention(g, 0, heads=2, full=(9, "0")),
    "aten::_efficient_attention_backward": lambda g: attention(
        g, 1, heads=2, full=(14, "0"), backward=True
    ),
    "aten::_cudnn_attention_forward": lambda g: attention(g, 0, heads=1, full=(10, "False")),
    "flash_attn::_flash_attn_forward": lambda g: attention(
        g, 0, heads=2, full=(5, "False"), window=6
    ),
    "flash_attn::_flash_attn_varlen_forward": lambda g: packed(g, full=(9, "False"), window=10),
    "aten::cudnn_convolution": lambda given: convolution(given, 2),
    "aten::miopen_convolution": lambda given: convolution(given, 3),
    "aten::convolution_backward": convolution_backward,
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
