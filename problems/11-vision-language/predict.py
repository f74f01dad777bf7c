"""What each rung of the ladder gains, from the stages of the rung before it alone.

A rung's stages are timed one by one (``Stages``): what the host takes to launch them, and what the
GPU takes by itself, launched far enough ahead. Requests then pass a queue of decoding threads, the
thread that launches and the GPU (``ttft_ms``). A prediction changes the stages as the rung's one
switch should, by counts and rates that are known before the rung runs, and compares the two means
that the queue gives. Nothing here is fitted to a measured time to first token.
"""

import heapq
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

ELSEWHERE_MS = {"pil": 575.0, "torch": 141.0, "device": 18.0}
"""Eight images of 1600 × 1200 through the processor: Pillow and numpy, torch on 16 cores, torch on
the GPU. Measured on an H200 outside of this study, before its ladder was written."""
PINNED_GB_S = 50.0
"""Of a copy from pinned memory over PCIe 5.0 × 16, whose links carry 63 GB/s."""
STAGED_GB_S = 5.0
"""Of one core that copies an image twice, into one array and into pinned memory: an estimate."""
REPLAY_MS = 0.1
"""The host's part of a copy into a graph's input and of its launch: two calls and Python."""
OPERATORS = 70
"""That torch dispatches in a block of transformers' encoder beside those of ``OPERATORS_OF_CALL``.
counts.py counts these three; the host's time is taken to be in proportion."""
OPERATORS_OF_CALL = 3
"""For one window or frame: a transpose, a copy and the attention."""
OPERATORS_OF_ONE_CALL = 59
"""In a block with one call of attention for all windows."""
MISALIGNED = 2.7
"""Times that cuBLAS takes for a product of an odd width, of one with rows of 16 bytes: a mean over
odd shapes on an H200, measured outside of this study."""
ELEMENTWISE_PASSES = 116
"""Times that a block with one call reads or writes (patches, width) in bf16 outside of products and
attention, eager; those in float32 count twice. counts.py counts them at the published widths."""
FUSED_PASSES = 25
"""The same with one kernel between each two products, each value read and written once: a norm 2,
rotary position and gathering of queries, keys and values 6, the way back 2, a residual with the
next norm 4, SiLU and its product at 2.7 times the width 8, a residual 3."""


@dataclass(frozen=True)
class Stages:
    """ms of a request's stages: the host's, and of what it launches the GPU's own.

    ``copy``: of who decodes where it is pinned, else of the thread that launches. ``encode`` and
    ``prefill``: of each request, also where they run for all together.
    """

    decode: float
    process: float
    copy: float
    encode_host: float
    encode_gpu: float
    prefill_host: float
    prefill_gpu: float


@dataclass(frozen=True)
class Work:
    """Counts of a request, known before it runs.

    ``calls`` of attention in ``blocks`` of the encoder; ``encode_flop``, of it ``odd_flop`` in
    products of an odd width, ``prefill_flop`` and ``pass_bytes``, one pass over the encoder's
    states; ``padded``: rows of a padded prefill over those without; ``gb_s`` of the GPU's memory.
    """

    blocks: int
    image_bytes: float
    calls: float
    encode_flop: float
    odd_flop: float
    prefill_flop: float
    pass_bytes: float
    padded: float
    gb_s: float

    def passes_ms(self, times: int) -> float:
        """Return the ms of so many passes in each block."""
        return times * self.blocks * self.pass_bytes / self.gb_s / 1e6


Switches = Mapping[str, Any]


def changed(
    stages: Sequence[Stages], before: Switches, after: Switches, works: Sequence[Work]
) -> list[Stages]:
    """Return the requests' stages on the rung ``after``, which changes one switch of ``before``."""
    switch = next(name for name in after if name in _CHANGES and before[name] != after[name])
    change = _CHANGES[switch]
    if switch in ("encode", "prefill"):  # one launch for all
        host = f"{switch}_host"
        stages = [replace(each, **{host: getattr(each, host) / len(stages)}) for each in stages]
    return [change(each, work) for each, work in zip(stages, works, strict=True)]


def _to_torch(stages: Stages, _: Work) -> Stages:
    faster = ELSEWHERE_MS["torch"] / ELSEWHERE_MS["pil"]
    return replace(stages, process=stages.process * faster)


def _to_device(stages: Stages, work: Work) -> Stages:
    """Return the stages with uint8 images that cross PCIe in place of patches in float32."""
    faster = ELSEWHERE_MS["device"] / ELSEWHERE_MS["torch"]
    crosses = work.image_bytes / PINNED_GB_S / 1e6
    copied = min(stages.copy, crosses + work.image_bytes / STAGED_GB_S / 1e6)
    return replace(stages, process=stages.process * faster, copy=copied)


def _as_it_is(stages: Stages, _: Work) -> Stages:
    return stages


def _pinned(stages: Stages, work: Work) -> Stages:
    return replace(stages, copy=2 * work.image_bytes / STAGED_GB_S / 1e6)


