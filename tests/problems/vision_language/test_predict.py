"""The queue of a burst by hand and kernel by kernel, and what each switch does to its stages."""

import dataclasses
import math
import random
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import pytest

from harness.problem.model import Problem

KNOWN = {
    "blocks": 32,
    "image_bytes": 5e6,
    "calls": 2500.0,
    "encode_flop": 8e12,
    "odd_flop": 2e12,
    "prefill_flop": 6e12,
    "pass_bytes": 1.3e7,
    "padded": 1.2,
    "gb_s": 4000.0,
}
STAGES = {
    "decode": 2.0,
    "process": 3.0,
    "copy": 1.0,
    "encode_host": 4.0,
    "encode_gpu": 4.0,
    "prefill_host": 5.0,
    "prefill_gpu": 5.0,
}
KERNELS = 400
"""Of a stage, in the simulation."""


def switches(problem: Problem, name: str) -> dict[str, Any]:
    return dict(problem.variants[name].options)


def mean_ms(modules: dict[str, ModuleType], given: dict[str, Any], **stages: float) -> float:
    """Return the queue's mean of three equal requests on two cores."""
    predict = modules["predict"]
    own = [predict.Stages(**{**STAGES, **stages})] * 3
    found: float = predict.ttft_ms(own, given, 2)
    return found


def after(
    modules: dict[str, ModuleType], problem: Problem, rungs: tuple[str, str], **stages: float
) -> Any:
    """Return the changed stages of the second of four equal requests."""
    predict = modules["predict"]
    own = [predict.Stages(**{**STAGES, **stages})] * 4
    given = [switches(problem, name) for name in rungs]
    return predict.changed(own, *given, [predict.Work(**KNOWN)] * 4)[1]


def test_one_thread_makes_one_request_after_the_other(
    modules: dict[str, ModuleType], problem: Problem
) -> None:
    # 2 + 3 + 1 + 4 + 5 = 15 each.
    assert mean_ms(modules, switches(problem, "fast")) == pytest.approx((15 + 30 + 45) / 3)


def test_launches_run_ahead_of_the_gpu_until_the_token_is_read(
    modules: dict[str, ModuleType], problem: Problem
) -> None:
    given = switches(problem, "fast")
    # The encoder's launches end at 7, its work at 10; the prefill waits for it and ends at 15.
    ahead = mean_ms(modules, given, encode_host=1, prefill_host=1)
    assert ahead == pytest.approx(30)
    # Launches that take longer than the work decide: 6 + 6 + 7.
    behind = mean_ms(modules, given, encode_host=6, prefill_host=7)
    assert behind == pytest.approx((19 + 38 + 57) / 3)


def test_decoders_share_the_cores(modules: dict[str, ModuleType], problem: Problem) -> None:
    # Two cores: images at 20, 20 and 40; copy 1, processing on the GPU 3, encoder 4, prefill 5.
    given = switches(problem, "threads")
    assert given["workers"] == 8
    first, second = 20 + 13, 20 + 13 + 13
    third = max(second, 40) + 13
    assert mean_ms(modules, given, decode=20) == pytest.approx((first + second + third) / 3)


def test_together_every_request_waits_for_the_last(
    modules: dict[str, ModuleType], problem: Problem
) -> None:
    given = switches(problem, "batched") | {"workers": 0, "pinned": False}
    # Decode (2), a copy (1) and the processor (3) of three requests end at 18. The encoder takes 12
    # for all three, a prefill 5 each.
    begun = 18 + 3 * 4
    wanted = [begun + 5, begun + 10, begun + 15]
    assert mean_ms(modules, given) == pytest.approx(sum(wanted) / 3)
    given["prefill"] = "together"
    assert mean_ms(modules, given) == pytest.approx(begun + 15)


def test_a_pinned_copy_is_the_decoders_and_no_other_copy_is(
    modules: dict[str, ModuleType], problem: Problem
) -> None:
    # Decoded at 2, 2 and 4; each request then takes 3 for the copy, 3, 4 and 5.
    by_launcher = mean_ms(modules, switches(problem, "threads"), copy=3)
    assert by_launcher == pytest.approx((17 + 32 + 47) / 3)
    # Decoded and copied at 5, 5 and 10; each request then takes 3, 4 and 5.
    by_decoder = mean_ms(modules, switches(problem, "pinned"), copy=3)
    assert by_decoder == pytest.approx((17 + 29 + 41) / 3)


def simulated(stages: Sequence[Any]) -> float:
    """Return the mean of requests whose every kernel is launched and run by itself.

    Images lie ready. The GPU runs kernels in order, each once it is launched; the host waits for
    the GPU where it reads a token.
    """
    host, gpu = 0.0, 0.0
    first: list[float] = []
    for each in stages:
        host += each.process
        for launches, work in (
            (each.encode_host, each.encode_gpu),
            (each.prefill_host, each.prefill_gpu),
        ):
            for _ in range(KERNELS):
                host += launches / KERNELS
                gpu = max(gpu, host) + work / KERNELS
        host = max(host, gpu)
        first.append(host)
    return sum(first) / len(first)


