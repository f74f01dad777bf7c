"""Halving a list of versions: where the value jumps, how few are measured, and what is told."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.analysis.bisection import change, tells
from harness.analysis.measured import Measured


class Versions:
    """Versions v0, v1 … of known values; None is one that fails."""

    def __init__(self, values: Sequence[float | None], spread: float = 0.02) -> None:
        self.names = [f"v{number}" for number in range(len(values))]
        self.values = dict(zip(self.names, values, strict=True))
        self.spread = spread
        self.measured: list[str] = []

    def measure(self, names: Sequence[str]) -> None:
        self.measured += names

    def ratio(self, of: str, over: str) -> Measured:
        assert {of, over} <= set(self.measured)
        above, below = self.values[of], self.values[over]
        if above is None or below is None:
            return Measured("×", why="it failed")
        value = above / below
        ends = (value * (1 - self.spread), value * (1 + self.spread))
        return Measured("×", value, *ends, rounds=3, samples=30, timed=True)


@given(
    count=st.integers(2, 40),
    at=st.data(),
    factor=st.floats(1.1, 5) | st.floats(0.2, 0.9),
)
def test_the_jump_is_found_in_as_many_steps_as_halving_takes(
    count: int, at: st.DataObject, factor: float
) -> None:
    jump = at.draw(st.integers(1, count - 1))
    versions = Versions([1.0] * jump + [factor] * (count - jump))
    found = change(versions.names, versions.measure, versions.ratio)
    assert (found.before, found.after) == (f"v{jump - 1}", f"v{jump}")
    assert found.ratio.value == pytest.approx(factor)
    assert found.is_told
    assert len(versions.measured) <= 2 + (count - 1).bit_length()
    assert set(found.measured) == set(versions.measured)


def test_the_greater_of_two_changes_is_found() -> None:
    versions = Versions([1.0, 1.0, 1.2, 1.2, 1.2, 2.4, 2.4])
    found = change(versions.names, versions.measure, versions.ratio)
    assert (found.before, found.after) == ("v4", "v5")


@given(st.data())
def test_versions_that_fail_are_passed_over(data: st.DataObject) -> None:
    values: list[float | None] = [*[1.0] * 6, *[1.5] * 6]
    for number in data.draw(st.sets(st.integers(1, 10), max_size=9)):
        values[number] = None
    versions = Versions(values)
    found = change(versions.names, versions.measure, versions.ratio)
    good = [name for name in versions.names if versions.values[name] == 1.0]
    bad = [name for name in versions.names if versions.values[name] == 1.5]
    assert (found.before, found.after) == (good[-1], bad[0])
    assert all(versions.values[name] is None for name in found.without)


@pytest.mark.parametrize("value", [1.0, 1.01, 0.985])
def test_nothing_is_halved_where_first_and_last_do_not_differ(value: float) -> None:
    versions = Versions([1.0, 3.0, value])
    found = change(versions.names, versions.measure, versions.ratio)
    assert (found.before, found.after, found.is_told) == ("v0", "v2", False)
    assert versions.measured == ["v0", "v2"]


def test_a_first_or_last_version_without_a_value_says_why() -> None:
    versions = Versions([1.0, None])
    with pytest.raises(ValueError, match="it failed"):
        change(versions.names, versions.measure, versions.ratio)
    with pytest.raises(ValueError, match="two or more"):
        change(["v0"], versions.measure, versions.ratio)


def test_two_processes_describe_and_tell_nothing() -> None:
    assert not tells(Measured("×", 2.0, 1.9, 2.1, rounds=2, samples=30, timed=True))
    assert tells(Measured("×", 2.0, 1.9, 2.1, rounds=3, samples=30, timed=True))
