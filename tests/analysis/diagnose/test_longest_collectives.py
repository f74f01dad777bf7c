"""Which collectives findings on several GPUs name: by module, by range, or by place in a step."""

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import pytest

from harness.analysis.diagnose import conclude
from harness.evidence.capture import Capture
from harness.extract import door
from tests.support.programs import APART, MS, US, Program
from tests.support.training_trace import Kernel, Layer, Step, events, write

ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"
SEND_RECV = "ncclDevKernel_SendRecv"


def waits(finding: str, *captures: Capture) -> list[tuple[str, float]]:
    """Return what a finding says of the longest waits, each with its part of the time in %."""
    found = {each.id: each for each in conclude.diagnose(captures).findings}
    told = [each for each in found[finding].evidence if each.metric.startswith("waited in ")]
    return [(each.metric.removeprefix("waited in "), each.value) for each in told]


def program(lengths: Sequence[int], *, ranges: bool = False, steps: bool = True) -> Program:
    """Return a program that all-reduces this long (µs) behind kernels, in 3 steps."""
    made = Program()
    for _ in range(3):
        with made.marked("step:made") if steps else nullcontext():
            for layer, length in enumerate(lengths):
                with made.marked(f"layers.{layer}") if ranges else nullcontext():
                    made.launch(300 * US, f"gemm {layer if steps else made.now}")
                    made.launch(length * US, ALL_REDUCE)
            made.synchronise("cudaDeviceSynchronize")
    return made


def test_the_longest_are_named_by_their_place_in_a_step() -> None:
    (first, most), (second, less), third = waits(
        "exposed-communication", program((50, 400, 100, 60)).capture()
    )
    assert first == "the 2nd of 4 all-reduces of a step"
    assert second == "the 3rd of 4 all-reduces of a step"
    assert third[0] == "the 4th of 4 all-reduces of a step"
    assert most / less == pytest.approx(4)


def test_a_range_around_the_launch_is_the_layer() -> None:
    told = waits("exposed-communication", program((50, 400, 100), ranges=True).capture())
    assert [place for place, _ in told] == [f"all-reduces in layers.{n}" for n in (1, 2, 0)]


def test_without_steps_there_is_no_place_in_one() -> None:
    told = waits("exposed-communication", program((50, 400, 100), steps=False).capture())
    assert [place for place, _ in told] == ["all-reduces"]


def test_the_modules_and_collectives_of_a_torch_trace(tmp_path: Path) -> None:
    layers = [
        Layer(module, "aten::mm", "MmBackward0", (Kernel("gemm", 9000), Kernel(kernel, us)))
        for module, kernel, us in (
            ("Attention_0", ALL_REDUCE, 3000),
            ("Experts_0", SEND_RECV, 12000),
            ("Experts_1", SEND_RECV, 6000),
        )
    ]
    trace = events(Step(layers))
    for event in trace:
        if event["name"] == SEND_RECV:
            event["args"]["Collective name"] = "all_to_allv"
    capture = door.capture(write(tmp_path / "trace.json", trace)).captures["torch"]
    told = dict(waits("exposed-communication", capture))
    longest = ["all-to-alls in Experts_0", "all-to-alls in Experts_1", "the all-reduce of a step"]
    assert list(told) == longest
    assert [told[place] / told[longest[2]] for place in longest] == pytest.approx([4, 2, 1])


def test_a_straggler_is_waited_for_in_collectives_of_a_kind() -> None:
    ranks = Program(), Program(device=1)
    for _ in range(24):
        for rank, extra in zip(ranks, (0, 1), strict=True):
            rank.launch((1 + extra) * MS)
        begun = [rank.ends + APART for rank in ranks]
        for rank, begin in zip(ranks, begun, strict=True):
            rank.launch(max(begun) - begin + 50 * US, ALL_REDUCE)
    captures = [rank.capture(str(number)) for number, rank in enumerate(ranks)]
    ((place, share),) = waits("straggler", *captures)
    assert place == "the all-reduce of a step"
    assert share == pytest.approx(100 * 1 / (2 * 2.05), rel=0.02)
