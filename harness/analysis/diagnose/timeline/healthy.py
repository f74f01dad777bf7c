"""Said of a timeline whose devices compute for BUSY of the time, and that no cause costs enough.

The few hundred ns between two queued kernels count as computing: nothing on the timeline removes
them but fewer kernels. So do copies before the first and after the last kernel of a measured step,
as they have no kernel to hide behind.
"""

from collections.abc import Iterator
from dataclasses import replace

import polars as pl

from harness.analysis import floors, kernels, trials
from harness.analysis.diagnose import thresholds, timeline_evidence
from harness.analysis.diagnose.finding import HEALTHY, Evidence, Finding, FindingKind
from harness.analysis.diagnose.timeline import stream_serialised
from harness.analysis.diagnose.timeline_tracks import Track
from harness.analysis.diagnose.timeline_view import TimelineView
from harness.analysis.hint import for_eager, for_nvidia, for_torch
from harness.analysis.idle import causes as idle_causes
from harness.analysis.idle import recording_cost

KIND = FindingKind(
    HEALTHY,
    "timeline",
    "The GPU computes nearly all the time; a further gain has to come from its kernels.",
)
_UNKNOWN = 0.5
"""Of the computing time: where more has no known shape, that decides the floor and not the rest."""
_SHORT = 40
_PARTS = 3
"""Families of operators that are told, the longest ones."""
_LIMITS = {floors.MEMORY: "memory bandwidth", floors.ARITHMETIC: "the peak of arithmetic"}
_SHAPES = for_torch("record_shapes=True of torch.profiler: it says the least time of each kernel")
_NEXT = for_nvidia(
    "harness diagnose on an Nsight Compute report of the kernels that take the most time",
    otherwise="profile with rocprof-compute the kernels that take the most time",
)
_FP32 = r"sgemm|_ffma_|_simt_"
"""In names of cuBLAS's, cuDNN's and CUTLASS's FP32 products without tensor cores. torch asks for
them by default (torch.backends.cuda.matmul.allow_tf32)."""
_TF32 = (
    "allow TF32 if 10 bits of mantissa are enough"
    + for_torch(" (torch.set_float32_matmul_precision('high'))")
    + ": tensor cores multiply it several times as fast"
)
_IN_FP32 = (
    "The GPU computes nearly all the time, mainly in FP32 products, which tensor cores do faster "
    "in a narrower format."
)
"""Whether the narrower format will do is for whoever knows what is computed: so it is no fault."""
_POINTWISE = r"at::native::.*(elementwise_kernel|roll_cuda_kernel)"
"""In names of torch's pointwise operators, each of which reads and writes all of its tensors. One
kernel of Inductor's or Triton's does a chain of them in one pass."""
_FUSE = (
    "fuse the pointwise operators, each of which passes over memory: "
    + for_eager("torch.compile the function that holds them, or ")
    + "write one kernel (Triton)"
)
_MAINLY = 0.5
"""Of the time: a model's activations and residuals take up to a third of an eager step."""
_FASTER = (
    (_FP32, "in FP32 matrix products without tensor cores", thresholds.MATTERS, _TF32),
    (_POINTWISE, "in pointwise operators, one after another", _MAINLY, _FUSE),
)
"""Kernels that another way of computing replaces, what they are, their least part, and that way."""
_LONGEST = 0.25
"""Of the time: a kernel that takes this part is told, as a gain has to come from it."""


