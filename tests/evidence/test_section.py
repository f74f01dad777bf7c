"""The middle of a long timeline: as many events as may be, those in the middle, and all of each."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.evidence import section
from harness.evidence.capture import Part
from harness.evidence.tables import frame

TIMES = st.lists(
    st.one_of(st.integers(0, 50), st.integers(0, 10**6), st.integers(0, 2**52)), max_size=60
)


def held(starts: list[int], most: int) -> Part | None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(section, "MOST", most)
        patch.setattr(section, "_PARTS", 4)
        return section.of({"gpu_ops": frame("gpu_ops", {"start_ns": starts})})


@given(TIMES, st.integers(1, 20))
def test_it_is_the_middle(starts: list[int], most: int) -> None:
    part = held(starts, most)
    if len(starts) <= most:
        assert part is None
        return
    assert part is not None
    inside = [at for at in starts if part.start_ns <= at < part.end_ns]
    assert (part.events, part.of, part.first_ns) == (len(inside), len(starts), min(starts))
    assert part.events <= most
    first = sorted(starts)[(len(starts) - most) // 2]
    if starts.count(first) <= most:
        assert first in inside


def test_a_part_that_was_looked_into_ends_where_it_ended() -> None:
    assert held([0, 20, 23, 29, 30, 144], 2) == Part(23, 30, 2, 6, 0)


def test_as_many_are_read_as_may_be() -> None:
    starts = frame("gpu_ops", {"start_ns": range(0, 1000, 10)})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(section, "MOST", 20)
        assert section.of({"gpu_ops": starts}) == Part(400, 591, 20, 100, 0)


def test_events_that_begin_at_one_time_cannot_be_parted() -> None:
    assert held([7] * 9, 5) == Part(7, 7, 0, 9, 7)


def test_all_tables_count_and_a_range_has_to_end_within() -> None:
    tables = {
        "gpu_ops": frame("gpu_ops", {"start_ns": [0, 10, 20, 30], "duration_ns": [99] * 4}),
        "api_calls": frame("api_calls", {"start_ns": [1, 11, 21, 31], "duration_ns": [99] * 4}),
        "ranges": frame("ranges", {"start_ns": [0, 10, 12], "duration_ns": [40, 10, 20]}),
        "devices": frame("devices", {"device": [0]}),
    }
    part = Part(start_ns=10, end_ns=30, events=6, of=11, first_ns=0)
    cut = section.cut(tables, part)
    assert {
        name: rows["start_ns"].to_list() for name, rows in cut.items() if name != "devices"
    } == {
        "gpu_ops": [10, 20],
        "api_calls": [11, 21],
        "ranges": [10],
    }
    assert cut["devices"].equals(tables["devices"])


def test_it_says_what_was_read() -> None:
    part = Part(2 * 10**9, 3_500_000_000, 750_000, 61_020_537, 10**9)
    assert str(part) == (
        "750,000 of 61,020,537 events, those in the middle: from 1.000 s to 2.500 s"
    )


def test_an_empty_timeline_has_no_section() -> None:
    assert section.of({}) is None
    assert section.of({"gpu_ops": frame("gpu_ops", {"start_ns": []})}) is None
