"""A kernel's kind, from its name: a family for tables and plots, and a name short enough.

Names are as the profilers print them, demangled: nsys writes ``<(int)4>`` and ``<unnamed>``, torch
``<4>`` and ``(anonymous namespace)``. A mangled name works too, it only stays long.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

_ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"
_UNTELLING = {"kernel", "device_kernel"}  # shown with their namespace
MISALIGNED = r"tensorop_\w*(align[12]|f16_\w*align4)(\D|$)"
"""Names of CUTLASS's products that load less than 16 bytes at once, as an odd width asks for."""
_CLOSERS = {">": "<", ")": "(", "]": "[", "}": "{"}

# The functor that distinguishes launches of a generic kernel: at::native passes it as a
# template argument (`FillFunctor`, `direct_copy_kernel_cuda`, `MeanOps`), CUTLASS its own kernel.
_WRAPPERS = r"(?:Binary|[AB]Unary)Functor\b|gpu_kernel_impl|ReduceOp\b"
_FUNCTOR = re.compile(
    rf"\b(?!{_WRAPPERS})"
    r"(\w+_kernel(?:_cuda|_impl)?(?=[<(])|\w*KernelImpl\b|\w*[Ff]unctor\w*|\w+Ops\b"
    r"|launch_\w+|cutlass_\w+)"
)

# Matched against the whole name: these words are decisive wherever they stand.
_BY_NAME = (
    # torch/_inductor/codegen: triton_<first letters of the kernel's category>_<fused ops>_<n>
    ("triton: pointwise", r"triton_poi_"),
    ("triton: reduction", r"triton_red_"),
    ("triton: persistent reduction", r"triton_per_"),
    ("triton: template", r"triton_tem_|triton_mm|triton_bmm|triton_addmm|triton_flex_attention"),
    ("triton: other", r"^triton_"),
    # NCCL and RCCL name their kernels alike; cross_device_reduce is vLLM's and aiter's
    (
        "communication",
        r"^nccl|^rccl|^mscclKernel|all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|nvshmem"
        r"|cross_device_reduce",
    ),
    # FlashAttention 2 and 3, xformers' and TensorRT's fmha, cuDNN's sdpa, FlashInfer, vLLM; AMD's
    # CK and aiter, whose pa_ is paged and mla_ latent attention
    (
        "attention",
        r"flash_(?:fwd|bwd|attn|attention|decod)|FlashAttn|fmha|sdpa|AttentionKernel|_attn_"
        r"|attention_(?:kernel|2d|3d|fwd|bwd)|paged_?attention|(?:Prefill|Decode)With\w*KVCache"
        r"|\battn_[fb]wd|(?<![a-zA-Z_])(?:pa|mla)_(?:\w+_)?(?:bf16|fp16|fp8|a8w8|a16w16|decode)",
    ),
    # kernel_batched_gemm_xdlops_bwd_weight and the like of CK are products of convolutions alone
    (
        "convolution",
        r"[fdw]p?(?:rop|grad)_|conv[123]?d?_|cutlass::conv|winograd|scudnn|cudnn::cnn"
        r"|xdlops_bwd_(?:weight|data)|^miopenSp3Asm|^igemm_",
    ),
    # rocPRIM launches all of its algorithms as one kernel, configured by the algorithm
    ("sort/topk", r"rocprim\S*(?:radix|sort)"),
    ("reduce", r"rocprim\S*(?:scan|reduce)"),
)

