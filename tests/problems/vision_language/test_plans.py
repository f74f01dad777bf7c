"""Windows and frames of Qwen2.5-VL's encoder, against counts made patch by patch."""

from collections import Counter
from types import ModuleType

import pytest

GRIDS = [(1, 2, 2), (1, 8, 8), (1, 60, 82), (1, 34, 46), (4, 18, 22), (2, 10, 6)]


@pytest.mark.parametrize("grid", GRIDS)
def test_each_patch_is_in_the_window_of_its_place(
    modules: dict[str, ModuleType], grid: tuple[int, int, int]
) -> None:
    frames, rows, columns = grid
    # 112 pixels are 8 patches of 14.
    places = Counter(
        (frame, row // 8, column // 8)
        for frame in range(frames)
        for row in range(rows)
        for column in range(columns)
    )
    assert modules["plans"].window_lengths(grid) == [places[each] for each in sorted(places)]
    assert sum(modules["plans"].frame_lengths(grid)) == places.total()
    assert modules["plans"].tokens(grid) * 4 == places.total()


@pytest.mark.parametrize("lengths", [[3], [2, 2], [64, 32, 64, 8], [1, 5, 1]])
def test_slots_hold_each_row_once_and_lead_back_to_it(
    modules: dict[str, ModuleType], lengths: list[int]
) -> None:
    slots = modules["plans"].slots(lengths)
    flat = [row for segment in slots.rows for row in segment]
    assert [flat[place] for place in slots.back] == list(range(sum(lengths)))
    own = [segment[:length] for segment, length in zip(slots.rows, slots.lengths, strict=True)]
    assert [row for part in own for row in part] == list(range(sum(lengths)))
    spare = len(flat) - sum(lengths)
    assert slots.padded == pytest.approx(spare / len(flat))
    for segment, part in zip(slots.rows, own, strict=True):
        assert set(segment) == set(part)  # padding repeats a row of the same segment


def test_calls_are_one_for_each_window_or_frame_in_each_block(
    modules: dict[str, ModuleType],
) -> None:
    # 60 × 82 patches: 8 × 11 windows. Four frames of 18 × 22: 3 × 3 windows each.
    grids = [(1, 60, 82), (4, 18, 22)]
    assert modules["plans"].calls(grids, 32, 4) == 28 * (88 + 36) + 4 * (1 + 4)


def test_operations_of_one_window_by_hand(modules: dict[str, ModuleType]) -> None:
    # 64 patches in one window of one frame; width 2, hidden 3, one block.
    products = 2 * 64 * (2 * 6 + 2 * 2 + 3 * 2 * 3)
    assert modules["plans"].flop([(1, 8, 8)], 2, 3, 1, 0) == products + 2 * 2 * 64 * 64 * 2
    assert modules["plans"].flop([(1, 8, 8)], 2, 3, 1, 1) == products + 2 * 2 * 64 * 64 * 2
