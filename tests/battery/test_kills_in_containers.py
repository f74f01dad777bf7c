"""Harnesses of containers ended at any time, then resumed: no container is left, no cell lost."""

import contextlib
import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.engines.docker_cli import Client, Name
from harness.ground.errors import ToolError
from tests.support.battery import Figures, rounds, seeded
from tests.support.container_houses import ContainerHouse
from tests.support.houses import ENDINGS, goes_on
from tests.support.nursery import Nursery
from tests.support.real_engines import client_of

SEED = seeded(21)
ROUNDS: dict[Name, int] = {"docker": 12, "podman": 4}


@pytest.fixture(scope="module", params=["docker", "podman"])
def client(request: pytest.FixtureRequest) -> Client:
    return client_of(request.param)


@pytest.fixture
def nursery() -> Iterator[Nursery]:
    with Nursery() as nursery:
        yield nursery


ATTACKS = ("signal", "wardens", "client", "signal", "container", "signal")
"""In turn: a signal to the harness, or a kill of what its cell runs by."""


def strike(attack: str, house: ContainerHouse, chance: random.Random, pid: int) -> None:
    """Strike a harness by its process number, or what it started."""
    if attack == "signal":
        number = chance.choice((*ENDINGS, signal.SIGKILL, signal.SIGKILL))
        (os.killpg if chance.random() < 0.5 else os.kill)(pid, number)
    elif attack == "client":
        for client in house.clients(house.client.name.encode()):
            os.kill(client, signal.SIGKILL)
    elif attack == "container":
        for container in house.containers():
            with contextlib.suppress(ToolError):
                house.client.ask("kill", container)
    else:  # with the harness dies every warden: nobody is left to remove the container
        os.kill(pid, signal.SIGSTOP)
        for process in (*house.clients(b"python"), pid):
            os.kill(process, signal.SIGKILL)


def test_killed_at_any_time(
    tmp_path: Path, nursery: Nursery, client: Client, figures: Figures
) -> None:
    chance = random.Random(SEED)
    whole = ContainerHouse(tmp_path / "whole", nursery, client)
    start = time.monotonic()
    assert whole.run() == 0, whole.errors
    took = time.monotonic() - start
    expected: dict[str, Any] = whole.tree()
    struck = 0
    for number in range(rounds(ROUNDS[client.name])):
        attack = ATTACKS[(SEED + number) % len(ATTACKS)]
        house = ContainerHouse(tmp_path / str(number), nursery, client)
        pid = house.start()
        time.sleep(chance.uniform(0.1, 0.9 * took))
        with contextlib.suppress(ProcessLookupError):  # it ended before
            strike(attack, house, chance, pid)
        code = house.wait()
        allowed = {0, 4} if attack in ("client", "container") else {0, 130, *range(-15, 0)}
        assert code in allowed, (attack, code, house.errors)
        assert "Traceback" not in house.errors, house.errors
        struck += code != 0
        goes_on(house, expected, quiet=attack != "wardens")
    figures(attacked=rounds(ROUNDS[client.name]), struck=struck)
