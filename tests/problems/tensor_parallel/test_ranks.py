"""What rank 0 tells rank 1 arrives once, in order, however far either of them is ahead."""

import json
import os
import threading
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest


@pytest.fixture
def ranks(modules: dict[str, ModuleType]) -> ModuleType:
    return modules["ranks"]


@pytest.fixture
def descriptor(ranks: ModuleType) -> Iterator[int]:
    number = os.memfd_create("ring")
    os.ftruncate(number, ranks.Ring.size())
    yield number
    os.close(number)


def test_messages_come_in_order_when_there_are_more_than_the_ring_holds(
    ranks: ModuleType, descriptor: int
) -> None:
    got: list[Any] = []

    def listen() -> None:
        got.extend(ranks.messages(descriptor))

    listener = threading.Thread(target=listen)
    listener.start()
    writer = ranks.Ring(descriptor)
    sent = [["step", number] for number in range(10_000)]
    for message in [*sent, ["end"]]:
        while writer.full:
            pass
        writer.write(json.dumps(message).encode())
    listener.join(timeout=60)
    assert got == sent
    assert writer.done == writer.told == len(sent) + 1


def test_a_message_counts_as_done_only_after_it_was_handled(
    ranks: ModuleType, descriptor: int
) -> None:
    writer = ranks.Ring(descriptor)
    writer.write(b'["load"]')
    writer.write(b'["end"]')
    told = ranks.messages(descriptor)
    assert next(told) == ["load"]
    assert writer.done == 0
    assert list(told) == []
    assert writer.done == 2


def test_a_message_that_does_not_fit_is_refused(ranks: ModuleType, descriptor: int) -> None:
    with pytest.raises(ranks.RankError, match="65 bytes, of at most 64"):
        ranks.Ring(descriptor).write(b"x" * 65)


def test_rank_1_notices_that_rank_0_is_gone(
    ranks: ModuleType, descriptor: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranks, "_SPIN_S", 0)
    told = ranks.messages(descriptor)
    parents = iter([1234, 1])
    monkeypatch.setattr(os, "getppid", lambda: next(parents))
    with pytest.raises(ranks.RankError, match="rank 0 has ended"):
        next(told)