def found(view: TimelineView) -> Iterator[Finding]:
    """Yield it if kernels and the moments between them fill enough of the time."""
    full = view.compute + view.idle(idle_causes.BOUNDARY) + view.outer_copies
    few = view.operations < thresholds.LEAST_OPERATIONS * view.unmarked
    if few or full < thresholds.BUSY or stream_serialised.undecided(view) >= thresholds.MATTERS:
        return
    evidence = (
        view.percent("time of kernels and the moments between them", full, thresholds.BUSY),
        view.percent("of it between queued kernels", view.idle(idle_causes.BOUNDARY)),
        *timeline_evidence.profilers_part(view, *recording_cost.OF_THE_HOST),
        *_longest(view),
        *_floor(view),
    )
    after = []
    in_fp32 = False
    for pattern, what, least, advice in _FASTER:
        share = timeline_evidence.running(view, pl.col("name").str.contains(pattern))
        if share < least:
            continue
        evidence += (view.percent(what, share),)
        if pattern == _FP32 and share >= _MAINLY:
            in_fp32 = True
        else:
            after.append(advice)
    after += [_NEXT, _SHAPES] if any(map(_lacks_shapes, view.tracks)) else [_NEXT]
    finding = KIND.finding(
        view.where, evidence, share=0.0, gain=0.0, confidence=0.95, capture_next=tuple(after)
    )
    yield replace(finding, title=_IN_FP32, fix=(_TF32,)) if in_fp32 else finding


def notes(view: TimelineView) -> Iterator[str]:
    """Yield what is worth knowing where another finding stands first: products in FP32."""
    share = timeline_evidence.running(view, pl.col("name").str.contains(_FP32))
    if share >= _MAINLY:
        yield (
            f"{share * 100:.0f} % of the time is in FP32 matrix products without tensor cores: "
            + _TF32
        )


def _longest(view: TimelineView) -> Iterator[Evidence]:
    """Yield the kernel that runs longest, if it takes _LONGEST of the time."""
    rows = pl.concat(
        [trials.without(track.ops).select("kind", "name", "duration_ns") for track in view.tracks]
    )
    sums = rows.filter(pl.col("kind") == "kernel").group_by("name").agg(pl.col("duration_ns").sum())
    if sums.is_empty():
        return
    name = sums.sort("duration_ns", "name").row(-1)[0]
    share = timeline_evidence.running(view, pl.col("name") == name)
    if share >= _LONGEST:
        yield view.percent(f"in {kernels.short_name(name, _SHORT)}", share)


def _has_shapes(track: Track) -> bool:
    """Return whether the capture holds the inputs of operators."""
    return track.capture.tables["origins"]["inputs"].count() > 0


def _lacks_shapes(track: Track) -> bool:
    """Return whether operators have no shapes that another recording might have."""
    named = track.capture.tables["operators"].height > 0
    return named and not _has_shapes(track) and not track.steps.is_apart


def _floor(view: TimelineView) -> Iterator[Evidence]:
    """Yield what the kernels' shapes say that a step has to take, and which kernels take more."""
    if not any(map(_has_shapes, view.tracks)):
        return
    least = floors.floor(pl.concat([track.floored for track in view.tracks]), "own_ns")
    if least is None:
        return
    marked = all(track.steps.rule != "whole" for track in view.tracks)
    steps = sum(track.steps.count for track in view.tracks) if marked else len(view.tracks)
    whole = f"{'a step' if marked else 'all'} of {_ms(view.span_ns / steps)}"
    if least.unknown <= _UNKNOWN:
        yield view.number(f"floor of {whole}, by shapes", least.floor_ns / steps / 1e6, "ms")
        if least.ceiling_ns is not None:
            yield view.number("floor at measured ceilings", least.ceiling_ns / steps / 1e6, "ms")
    for part in least.parts[:_PARTS]:
        if part.time_ns >= thresholds.MATTERS * least.work_ns:
            what = f"{part.family}, {_ms(part.time_ns / steps)} of it, of {_LIMITS[part.bound]}"
            yield view.percent(what, part.reached)
    if least.unknown >= thresholds.SEEN:
        yield view.percent("time of kernels without a known shape", least.unknown)
    if least.faster >= thresholds.SEEN:
        yield view.percent("faster than device memory allows: from a cache", least.faster)


def _ms(ns: float) -> str:
    return f"{ns / 1e6:.3g} ms"
