"""The ring of stages as a model: blocks, barriers and TMA in an arbitrary order of events.

The walk of producer and consumers is that of kernels/h07_tile_order.cu, or of h08_ping_pong.cu with
ping-pong consumers, barrier by barrier. The model finds deadlocks, phases that run away, and stages
that are overwritten while they are read.
"""

import random
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from itertools import product

Actor = Generator[Callable[[], bool] | None, None, None]
"""Yields what it waits for (or None, to let others go first); ends when the role is done."""


@dataclass
class Barrier:
    """An mbarrier: arrivals and bytes of the current phase, and how many phases are over."""

    arrivals: int
    pending: int = 0
    bytes: int = 0
    over: int = 0

    def __post_init__(self) -> None:
        self.pending = self.arrivals

    def arrive(self, expected: int = 0) -> None:
        """Arrive once, after announcing bytes."""
        assert self.pending > 0, "more arrivals than the phase takes"
        self.bytes += expected
        self.pending -= 1
        self._flip()

    def deliver(self, count: int) -> None:
        """Take bytes off the announced ones; they may come before the announcement."""
        self.bytes -= count
        self._flip()

    def _flip(self) -> None:
        if self.pending == 0 and self.bytes == 0:
            self.pending = self.arrivals
            self.over += 1

    def passed(self, parity: int) -> Callable[[], bool]:
        """Return try_wait on this parity."""
        return lambda: self.over % 2 != parity


@dataclass
class Stage:
    """A place in a block's ring: its barriers, what it holds, who reads it."""

    full: Barrier
    empty: Barrier
    parts: dict[str, tuple[int, int]] = field(default_factory=dict)
    readers: int = 0


@dataclass(frozen=True)
class Setup:
    """A kernel's configuration, and what it is to compute: tiles of a cluster, steps of a tile."""

    stages: int
    consumers: int
    cluster_m: int
    cluster_n: int
    tiles: int
    clusters: int
    steps: int
    ping_pong: bool = False

    @property
    def readers(self) -> int:
        """Consumers of a block that read a stage: all of them, or the one whose tile it is."""
        return 1 if self.ping_pong else self.consumers

    @property
    def size(self) -> int:
        """Blocks in a cluster."""
        return self.cluster_m * self.cluster_n


