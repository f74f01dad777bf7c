"""Sizes: the largest decimal unit that fits, on either side of each threshold."""

import pytest

from harness.analysis.units import byte_unit, counted, size


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1_000, "1.00 kB"),
        (999_999, "1,000.00 kB"),
        (1_000_000, "1.00 MB"),
        (-33_554_432, "-33.55 MB"),
        (10**9, "1.00 GB"),
        (12_345 * 10**9, "12,345.00 GB"),
    ],
)
def test_a_size_is_in_the_largest_unit_that_it_fills(count: int, text: str) -> None:
    assert size(count) == text
    scale, unit = byte_unit(count)
    assert text.endswith(f" {unit}")
    assert abs(count) < 1_000 or abs(count) / scale >= 1


def test_one_of_a_kind_takes_no_s() -> None:
    counts = [counted(count, "step") for count in (0, 1, 2, 1_200)]
    assert counts == ["0 steps", "1 step", "2 steps", "1,200 steps"]
