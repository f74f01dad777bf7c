"""Every interleaving of both ranks: no read finds another epoch's data, and nobody waits for ever.

The programs below are the kernels' steps, a list a thread, over two epochs more than an inbox has
slots. A store to the other GPU travels, and arrives at any later time and in any order; a release
arrives after all that its rank sent before it. At a join all threads of a rank wait for each other,
as at a barrier of a block or at the end of a launch.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest

SLOTS, EPOCHS = 2, 4
Place = tuple[object, ...]


class Step(NamedTuple):
    """A thread's step: send, release, wait (a flag), expect (a packed word), read or join."""

    kind: str
    place: Place = ()
    value: tuple[int, ...] = ()
    order: int = 0


class Store(NamedTuple):
    """What travels to a rank; ``order`` tells what its sender sent before."""

    target: int
    step: Step


Program = list[list[Step]]
Memory = tuple[tuple[Place, tuple[int, ...]], ...]


class State(NamedTuple):
    """How far each thread is, what travels, and what each rank's memory holds."""

    places: tuple[tuple[int, ...], tuple[int, ...]]
    travelling: frozenset[Store]
    memories: tuple[Memory, Memory]


class WrongError(Exception):
    """An interleaving in which a read finds the wrong data, or nobody can go on."""


JOIN = Step("join")


def one_shot(rank: int, slots: int, release: str) -> Program:
    """one_shot.cu: two threads with a word each, of which the first signals and waits."""
    threads: Program = [[], []]
    for epoch in range(1, EPOCHS + 1):
        for word, thread in enumerate(threads):
            place = (epoch % slots, word)
            thread += [Step("send", place, (rank, epoch), 10 * epoch), JOIN]
            if word == 0:
                thread += [Step(release, ("flag",), (epoch,), 10 * epoch + 1)]
                thread += [Step("wait", ("flag",), (epoch,))]
            thread += [JOIN, Step("read", place, (1 - rank, epoch)), JOIN]
    return threads


def two_shot(rank: int, halves: int, release: str) -> Program:
    """two_shot.cu: a thread with a word of each half, so that its order stands for the barriers."""
    thread: list[Step] = []
    for epoch in range(1, EPOCHS + 1):
        for shot in (0, 1):
            place, order = ("word", shot % halves), 10 * epoch + 2 * shot
            thread += [
                Step("send", place, (rank, epoch), order),
                Step(release, ("flag", shot), (epoch,), order + 1),
                Step("wait", ("flag", shot), (epoch,)),
                Step("read", place, (1 - rank, epoch)),
            ]
    return [thread]


def packed(rank: int, slots: int, _release: str) -> Program:
    """packed.cu and add_norm.cu: two threads with a word each, in which the epoch comes along."""
    threads: Program = [[], []]
    for epoch in range(1, EPOCHS + 1):
        for word, thread in enumerate(threads):
            place = (epoch % slots, word)
            thread += [Step("send", place, (rank, epoch)), Step("expect", place, (epoch,))]
            thread += [Step("read", place, (1 - rank, epoch)), JOIN]
    return threads


def explore(protocol: Callable[..., Program], slots: int = SLOTS, release: str = "release") -> int:
    """Walk all states that both ranks can reach; return how many. WrongError if one is wrong."""
    programs = [protocol(rank, slots, release) for rank in (0, 1)]
    none = tuple(0 for _ in programs[0])
    start = State((none, none), frozenset(), ((), ()))
    seen, left = {start}, [start]
    while left:
        state = left.pop()
        following = set(arrivals(state)) | set(moves(programs, state))
        if not following and not ended(programs, state):
            raise WrongError(f"all wait, at {state.places}")
        left += following - seen
        seen |= following
    return len(seen)


def ended(programs: list[Program], state: State) -> bool:
    return all(
        at == len(thread)
        for program, places in zip(programs, state.places, strict=True)
        for thread, at in zip(program, places, strict=True)
    )


def arrivals(state: State) -> Iterator[State]:
    for store in state.travelling:
        target, step = store
        before = [one for one in state.travelling if one.target == target]
        if step.kind == "release" and any(one.step.order < step.order for one in before):
            continue
        memories = list(state.memories)
        memories[target] = tuple(
            sorted((dict(memories[target]) | {step.place: step.value}).items(), key=repr)
        )
        yield state._replace(
            travelling=state.travelling - {store}, memories=(memories[0], memories[1])
        )


def moves(programs: list[Program], state: State) -> Iterator[State]:
    for rank, program in enumerate(programs):
        for number, thread in enumerate(program):
            at = state.places[rank][number]
            if at == len(thread) or not ready(thread[at], rank, program, state, at):
                continue
            step, places = thread[at], list(state.places)
            places[rank] = tuple(p + (n == number) for n, p in enumerate(places[rank]))
            sent = {Store(1 - rank, step)} if step.kind in ("send", "release", "relaxed") else set()
            yield state._replace(places=(places[0], places[1]), travelling=state.travelling | sent)


def ready(step: Step, rank: int, program: Program, state: State, at: int) -> bool:
    """Return whether a thread can take its step; WrongError if it reads the wrong data."""
    found = dict(state.memories[rank]).get(step.place, (0, 0))
    if step.kind == "wait":
        return found[0] >= step.value[0]
    if step.kind == "expect":
        return found[-1] == step.value[0]
    if step.kind == "read" and found != step.value:
        raise WrongError(f"rank {rank} finds {found} instead of {step.value}")
    if step.kind == "join":
        places = state.places[rank]
        mine = next(t for t, p in zip(program, places, strict=True) if p == at and t[p] is step)
        number = joins(mine, at)
        return all(
            joins(other, p) > number
            or (p < len(other) and other[p] == JOIN and joins(other, p) == number)
            for other, p in zip(program, places, strict=True)
        )
    return True


def joins(thread: list[Step], end: int) -> int:
    return sum(step == JOIN for step in thread[:end])


@pytest.mark.parametrize("protocol", [one_shot, two_shot, packed])
def test_two_slots_or_halves_need_no_barrier_at_the_end(protocol: Callable[..., Program]) -> None:
    assert explore(protocol) > 500


@pytest.mark.parametrize("protocol", [one_shot, two_shot, packed])
def test_what_one_slot_or_half_holds_would_be_overwritten(
    protocol: Callable[..., Program],
) -> None:
    with pytest.raises(WrongError):
        explore(protocol, slots=1)


@pytest.mark.parametrize("protocol", [one_shot, two_shot])
def test_a_flag_without_release_would_overtake_the_data(protocol: Callable[..., Program]) -> None:
    with pytest.raises(WrongError, match="instead of"):
        explore(protocol, release="relaxed")