class Cluster:
    """The blocks of one cluster and the bytes under way between them."""

    def __init__(self, setup: Setup, index: int, chance: random.Random) -> None:
        self.setup, self.index, self.chance = setup, index, chance
        self.rings = [
            [Stage(Barrier(1), Barrier(setup.readers * setup.size)) for _ in range(setup.stages)]
            for _ in range(setup.size)
        ]
        self.turns = [[Barrier(1) for _ in range(setup.consumers)] for _ in range(setup.size)]
        self.under_way: list[Callable[[], None]] = []
        self.computed: list[tuple[int, int, int]] = []

    def load(self, stage: int, part: str, blocks: list[int], what: tuple[int, int]) -> None:
        """Start a TMA load of a part into a stage of some blocks; it lands some time later."""

        def land(block: int) -> None:
            place = self.rings[block][stage]
            assert place.readers == 0, "a stage is overwritten while it is read"
            place.parts[part] = what
            place.full.deliver(1)

        self.under_way += [lambda block=block: land(block) for block in blocks]  # type: ignore[misc]

    def parts(self, rank: int) -> list[tuple[str, list[int]]]:
        """Return what this block loads in a step, and which blocks get it."""
        everyone = list(range(self.setup.size))
        a = [(f"a{rank}", everyone)] if self.setup.cluster_n > 1 else [("a", [rank])]
        b = [(f"b{rank}", everyone)] if self.setup.cluster_m > 1 else [("b", [rank])]
        return a + b

    def wanted(self) -> set[str]:
        """Return the parts that make a stage complete."""
        ranks = range(self.setup.size)
        a = {f"a{rank}" for rank in ranks} if self.setup.cluster_n > 1 else {"a"}
        b = {f"b{rank}" for rank in ranks} if self.setup.cluster_m > 1 else {"b"}
        return a | b

    def tiles(self) -> range:
        """Return the tiles that this cluster walks."""
        return range(self.index, self.setup.tiles, self.setup.clusters)

    def producer(self, rank: int) -> Actor:
        """Walk as the producer of one block."""
        stage = phase = 0
        for tile in self.tiles():
            for step in range(self.setup.steps):
                place = self.rings[rank][stage]
                yield place.empty.passed(phase ^ 1)
                place.full.arrive(len(self.wanted()))
                for part, blocks in self.parts(rank):
                    self.load(stage, part, blocks, (tile, step))
                    yield None
                stage += 1
                if stage == self.setup.stages:
                    stage, phase = 0, phase ^ 1

    def release(self, stage: int, rank: int) -> None:
        """Say to every block of the cluster that this consumer no longer reads the stage."""
        self.rings[rank][stage].readers -= 1
        for ring in self.rings:
            ring[stage].empty.arrive()

    def pass_over(self, stage: int, phase: int) -> tuple[int, int]:
        """Return where in the ring a consumer is after the other's tile."""
        laps, rest = divmod(self.setup.steps, self.setup.stages)
        stage, phase = stage + rest, phase ^ laps & 1
        return (
            (stage, phase) if stage < self.setup.stages else (stage - self.setup.stages, phase ^ 1)
        )

    def my_turn(self, rank: int, which: int, others: int) -> Callable[[], bool]:
        """Return what a consumer waits for before a tile: the other to have begun its own."""
        return self.turns[rank][which].passed(others)

    def consumer(self, rank: int, which: int) -> Actor:
        """Walk as one consumer of one block."""
        stage = phase = previous = 0
        ping_pong, others = self.setup.ping_pong, which ^ 1
        if ping_pong and which > 0:
            stage, phase = self.pass_over(stage, phase)
        for tile in self.tiles()[which :: self.setup.consumers] if ping_pong else self.tiles():
            if ping_pong:
                yield self.my_turn(rank, which, others)
                others ^= 1
            for step in range(self.setup.steps):
                place = self.rings[rank][stage]
                yield place.full.passed(phase)
                assert place.parts == dict.fromkeys(self.wanted(), (tile, step)), "wrong operands"
                place.readers += 1
                yield None
                if step > 0:
                    self.release(previous, rank)
                previous = stage
                stage += 1
                if stage == self.setup.stages:
                    stage, phase = 0, phase ^ 1
            if ping_pong:
                self.turns[rank][which ^ 1].arrive()
                stage, phase = self.pass_over(stage, phase)
            yield None
            self.release(previous, rank)
            self.computed.append((rank, tile, self.setup.steps))
            yield None


def run(setup: Setup, index: int, seed: int) -> list[tuple[int, int, int]]:
    """Let a cluster run with events in a random order; return what it computed.

    Fails on a deadlock, on operands of another step, and where a stage is written while read.
    """
    chance = random.Random(seed)
    cluster = Cluster(setup, index, chance)
    actors = [cluster.producer(rank) for rank in range(setup.size)]
    roles = product(range(setup.size), range(setup.consumers))
    actors += [cluster.consumer(rank, which) for rank, which in roles]
    waits: dict[Actor, Callable[[], bool] | None] = dict.fromkeys(actors)
    while waits:
        ready = [actor for actor, wait in waits.items() if wait is None or wait()]
        landing = len(cluster.under_way)
        assert ready or landing, "deadlock"
        if landing and (not ready or chance.random() < 0.5):
            cluster.under_way.pop(chance.randrange(landing))()
            continue
        actor = chance.choice(ready)
        try:
            waits[actor] = next(actor)
        except StopIteration:
            del waits[actor]
    assert not cluster.under_way, "a block may leave before all its bytes have landed"
    return cluster.computed