# Matched, in this order, against the function's own name and its functor, not its argument types.
_BY_FUNCTION = (
    ("gemv", r"gemv|gevm|\bdot_kernel"),
    # cuBLAS: nvjet_*, sm80_xmma_gemm_*, ampere_*gemm_*, splitKreduce; CUTLASS; TensorRT-LLM: bmm_*;
    # rocBLAS and hipBLASLt: Cijk_*, the index notation of the product; products of experts: moe
    (
        "gemm",
        r"gemm|^Cijk_|nvjet|cutlass|xmma|cublas|split_?k_?reduce|^bmm_|matmul|wgmma|wmma"
        r"|(?<![a-z])fmoe_|fused_moe",
    ),
    ("optimizer/foreach", r"multi_tensor_apply|adam"),
    ("softmax", r"softmax"),
    ("norm", r"(?:layer|rms|batch|group|instance)_?norm|\bbn_[fb]w|RowwiseMoments|GammaBeta"),
    ("quantize", r"quant"),
    ("sort/topk", r"sort|topk|\btop_k|_top_k|radix|routing"),
    ("random", r"\bdistribution_|dropout|philox|random|curand|multinomial"),
    ("fill/memset", r"FillFunctor|\bfill|memset"),
    ("elementwise", r"rotary|_and_mul(?:\b|_kernel)|SubTensorOp|OpTensor"),
    ("cast/copy", r"copy|CatArray|transpose|nchwToNhwc|nhwcToNchw"),
    ("index/gather", r"index|gather|scatter|embedding|nonzero|reshape_and_cache|store_kvcache"),
    ("reduce", r"reduce|scan|cumsum|_pool_"),
    ("elementwise", r"elementwise"),
)

_NAME_RULES = [(family, re.compile(pattern, re.IGNORECASE)) for family, pattern in _BY_NAME]
_FUNCTION_RULES = [(family, re.compile(pattern, re.IGNORECASE)) for family, pattern in _BY_FUNCTION]


@lru_cache(maxsize=4096)
def family(name: str) -> str:
    """Return the family that a kernel's name shows it to be of, ``"other"`` when it shows none."""
    for group, pattern in _NAME_RULES:
        if pattern.search(name):
            return group
    function, functor = bare(name)
    for group, pattern in _FUNCTION_RULES:
        if pattern.search(f"{function} {functor}"):
            return group
    return "other"


def short_name(name: str, limit: int = 60) -> str:
    """Return a name of at most ``limit`` characters: the bare function, and its functor if any.

    Namespaces, template arguments and parameters go; a name still too long loses its middle. Two
    kernels can share a short name: use :func:`short_names` for those of one table.
    """
    function, functor = bare(name)
    path = function.split("::")
    last = "::".join(path[-2:] if path[-1] in _UNTELLING else path[-1:])
    return cut(f"{last}<{functor}>" if functor else last, limit)


def short_names(names: Iterable[str], limit: int = 60) -> dict[str, str]:
    """Return full name to short name; those that would be equal get `` #2``, `` #3`` in order."""
    shortened: dict[str, str] = {}
    taken: set[str] = set()
    seen: dict[str, int] = {}
    for name in dict.fromkeys(names):
        base = candidate = short_name(name, limit)
        while candidate in taken:
            seen[base] = seen.get(base, 1) + 1
            suffix = f" #{seen[base]}"
            candidate = cut(base, limit - len(suffix)) + suffix
        taken.add(candidate)
        shortened[name] = candidate
    return shortened


@lru_cache(maxsize=1 << 14)
def bare(name: str) -> tuple[str, str]:
    """Return the qualified function, bare of template arguments and parameters, and its functor.

    The functor, "" where there is none, distinguishes launches of a generic kernel.
    """
    plain = name.replace("(anonymous namespace)::", "").replace("<unnamed>::", "")
    outside = _outside_brackets(plain).split()
    if not outside:
        return name.strip(), ""
    function = outside[-1]
    last = function.rsplit("::", 1)[-1]
    arguments = plain[plain.find(last) + len(last) :]
    functor = _FUNCTOR.search(arguments)
    return function, functor.group() if functor else ""


def _outside_brackets(name: str) -> str:
    """Return the characters outside of all brackets, up to the parameter list."""
    kept: list[str] = []
    open_: list[str] = []
    for character in name:
        if character in _CLOSERS.values():
            if character == "(" and not open_ and kept and not kept[-1].isspace():
                break
            open_.append(character)
        elif character in _CLOSERS:
            # A '>' inside parentheses compares; it closes nothing.
            if open_ and open_[-1] == _CLOSERS[character]:
                open_.pop()
        elif not open_:
            kept.append(character)
    return "".join(kept)


def cut(text: str, limit: int) -> str:
    """Return ``text`` without its middle if it is too long: both ends distinguish kernels."""
    if len(text) <= limit:
        return text
    tail = (limit - 1) // 2
    return text[: limit - 1 - tail] + _ELLIPSIS + text[len(text) - tail :]