def _one_call(stages: Stages, work: Work) -> Stages:
    """Return the stages with the operators of one call, and products at the prefill's rate."""
    before = OPERATORS * work.blocks + OPERATORS_OF_CALL * work.calls
    host = stages.encode_host * OPERATORS_OF_ONE_CALL * work.blocks / before
    flop_a_ms = work.prefill_flop / stages.prefill_gpu
    gpu = (work.encode_flop + (MISALIGNED - 1) * work.odd_flop) / flop_a_ms
    return replace(stages, encode_host=host, encode_gpu=gpu + work.passes_ms(ELEMENTWISE_PASSES))


def _aligned(stages: Stages, work: Work) -> Stages:
    saved = (MISALIGNED - 1) * work.odd_flop * stages.prefill_gpu / work.prefill_flop
    return replace(stages, encode_gpu=max(stages.encode_gpu - saved, 0))


def _compiled(stages: Stages, work: Work) -> Stages:
    saved = work.passes_ms(ELEMENTWISE_PASSES - FUSED_PASSES)
    return replace(stages, encode_gpu=max(stages.encode_gpu - saved, 0))


def _graphed(stages: Stages, _: Work) -> Stages:
    """Return the stages with one launch: kernels are the same, the gaps between them go."""
    return replace(stages, encode_host=REPLAY_MS)


def _prefilled_together(stages: Stages, work: Work) -> Stages:
    return replace(stages, prefill_gpu=stages.prefill_gpu * work.padded)


def _cached(stages: Stages, _: Work) -> Stages:
    none = dict.fromkeys(("decode", "process", "copy", "encode_host", "encode_gpu"), 0.0)
    return replace(stages, **none)


_CHANGES: dict[str, Callable[[Stages, Work], Stages]] = {
    "processor": _to_torch,
    "process_on": _to_device,
    "workers": _as_it_is,
    "pinned": _pinned,
    "encode": _as_it_is,
    "one_call": _one_call,
    "aligned": _aligned,
    "compiled": _compiled,
    "graphs": _graphed,
    "prefill": _prefilled_together,
    "cached": _cached,
}
"""What a switch does to a request's stages; what it does to their order, the queue knows."""


def ttft_ms(stages: Sequence[Stages], switches: Switches, cores: int) -> float:
    """Return the mean time to first token of requests that pass the queue in their order."""
    ready = _ready(stages, switches, cores)
    places = list(range(len(stages)))
    groups = [places] if switches["encode"] == "together" else [[at] for at in places]
    host, gpu, first = 0.0, 0.0, []
    for group in groups:
        for at in group:
            host = max(host, ready[at]) if switches["workers"] else host + ready[at]
            host, gpu = _onto_device(stages[at], switches, host, gpu)
        own = [stages[at] for at in group]
        times = [(each.encode_host, each.encode_gpu) for each in own]
        host, gpu = _launched(host, gpu, times)
        for part in [own] if switches["prefill"] == "together" else [[each] for each in own]:
            times = [(each.prefill_host, each.prefill_gpu) for each in part]
            host, gpu = _launched(host, gpu, times)
            host = max(host, gpu)  # the first token is read
            first += [host] * len(part)
    return sum(first) / len(first)


def _ready(stages: Sequence[Stages], switches: Switches, cores: int) -> list[float]:
    """Return when each request's images are ready, or how long each takes without workers."""
    on_host = [
        each.decode
        + (each.process if switches["process_on"] == "cpu" else 0)
        + (each.copy if switches["pinned"] else 0)
        for each in stages
    ]
    if not switches["workers"]:
        return on_host
    threads = [0.0] * min(switches["workers"], cores)
    ended = []
    for ms in on_host:
        free = heapq.heappop(threads) + ms
        heapq.heappush(threads, free)
        ended.append(free)
    return ended


def _onto_device(
    stages: Stages, switches: Switches, host: float, gpu: float
) -> tuple[float, float]:
    """Return the times after the copy, and the processing where the GPU does it.

    The GPU is through with the processor's few short kernels when the last is launched.
    """
    if not switches["pinned"]:
        host = max(host, gpu) + stages.copy  # a copy from pageable memory waits for what is queued
    if switches["process_on"] == "device":
        host += stages.process
    return host, max(gpu, host)


def _launched(host: float, gpu: float, times: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the times of both after work of which a request takes (host, GPU) ms of ``times``.

    Kernels follow one another as they are launched, so the GPU is through when its work is, and
    not before the last launch.
    """
    host_ms, gpu_ms = (sum(each) for each in zip(*times, strict=True))
    begun = max(host, gpu)
    host += host_ms
    return host, max(begun + gpu_ms, host)


def error(predicted: float, saved: float) -> float:
    """Return a prediction's distance as % of what was saved; infinite where nothing was."""
    return 100 * abs(predicted - saved) / abs(saved) if saved else math.inf
