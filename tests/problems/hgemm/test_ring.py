"""Neither deadlock nor torn stage, whatever the order of events and the shape of the cluster."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.ring import Barrier, Setup, run

CLUSTERS = [(1, 1), (2, 1), (1, 2)]


@given(
    stages=st.integers(2, 6),
    consumers=st.integers(1, 2),
    cluster=st.sampled_from(CLUSTERS),
    tiles=st.integers(1, 7),
    clusters=st.integers(1, 3),
    steps=st.integers(1, 9),
    seed=st.integers(0, 1 << 30),
)
def test_every_tile_is_multiplied_by_every_consumer(
    stages: int,
    consumers: int,
    cluster: tuple[int, int],
    tiles: int,
    clusters: int,
    steps: int,
    seed: int,
) -> None:
    setup = Setup(stages, consumers, *cluster, tiles, clusters, steps)
    computed = [one for index in range(clusters) for one in run(setup, index, seed)]
    expected = [
        (rank, tile, steps)
        for tile in range(tiles)
        for rank in range(setup.size)
        for _ in range(consumers)
    ]
    assert sorted(computed) == sorted(expected)


@given(
    stages=st.integers(2, 6),
    cluster=st.sampled_from(CLUSTERS),
    tiles=st.integers(1, 9),
    clusters=st.integers(1, 3),
    steps=st.integers(1, 17),
    seed=st.integers(0, 1 << 30),
)
def test_consumers_that_take_turns_multiply_every_tile_once(
    stages: int, cluster: tuple[int, int], tiles: int, clusters: int, steps: int, seed: int
) -> None:
    setup = Setup(stages, 2, *cluster, tiles, clusters, steps, ping_pong=True)
    computed = [one for index in range(clusters) for one in run(setup, index, seed)]
    expected = [(rank, tile, steps) for tile in range(tiles) for rank in range(setup.size)]
    assert sorted(computed) == sorted(expected)


def test_the_model_sees_that_nobody_waits_for_his_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second consumer's first wait would be over at once: it is rounds of the ring ahead."""
    from tests.support import ring

    monkeypatch.setattr(ring.Cluster, "my_turn", lambda *_: lambda: True)
    with pytest.raises(AssertionError):
        for seed in range(200):
            run(Setup(5, 2, 1, 1, 4, 1, 9, ping_pong=True), 0, seed)


def test_the_model_sees_a_barrier_that_counts_only_its_own_block(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The classic mistake with multicast: a stage free here, still read in the peer."""
    from tests.support import ring

    def own_only(self: ring.Cluster, stage: int, rank: int) -> None:
        self.rings[rank][stage].readers -= 1
        for _ in range(self.setup.size):
            self.rings[rank][stage].empty.arrive()

    monkeypatch.setattr(ring.Cluster, "release", own_only)
    setup = Setup(2, 2, 2, 1, 3, 1, 8)
    with pytest.raises(AssertionError):
        for seed in range(200):
            run(setup, 0, seed)


def test_a_fresh_barrier_lets_the_producer_pass() -> None:
    barrier = Barrier(1)
    assert barrier.passed(1)() and not barrier.passed(0)()
