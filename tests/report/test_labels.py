"""Labels beside crowded points: apart, inside, in the points' order."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.report.labels import Spot, beside

HEIGHT, LINE, NEAR = 300.0, 10.0, 60.0
spots = st.lists(st.tuples(st.floats(0, 500), st.floats(0, HEIGHT)), max_size=25)


def test_a_lone_point_has_its_label_at_its_height() -> None:
    assert beside([(100.0, 50.0)], HEIGHT, LINE, NEAR) == [(110.0, 50.0)]


def test_points_on_one_spot_share_it_evenly() -> None:
    placed = beside([(100.0, 50.0)] * 3, HEIGHT, LINE, NEAR)
    assert sorted(top for _, top in placed) == [40.0, 50.0, 60.0]


def test_groups_have_a_column_each() -> None:
    placed = beside([(0.0, 5.0), (300.0, 5.0), (50.0, 90.0)], HEIGHT, LINE, NEAR)
    assert [left for left, _ in placed] == [60.0, 310.0, 60.0]


def test_at_the_edge_a_block_is_pushed_inside() -> None:
    placed = beside([(0.0, HEIGHT)] * 4, HEIGHT, LINE, NEAR)
    assert sorted(top for _, top in placed) == [270.0, 280.0, 290.0, 300.0]


@given(spots)
def test_no_two_labels_of_a_column_touch_or_leave_or_change_order(points: list[Spot]) -> None:
    placed = beside(points, HEIGHT, LINE, NEAR)
    assert len(placed) == len(points)
    for column in {left for left, _ in placed}:
        members = [index for index in range(len(points)) if placed[index][0] == column]
        tops = sorted(placed[index][1] for index in members)
        assert all(below - above >= LINE - 1e-6 for above, below in pairwise(tops))
        assert min(tops) >= -1e-6
        assert max(tops) <= HEIGHT + 1e-6
        by_label = sorted(members, key=lambda index: placed[index][1])
        heights = [points[index][1] for index in by_label]
        assert heights == sorted(heights)


def test_a_point_with_room_is_not_moved_by_others() -> None:
    placed = beside([(0.0, 10.0), (0.0, 200.0), (0.0, 201.0)], HEIGHT, LINE, NEAR)
    assert placed[0][1] == 10.0
    assert [placed[1][1], placed[2][1]] == pytest.approx([195.5, 205.5])
