"""Steps of a serving engine: what its annotations say, and the layers that a step repeats."""

import polars as pl
import pytest

from harness.analysis.audit import conclude, layers
from harness.evidence.capture import Capture
from tests.support.programs import MS, US, Program


def served() -> Capture:
    """Return a program that prefills once and decodes twice: 3, 1 and 1 ms of kernels."""
    program = Program()
    for name, kernel in (
        ("execute_context_2(1000)_generation_0(0)", 3 * MS),
        ("execute_context_0(0)_generation_2(2)", MS),
        ("execute_context_0(0)_generation_3(3)", MS),
    ):
        with program.marked(name):
            program.launch(kernel)
            program.synchronise()
        program.work(100 * US)
    return Capture("engine", program.tables(), {}, "nsys")


def test_prefill_and_decode_are_told_apart() -> None:
    audit = conclude.audit([served()])
    assert audit.step is not None
    assert audit.step.of == "3 × engine step"
    assert audit.phases == {"prefill": pytest.approx(1), "decode": pytest.approx(2 / 3)}
    prefill, decode = sorted(audit.batches, key=lambda each: each.mode, reverse=True)
    assert (prefill.mode, prefill.steps, prefill.requests) == ("prefill", 1, (2, 2))
    assert prefill.busy_us == pytest.approx(3000 / 1000)
    assert (decode.mode, decode.steps, decode.requests) == ("decode", 2, (2, 3))
    assert decode.busy_us == pytest.approx(2000 / 5)
    assert decode.token_us == pytest.approx(1e3 * 2 * decode.ms / 5)
    assert [row.path for row in audit.rows] == ["", ""]


def folded(*steps: str, scope: str | None = None) -> layers.Layers | None:
    """Return the layers of steps whose operators are letters, each of 1 ms."""
    rows = [
        {"step": step, "operator": letter, "launched_ns": at, "own_ns": 1e6, "scope": scope}
        for step, operators in enumerate(steps)
        for at, letter in enumerate(operators)
    ]
    none = pl.lit(None, pl.Float64)
    ops = pl.DataFrame(rows, infer_schema_length=None).with_columns(place=0, floor_ns=none)
    return layers.folded(ops)


def test_operators_that_repeat_are_layers() -> None:
    found = folded("xabbcabbcabbcyz", "xabbcabbcabbcyz")
    assert found is not None
    assert (found.begins, found.count, found.ms) == ("a", 3, 12)
    assert {part.operator: part.launches for part in found.parts} == {"a": 1, "b": 2, "c": 1}
    assert found.share == pytest.approx(12 / 15)


@pytest.mark.parametrize(
    "steps",
    [
        ("abcabc",),  # twice is no series
        ("abcacbabc",),  # another order
        ("abcabcabc", "abcabcabcabc"),  # another number in each step
        ("abababvwvwxyxyxyxyxyz" + "z" * 20,),  # less than half of the time
    ],
)
def test_what_does_not_repeat_alike_is_none(steps: tuple[str, ...]) -> None:
    assert folded(*steps) is None
