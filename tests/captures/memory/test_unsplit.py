"""Blocks as torch's allocator hands them out, by hand: a remainder is split off or not."""

from harness.captures.memory.unsplit import handed_out

KIB, MIB = 1 << 10, 1 << 20
START = 1 << 30


def sizes(*events: tuple[str, int, int]) -> list[int]:
    history = [(action, START + address, size) for action, address, size in events]
    signs = {"alloc": 1, "free_completed": -1}
    return handed_out(history, [signs.get(action, 0) * size for action, _, size in history])


def test_a_large_block_keeps_a_rest_of_at_most_1_mib() -> None:
    assert sizes(
        ("segment_alloc", 0, 20 * MIB),
        ("alloc", 0, 17 * MIB),  # 3 MiB are left, and split off
        ("alloc", 17 * MIB, 2 * MIB),  # 1 MiB is left, and stays
        ("free_completed", 17 * MIB, 2 * MIB),
        ("alloc", 17 * MIB, 2 * MIB - 512),  # more than 1 MiB is left
        ("alloc", 19 * MIB - 512, MIB),
    ) == [0, 17 * MIB, 3 * MIB, -3 * MIB, 2 * MIB - 512, MIB + 512]


def test_a_small_segment_is_split_to_the_last_512_bytes() -> None:
    assert sizes(
        ("segment_alloc", 0, 2 * MIB), ("alloc", 0, 2 * MIB - 512), ("alloc", 2 * MIB - 512, 512)
    ) == [0, 2 * MIB - 512, 512]


def test_free_blocks_that_touch_are_one_and_those_of_another_segment_are_not() -> None:
    assert (
        sizes(
            ("segment_alloc", 0, 20 * MIB),
            ("segment_alloc", 20 * MIB, 20 * MIB),
            ("alloc", 0, 10 * MIB),
            ("alloc", 10 * MIB, 8 * MIB),
            ("free_completed", 0, 10 * MIB),
            ("free_completed", 10 * MIB, 8 * MIB),
            ("alloc", 0, 19 * MIB),  # 1 MiB is left of its segment
        )[-1]
        == 20 * MIB
    )


def test_what_is_not_known_counts_as_asked_for() -> None:
    stood_before = sizes(("alloc", 0, 19 * MIB), ("free_completed", 0, 19 * MIB))
    assert stood_before == [19 * MIB, -19 * MIB]
    # Another allocator splits otherwise: from there on nothing is known of its segment.
    assert (
        sizes(
            ("segment_alloc", 0, 20 * MIB),
            ("alloc", 0, 19 * MIB + 512),
            ("alloc", 19 * MIB + 512, 512),
        )[-1]
        == 512
    )
