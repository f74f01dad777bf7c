"""A kernel takes the time although the same library has a faster one for the same work.

Such kernels are known by their names: a library chooses them by how it is called, and no size makes
them the best choice. It shows as time in which one of WAYS runs. The gain is at most that: what the
faster kernel takes is not known.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import polars as pl

from harness.analysis import intervals, kernels, trials
from harness.analysis.diagnose import attention_passes, thresholds
from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.timeline_view import TimelineView
from harness.analysis.hint import for_torch, for_training

KIND = FindingKind(
    "slow-kernel",
    "timeline",
    "A kernel takes the time for whose work the same library has a faster one.",
    fix=("call the library so that it takes the faster kernel",),
)


@dataclass(frozen=True)
class Way:
    """Kernels whose names match ``pattern``, what they do, and what makes them needless.

    With less than ``least`` of the time they are what programs of their kind need.
    """

    pattern: str
    title: str
    fix: tuple[str, ...]
    least: float = thresholds.SEEN


WAYS = (
    # aten/src/ATen/native/cuda/Indexing.cu: index_put_ with accumulate=True sorts the indices, and
    # one warp adds all rows of an equal index in turn. It is the backward of tensor[index].
    Way(
        r"indexing_backward_kernel",
        "Gradients of tensor[index] are added up row by row for each repeated index.",
        (
            for_torch(
                "gather by torch.index_select or embedding in place of tensor[index]"
                + for_training(": their backward adds rows in parallel")
            ),
            "bound how often one index repeats in a batch",
        ),
    ),
    # cuDNN's tensor cores read NHWC ("Tensor Layouts" of its developer guide); for tensors in NCHW
    # it converts each input and output.
    Way(
        r"nchwToNhwc|nhwcToNchw",
        "Each convolution converts its tensors between NCHW and NHWC.",
        (
            for_torch(
                "keep images and convolutions in channels_last "
                "(model.to(memory_format=torch.channels_last), the input, too)",
                otherwise="keep images and convolutions in NHWC",
            ),
        ),
    ),
    # MIOpen's reference kernels, taken where no solver fits (MIOpen, "Find modes").
    Way(
        r"^naive_conv_",
        "Convolutions run by MIOpen's reference kernels.",
        (
            "let MIOpen find a solver for these shapes once (MIOPEN_FIND_MODE=1), and keep its "
            "database",
            "choose a type and a layout that it has solvers for",
        ),
    ),
    # coalesce() sorts the indices of a sparse tensor and adds equal ones (aten/src/ATen/native/
    # sparse/cuda/SparseCUDATensor.cu). A quarter of a step is more than what uses the order takes
    # where that is a product or a reduction.
    Way(
        r"coalesceValuesKernel|(Merge|Radix|Segmented)Sort|bitonicSort",
        "Much of the time goes to sorting, such as the coalescing of sparse tensors.",
        (
            "sort what stays the same once, before the loop: coalesce a graph's adjacency, and "
            "keep it as CSR" + for_training(" (and its transpose for the backward pass)"),
            "take topk in place of a full sort, and keys of fewer bits",
        ),
        least=0.25,
    ),
    # autocast converts a weight in each region that uses it (torch.autocast: its cache of
    # converted weights ends with the outermost region). Activations of a step in autocast are
    # converted, too, in up to a fifth of the time.
    Way(
        r"(bfloat16|float16|float8_\w+)_copy_kernel_cuda|direct_copy_kernel_cuda.*LoadWithCast",
        "Much of the time goes to converting tensors from one number format to another.",
        (
            for_torch(
                "keep weights in the format that products read (model.to(torch.bfloat16)), or take "
                "products that read them as they are stored: autocast and dequantisation convert "
                "them anew in each pass"
            ),
            "keep activations in one format from operator to operator",
        ),
        least=0.25,
    ),
    # A copy of one tensor into another of its type and layout is a DtoD memcpy, torch.cat and a
    # copy that changes the layout are kernels (aten/src/ATen/native/cuda/Copy.cu and Shape.cu).
    # A step that keeps its last state beside the new one copies it in a third to a half of the
    # time, where one pass over both is all that it computes.
    Way(
        r"Device-to-Device|Memcpy DtoD|CatArrayBatchedCopy|impl_nocast<.*direct_copy_kernel_cuda",
        "Much of the time goes to copying tensors within the GPU.",
        (
            "write results where they are read next: into slices of one buffer"
            + for_torch(" in place of torch.cat")
            + ", into a CUDA graph's own input buffers in place of a "
            + for_torch("copy_", otherwise="copy")
            + " before each replay",
            "copy what is new, not the whole: the cache's last token, the changed rows",
            "keep one layout from operator to operator, without contiguous() and clone()",
        ),
        least=0.5,
    ),
    # Loads of 16 bytes need rows that begin at multiples of 16 bytes. For other widths cuBLAS has
    # CUTLASS's kernels for Ampere, which say by name how many elements they load at once. A narrow
    # head of a large model is odd, too, and takes little.
    Way(
        kernels.MISALIGNED,
        "Products have an odd width, and run on kernels that load a few bytes at once.",
        (
            "pad the odd dimension with zeros to a multiple of 16 bytes, once, where weights are "
            "loaded: 3420 elements of bf16 to 3424, a vocabulary of 50257 to 50304",
            "of activations pad the last dimension where they are made, and slice the result",
        ),
        least=0.1,
    ),
    # A transform whose length has a prime factor above 127 is made a convolution of at least twice
    # that length (cuFFT, "Accuracy and Performance": Bluestein's algorithm).
    Way(
        r"(?i)bluestein",
        "Fourier transforms have a length with a large prime factor, and run as longer ones.",
        (
            "pad or crop to a length whose factors are 2, 3, 5 and 7 (scipy.fft.next_fast_len)"
            + for_torch(": as torch.fft's n, or of the data"),
            "where only a convolution is wanted, any length from the sum of both on will do",
        ),
    ),
)
_ATTENTION = Way(
    "",
    "Attention runs as separate kernels, each of which passes over all of its scores.",
    (
        for_torch(
            "call F.scaled_dot_product_attention, with is_causal or a mask, in place of product, "
            "softmax and product: one kernel that never writes the scores",
            otherwise="compute attention in one kernel that never writes the scores",
        ),
        for_torch(
            "where scores are changed on the way, FlexAttention "
            "(torch.nn.attention.flex_attention, compiled)"
        ),
    ),
)


def found(view: TimelineView) -> Iterator[Finding]:
    """Yield the time in which kernels of a way run, for each way."""
    if view.operations < thresholds.LEAST_OPERATIONS * view.unmarked:
        return
    own = [trials.without(track.ops) for track in view.tracks]
    for way in WAYS:
        slow = pl.col("name").str.contains(way.pattern)
        yield from _of_way(view, way, [ops.filter(slow) for ops in own])
    yield from _of_way(view, _ATTENTION, [attention_passes.passes(ops) for ops in own])


def _of_way(view: TimelineView, way: Way, slow: Sequence[pl.DataFrame]) -> Iterator[Finding]:
    """Yield the time in which kernels run that are a way's, by device."""
    share = view.fraction(sum(intervals.length(intervals.union(rows)) for rows in slow))
    if share < way.least:
        return
    evidence = (
        view.percent("time in which such kernels run", share, max(way.least, thresholds.MATTERS)),
        view.number("such kernels", sum(rows.height for rows in slow)),
    )
    finding = KIND.finding(view.where, evidence, share=share, gain=share, confidence=0.8)
    yield replace(finding, title=way.title, fix=way.fix)
