"""What each rung of the ladder gains, from the stages of the rung before it alone.

A rung's stages are timed one by one (``Stages``); a schedule of host threads, launching thread and
GPU makes of them the mean time to first token (``ttft_ms``). A prediction changes the stages as the
rung's one switch should, by counts and rates that are known before the rung runs, and compares the
schedules' two means. Nothing here is fitted to a measured time to first token.
"""

import heapq
import math
from collections.abc import Callable, Mapping
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
BLOCK_CALLS = 30
"""Launches of a block of Qwen2.5-VL's encoder beside attention, counted in its source: two RMS
norms of six each, five products, rotary position of ten, SiLU, its product, two residuals."""
MISALIGNED = 2.7
"""Times that cuBLAS takes for a product of an odd width, of one with rows of 16 bytes: a mean over
odd shapes on an H200, measured outside of this study."""
CALLS_OF_ONE = 4
"""Launches for one attention call of a window or frame: three slices and the kernel."""
ELEMENTWISE_PASSES = 30
"""Times that a block reads or writes (patches, width) outside of products and attention, eager: two
norms in float32, rotary position of queries and keys in float32, SiLU and its product at 2.7 times
the width, two residuals."""
FUSED_PASSES = 13
"""The same with one kernel between each two products: each value read once and written once."""


@dataclass(frozen=True)
class Stages:
    """Mean ms of a request's stages: on the host, and on the GPU of what is launched there.

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
    """Counts of a load, known before it runs.

    ``image_bytes`` a request; ``calls`` of attention a request; ``encode_flop``, of it ``odd_flop``
    in products of an odd width, ``prefill_flop`` and ``pass_bytes``, one pass over the encoder's
    states, a request; ``padded``: rows of a padded
    prefill over those without; ``gb_s`` of the GPU's memory.
    """

    requests: int
    cores: int
    blocks: int
    image_bytes: float
    calls: float
    encode_flop: float
    odd_flop: float
    prefill_flop: float
    pass_bytes: float
    padded: float
    gb_s: float


Switches = Mapping[str, Any]


def changed(stages: Stages, before: Switches, after: Switches, work: Work) -> Stages:
    """Return the stages of the rung ``after``, which changes one switch of ``before``."""
    switch = next(name for name in after if name in _CHANGES and before[name] != after[name])
    return _CHANGES[switch](stages, work)


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


def _together(stages: Stages, work: Work) -> Stages:
    return replace(stages, encode_host=stages.encode_host / work.requests)


def _one_call(stages: Stages, work: Work) -> Stages:
    """Return the stages with a call a block on the host, and work at the prefill's rate."""
    outside = work.blocks * BLOCK_CALLS
    left = outside + 2 * CALLS_OF_ONE * work.blocks
    host = stages.encode_host * left / (outside + CALLS_OF_ONE * work.calls)
    flop_a_ms = work.prefill_flop / stages.prefill_gpu
    passes = ELEMENTWISE_PASSES * work.blocks * work.pass_bytes / work.gb_s / 1e6
    gpu = (work.encode_flop + (MISALIGNED - 1) * work.odd_flop) / flop_a_ms + passes
    return replace(stages, encode_host=host, encode_gpu=min(gpu, stages.encode_gpu))


def _aligned(stages: Stages, work: Work) -> Stages:
    saved = (MISALIGNED - 1) * work.odd_flop * stages.prefill_gpu / work.prefill_flop
    return replace(stages, encode_gpu=max(stages.encode_gpu - saved, 0))


def _compiled(stages: Stages, work: Work) -> Stages:
    saved = (ELEMENTWISE_PASSES - FUSED_PASSES) * work.blocks * work.pass_bytes / work.gb_s / 1e6
    return replace(stages, encode_gpu=max(stages.encode_gpu - saved, 0))


def _graphed(stages: Stages, _: Work) -> Stages:
    return replace(stages, encode_host=REPLAY_MS)


def _prefilled_together(stages: Stages, work: Work) -> Stages:
    host = stages.prefill_host / work.requests
    return replace(stages, prefill_host=host, prefill_gpu=stages.prefill_gpu * work.padded)


def _cached(stages: Stages, _: Work) -> Stages:
    none = dict.fromkeys(("decode", "process", "copy", "encode_host", "encode_gpu"), 0.0)
    return replace(stages, **none)


_CHANGES: dict[str, Callable[[Stages, Work], Stages]] = {
    "processor": _to_torch,
    "process_on": _to_device,
    "workers": _as_it_is,
    "pinned": _pinned,
    "encode": _together,
    "one_call": _one_call,
    "aligned": _aligned,
    "compiled": _compiled,
    "graphs": _graphed,
    "prefill": _prefilled_together,
    "cached": _cached,
}
"""What a switch does to the stages; what it does to their order, the schedule knows."""


def ttft_ms(stages: Stages, switches: Switches, work: Work) -> float:
    """Return the mean time to first token that a schedule of the stages gives."""
    ready = _ready(stages, switches, work)
    together = switches["encode"] == "together"
    groups = [list(range(work.requests))] if together else [[at] for at in range(work.requests)]
    host, gpu, first = 0.0, 0.0, []
    for group in groups:
        for at in group:
            host = max(host, ready[at]) if switches["workers"] else host + ready[at]
            host, gpu = _onto_device(stages, switches, host, gpu)
        host, gpu = _launched(host, gpu, stages.encode_host, stages.encode_gpu, len(group))
        parts = [len(group)] if switches["prefill"] == "together" else [1] * len(group)
        for part in parts:
            host, gpu = _launched(host, gpu, stages.prefill_host, stages.prefill_gpu, part)
            host = max(host, gpu)  # the first token is read
            first += [host] * part
    return sum(first) / len(first)


def _ready(stages: Stages, switches: Switches, work: Work) -> list[float]:
    """Return when each request's images are ready, or how long each takes without workers."""
    on_host = stages.decode + (stages.process if switches["process_on"] == "cpu" else 0)
    if switches["pinned"]:
        on_host += stages.copy
    if not switches["workers"]:
        return [on_host] * work.requests
    threads = [0.0] * min(switches["workers"], work.cores)
    ended = []
    for _ in range(work.requests):
        free = heapq.heappop(threads) + on_host
        heapq.heappush(threads, free)
        ended.append(free)
    return ended


def _onto_device(
    stages: Stages, switches: Switches, host: float, gpu: float
) -> tuple[float, float]:
    """Return the times after the copy, and the processing where the GPU does it."""
    process = stages.process if switches["process_on"] == "device" else 0.0
    if switches["pinned"]:
        return host, max(gpu, host) + process
    host = max(host, gpu) + stages.copy  # a copy from pageable memory waits for what is queued
    return host, host + process


def _launched(
    host: float, gpu: float, host_ms: float, gpu_ms: float, requests: int
) -> tuple[float, float]:
    """Return the times after work whose launches take ``host_ms`` a request.

    The GPU is through when its work is, and not before the last launch.
    """
    begun = max(host, gpu)
    host += host_ms * requests
    return host, max(begun + gpu_ms * requests, host)


def error(predicted: float, saved: float) -> float:
    """Return a prediction's distance as % of what was saved; infinite where nothing was."""
    return 100 * abs(predicted - saved) / abs(saved) if saved else math.inf
