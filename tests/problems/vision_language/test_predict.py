"""The schedule of a burst by hand, and what each switch does to its stages."""

import dataclasses
import math
from types import ModuleType
from typing import Any

import pytest

from harness.problem.model import Problem

KNOWN = {
    "requests": 3,
    "cores": 2,
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


def switches(problem: Problem, name: str) -> dict[str, Any]:
    return dict(problem.variants[name].options)


def mean_ms(modules: dict[str, ModuleType], given: dict[str, Any], **stages: float) -> float:
    predict = modules["predict"]
    work = predict.Work(**KNOWN)
    found: float = predict.ttft_ms(predict.Stages(**{**STAGES, **stages}), given, work)
    return found


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
    # Decode (2), a copy (1) that waits for the GPU, which then processes (3): it is through at 6,
    # 10 and 14. The encoder takes 12 for all three, a prefill 5 each.
    begun = 14 + 3 * 4
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


def test_each_rung_of_the_ladder_has_a_change(
    modules: dict[str, ModuleType], problem: Problem
) -> None:
    predict = modules["predict"]
    assert set(predict._CHANGES) == set(problem.variants["slow"].options)
    stages, work = predict.Stages(**STAGES), predict.Work(**KNOWN)
    before, after = (switches(problem, name) for name in ("graphs", "cached"))
    found = predict.changed(stages, before, after, work)
    assert found == dataclasses.replace(
        stages, decode=0, process=0, copy=0, encode_host=0, encode_gpu=0
    )


def test_one_call_leaves_the_calls_that_are_no_attention(
    modules: dict[str, ModuleType], problem: Problem
) -> None:
    predict = modules["predict"]
    before, after = (switches(problem, name) for name in ("pinned", "windows"))
    stages = predict.Stages(**{**STAGES, "encode_host": 100, "encode_gpu": 100})
    found = predict.changed(stages, before, after, predict.Work(**KNOWN))
    # 960 calls outside of attention and 256 of it are left of 960 and 10 000.
    assert found.encode_host == pytest.approx(100 * (960 + 256) / (960 + 10000))
    # At the prefill's 1.2e12 a ms 6.67 ms, what is odd of it again 1.7 times, and 960 passes of
    # 13 MB at 4000 GB/s.
    odd = 1.7 * 2e12 / 1.2e12
    assert found.encode_gpu == pytest.approx(8e12 / 1.2e12 + odd + 960 * 1.3e7 / 4e9)
    aligned = predict.changed(found, after, switches(problem, "aligned"), predict.Work(**KNOWN))
    assert aligned.encode_gpu == pytest.approx(found.encode_gpu - odd)


def test_an_error_is_a_share_of_what_was_saved(modules: dict[str, ModuleType]) -> None:
    error = modules["predict"].error
    assert error(8, 10) == pytest.approx(20)
    assert error(-2, 10) == pytest.approx(120)
    assert error(8, -10) == pytest.approx(180)
    assert math.isinf(error(1, 0))
