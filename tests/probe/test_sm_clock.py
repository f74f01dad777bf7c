"""The clock that the multiprocessors counted, from their counters before and after."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.probe.sm_clock import between

NONE = [0, 0]


def test_cycles_over_nanoseconds_are_megahertz() -> None:
    assert between([[5_000, 1_000_000]], [[24_800, 1_010_000]]) == 1980


def test_the_clock_is_that_of_the_median_multiprocessor() -> None:
    begin = [[100 * at, 7_000] for at in range(5)]
    counted = [18_000, 500_000, 18_500, 17_500, 0]  # two of them disagree with the others
    end = [[first + more, 17_000] for (first, _), more in zip(begin, counted, strict=True)]
    assert between(begin, end) == 1800


def test_rows_of_zeros_are_left_out() -> None:
    begin = [NONE, [0, 1_000], NONE, [40_000, 1_000], NONE, NONE]
    end = [NONE, [18_000, 11_000], NONE, [60_000, 11_000], [90_000, 11_000], NONE]
    assert between(begin, end) == 1900  # the fifth was not there at the begin


@given(
    st.lists(st.tuples(st.integers(0, 1 << 50), st.integers(1, 1 << 60)), min_size=1, max_size=20),
    st.integers(1_000, 10**9),
    st.integers(300, 2_000),
)
def test_where_the_counters_stood_does_not_matter(
    stood: list[tuple[int, int]], ns: int, mhz: int
) -> None:
    begin = [list(row) for row in stood]
    end = [[cycles + mhz * ns, now + 1_000 * ns] for cycles, now in stood]
    assert between([*begin, NONE], [*end, NONE]) == pytest.approx(mhz)
