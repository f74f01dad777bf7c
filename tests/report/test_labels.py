"""Labels beside crowded points: apart, inside, in their order, on nothing else."""

from itertools import combinations, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.report.labels import Free, Spot, apart, text_width

HEIGHT, LINE = 300.0, 10.0
SIZE = (600.0, HEIGHT)
spots = st.lists(st.tuples(st.floats(0, 600), st.floats(0, HEIGHT)), min_size=1, max_size=25)


def test_a_lone_label_stays_at_its_height() -> None:
    assert apart([50.0], HEIGHT, LINE) == [50.0]
    assert apart([], HEIGHT, LINE) == []


def test_labels_of_one_height_share_it_evenly() -> None:
    assert apart([50.0] * 3, HEIGHT, LINE) == [40.0, 50.0, 60.0]


def test_at_the_edge_a_block_is_pushed_inside() -> None:
    assert apart([HEIGHT] * 4, HEIGHT, LINE) == [270.0, 280.0, 290.0, 300.0]


@given(st.lists(st.floats(0, HEIGHT), max_size=25))
def test_no_two_labels_touch_or_leave_or_change_order(tops: list[float]) -> None:
    placed = apart(tops, HEIGHT, LINE)
    order = sorted(range(len(tops)), key=lambda index: tops[index])
    rising = [placed[index] for index in order]
    assert all(below - above >= LINE - 1e-6 for above, below in pairwise(rising))
    assert all(-1e-6 <= top <= HEIGHT + 1e-6 for top in placed)


def test_a_label_with_room_is_not_moved_by_others() -> None:
    assert apart([10.0, 201.0, 200.0], HEIGHT, LINE) == pytest.approx([10.0, 205.5, 195.5])


def test_a_lone_point_has_its_label_right_beside_it() -> None:
    box = Free(SIZE, [(100.0, 50.0)]).take((100.0, 50.0), 80, 14, 200)
    assert box
    assert (box.left, box.right) == (109.0, 189.0)
    assert (box.top + box.bottom) / 2 == 50.0


@settings(max_examples=50)
@given(spots)
def test_labels_lie_on_no_label_no_point_and_no_line(points: list[Spot]) -> None:
    roof = [(0.0, 250.0), (200.0, 100.0), (600.0, 100.0)]
    free = Free(SIZE, points, [roof])
    taken = [box for point in points[:8] if (box := free.take(point, 90, 14, 200))]
    for one, other in combinations(taken, 2):
        assert not one.touches(other, 0)
    for box in taken:
        assert not any(box.holds(point) for point in points)
        assert box.left >= 0 and box.top >= 0 and box.right <= 600 and box.bottom <= HEIGHT
        # Where the roof is level, at 100 from 200 on, no box spans it.
        assert box.right < 200 or not box.top < 100 < box.bottom


def test_where_all_is_full_there_is_no_place() -> None:
    crowd = [(float(x), float(y)) for x in range(0, 601, 10) for y in range(0, 301, 10)]
    assert Free(SIZE, crowd).take((300.0, 150.0), 90, 14, 200) is None


def test_a_text_of_wide_letters_is_wider() -> None:
    assert text_width("iiii", 13) < text_width("aaaa", 13) < text_width("MMMM", 13)
    assert text_width("aaaa", 26) == pytest.approx(2 * text_width("aaaa", 13))


def test_a_leader_crosses_a_line_only_where_it_must() -> None:
    point, roof = (300.0, 150.0), [(0.0, 140.0), (600.0, 140.0)]
    below = Free(SIZE, [point], [roof]).take(point, 90, 14, 200)
    assert below and below.top > 140
    floor = [(0.0, 153.0), (600.0, 153.0)]
    beyond = Free(SIZE, [point], [roof, floor]).take(point, 90, 14, 200)
    assert beyond and (beyond.top > 153 or beyond.bottom < 140)


def test_a_leader_goes_through_no_other_point() -> None:
    point = (300.0, 150.0)
    around = [(dx, dy) for dx in (-14.0, 0.0, 14.0) for dy in (-14.0, 0.0)]
    ring = [(300.0 + dx, 150.0 + dy) for dx, dy in around if dx or dy]
    box = Free(SIZE, [point, *ring]).take(point, 90, 14, 200)
    assert box and box.top > 150
