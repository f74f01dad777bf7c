"""Launches whose counters and instructions nobody measured are judged without a fault."""

import pytest

from harness.analysis import flop
from harness.analysis.diagnose import conclude
from harness.analysis.diagnose.kernel import bank_conflicts
from harness.analysis.diagnose.kernel_view import KernelView
from harness.analysis.diagnose.launch import mix, traffic, waits, warps
from harness.analysis.diagnose.launch.counted import Counted, Instruction
from harness.evidence import tables as evidence
from harness.evidence.capture import Capture

LONG = "9" * 5000
ODD = ("", " ", "FFMA", "FFMA ,", "FFMA R1,,", f"FFMA R{LONG}, R1, R2, R3", f"LDG R{LONG}, [R1]")


@pytest.mark.parametrize("sass", ODD)
def test_instructions_that_are_none_are_counted_as_others(sass: str) -> None:
    opcode = (sass.split() or [""])[0]
    rows = [Instruction(opcode, sass, executed=1, samples=1), Instruction("LDG", "LDG R1", 1, 1)]
    view = Counted("kernel", 0, "file", 1.0, {}, tuple(rows))
    assert mix.product_share(view) in (None, 0.0)
    assert waits.share(view, mix.LOAD) is not None


@pytest.mark.parametrize("word", [f"HGMMA.{LONG}", f"HGMMA.{LONG}x8x8.F32"])
def test_a_shape_that_no_product_has_is_not_understood(word: str) -> None:
    assert flop.of_instruction(word) is None


def test_a_block_of_fewer_threads_than_none_is_taken_for_full() -> None:
    view = Counted("kernel", 0, "file", 1.0, {"launch__block_size": -7.0})
    assert warps.threads_of_block(view) == 32.0


def test_counts_below_zero_are_not_measured() -> None:
    columns = {
        "launch": [0, 0],
        "name": ["k", "k"],
        "metric": ["gpu__time_duration.sum", "launch__block_size"],
        "unit": ["ns", "thread"],
        "value": [-5.0, -7.0],
    }
    tables = {name: evidence.empty(name) for name in evidence.SCHEMAS}
    tables["counters"] = evidence.frame("counters", columns)
    (launch,) = conclude.diagnose([Capture("file", tables, {}, "ncu")]).kernels
    numbers = [each.value for finding in launch.findings for each in finding.evidence]
    assert all(number >= 0 for number in numbers)


@pytest.mark.parametrize(("wasted", "found"), [(0.5, True), (1.0, False), (None, False)])
def test_where_no_wavefront_was_needed_the_counters_say_nothing(
    wasted: float | None, found: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(traffic, "conflicts", lambda _: wasted)
    monkeypatch.setattr(traffic, "shared_part", lambda _: None)
    monkeypatch.setattr(warps, "waiting", lambda *_: 0.9)
    metrics = {"launch__block_size": 32.0, "gpu__time_duration.sum": 100.0}
    view = KernelView("kernel", 0, "file", 1.0, metrics)
    assert bool([*bank_conflicts.found(view)]) == found