@pytest.mark.parametrize("seed", range(8))
def test_the_queue_is_that_of_single_kernels(
    modules: dict[str, ModuleType], problem: Problem, seed: int
) -> None:
    predict, drawn = modules["predict"], random.Random(seed)
    given = switches(problem, "aligned")
    stages = [
        predict.Stages(
            **{key: drawn.uniform(0.5, 30) for key in STAGES} | {"decode": 0.0, "copy": 0.0}
        )
        for _ in range(8)
    ]
    assert predict.ttft_ms(stages, given, 8) == pytest.approx(simulated(stages), rel=0.01)
    # A rung whose launches keep the GPU waiting gains by a graph, one whose work does not, nothing.
    bound = [dataclasses.replace(each, encode_host=40.0) for each in stages]
    for own in (bound, stages):
        graphed = [dataclasses.replace(each, encode_host=0.0) for each in own]
        gain = predict.ttft_ms(own, given, 8) - predict.ttft_ms(graphed, given, 8)
        assert gain == pytest.approx(simulated(own) - simulated(graphed), abs=1)


def test_a_graph_gains_what_the_gpu_waited_for(
    modules: dict[str, ModuleType], problem: Problem
) -> None:
    predict = modules["predict"]
    # Decoded at 2; then 3, launches of 8 and 9 beside work of 4 and 5: 20 a request.
    own = [predict.Stages(**STAGES | {"copy": 0.0, "encode_host": 8.0, "prefill_host": 9.0})]
    rungs = [switches(problem, name) for name in ("aligned", "graphs")]
    graphed = predict.changed(own, *rungs, [predict.Work(**KNOWN)])
    now, then = predict.ttft_ms(own, rungs[0], 1), predict.ttft_ms(graphed, rungs[1], 1)
    assert now == pytest.approx(2 + 3 + 8 + 9)
    assert then == pytest.approx(2 + 3 + predict.REPLAY_MS + 9)


def test_each_rung_of_the_ladder_has_a_change(
    modules: dict[str, ModuleType], problem: Problem
) -> None:
    assert set(modules["predict"]._CHANGES) == set(problem.variants["slow"].options)
    found = after(modules, problem, ("graphs", "cached"))
    none = dict.fromkeys(("decode", "process", "copy", "encode_host", "encode_gpu"), 0.0)
    assert vars(found) == STAGES | none


def test_one_call_leaves_the_operators_that_are_no_attention(
    modules: dict[str, ModuleType], problem: Problem
) -> None:
    predict = modules["predict"]
    rungs = ("pinned", "windows")
    found = after(modules, problem, rungs, encode_host=100.0, encode_gpu=100.0)
    # 32 blocks of 59 operators are left of 32 of 70, and 3 for each of 2500 calls.
    assert found.encode_host == pytest.approx(100 * 32 * 59 / (32 * 70 + 3 * 2500))
    # At the prefill's 1.2e12 a ms 6.67 ms, what is odd of it again 1.7 times, and 32 times 116
    # passes of 13 MB at 4000 GB/s.
    odd = 1.7 * 2e12 / 1.2e12
    assert found.encode_gpu == pytest.approx(8e12 / 1.2e12 + odd + 32 * 116 * 1.3e7 / 4e9)
    rungs = ("windows", "aligned")
    aligned = after(modules, problem, rungs, encode_gpu=found.encode_gpu)
    assert aligned.encode_gpu == pytest.approx(found.encode_gpu - odd)
    compiled = after(modules, problem, ("graphs", "compiled"), encode_gpu=found.encode_gpu)
    fused = predict.ELEMENTWISE_PASSES - predict.FUSED_PASSES
    assert compiled.encode_gpu == pytest.approx(found.encode_gpu - 32 * fused * 1.3e7 / 4e9)


def test_what_runs_for_all_is_launched_once(
    modules: dict[str, ModuleType], problem: Problem
) -> None:
    batched = after(modules, problem, ("graphs", "batched"))
    assert (batched.encode_host, batched.encode_gpu) == (1.0, 4.0)
    together = after(modules, problem, ("batched", "together"))
    assert (together.prefill_host, together.prefill_gpu) == (5 / 4, 5 * 1.2)


def test_an_error_is_a_share_of_what_was_saved(modules: dict[str, ModuleType]) -> None:
    error = modules["predict"].error
    assert error(8, 10) == pytest.approx(20)
    assert error(-2, 10) == pytest.approx(120)
    assert error(8, -10) == pytest.approx(180)
    assert math.isinf(error(1, 0))
