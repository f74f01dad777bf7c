"""Harnesses ended at any point, then resumed: the uninterrupted tree, and nothing left behind."""

import contextlib
import os
import random
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.battery import Figures, rounds, seeded
from tests.support.houses import ENDINGS, House, goes_on, soon
from tests.support.nursery import Fault, Nursery

SEED = seeded(20)
LOCAL = ("--engine", "local", "--python", "/bin/sh")
ONE_BY_ONE, TOGETHER = (*LOCAL, "--jobs", "1"), (*LOCAL, "--jobs", "2")


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    with Nursery() as nursery:
        yield nursery


@pytest.fixture(scope="module")
def whole(nursery: Nursery, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The tree of an uninterrupted run, and how often its harness changed something."""
    house = House(tmp_path_factory.mktemp("whole") / "house", nursery, ONE_BY_ONE)
    assert house.run() == 0, house.errors
    return {"tree": house.tree(), "changes": house.changes}


class Site:
    """Builds a house for each attack and counts them."""

    def __init__(self, folder: Path, nursery: Nursery, whole: dict[str, Any]) -> None:
        self._folder, self._nursery, self.whole = folder, nursery, whole
        self.count = self.struck = 0

    def house(self, chance: random.Random) -> House:
        self.count += 1
        options = chance.choice((ONE_BY_ONE, TOGETHER))
        return House(self._folder / str(self.count), self._nursery, options)

    def ended(self, house: House, code: int, allowed: set[int]) -> None:
        """Judge how an attacked harness ended, and that its run goes on."""
        assert code in allowed, (code, house.errors)
        assert "Traceback" not in house.errors, house.errors
        self.struck += code != 0
        goes_on(house, self.whole["tree"])
        house.remove()


@pytest.fixture
def site(tmp_path: Path, nursery: Nursery, whole: dict[str, Any]) -> Site:
    return Site(tmp_path, nursery, whole)


Attack = Callable[[House, random.Random], int]
"""Ends the harness of a house, and returns its exit code."""


def attacked(site: Site, seed: int, times: int, attack: Attack, allowed: set[int]) -> None:
    """Attack so many houses, one after another; each run goes on."""
    chance = random.Random(seed)
    for _ in range(times):
        house = site.house(chance)
        site.ended(house, attack(house, chance), allowed)


def test_killed_at_each_change(site: Site, figures: Figures) -> None:
    changes = site.whole["changes"]
    times = min(changes, rounds(changes))
    points = iter(random.Random(SEED).sample(range(1, changes + 1), times))

    def kill(house: House, chance: random.Random) -> int:
        return house.run(Fault(next(points), number=signal.SIGKILL, group=chance.random() < 0.2))

    attacked(site, SEED, times, kill, {-signal.SIGKILL, 0})
    figures(points=changes, killed=site.struck, gone_on=site.count)


@pytest.mark.parametrize("ending", ENDINGS, ids=lambda ending: ending.name)
def test_signalled_at_a_change(site: Site, figures: Figures, ending: signal.Signals) -> None:
    def interrupt(house: House, chance: random.Random) -> int:
        at = chance.randint(1, site.whole["changes"])
        code = house.run(Fault(at, number=ending, group=chance.random() < 0.5))
        assert code == 0 or house.errors.endswith("harness: interrupted\n"), house.errors
        return code

    attacked(site, SEED + ending, rounds(20), interrupt, {130, 0})
    figures(signalled=site.struck, gone_on=site.count)


def test_signalled_at_any_time(site: Site, figures: Figures) -> None:
    def interrupt(house: House, chance: random.Random) -> int:
        number = chance.choice((*ENDINGS, signal.SIGKILL, signal.SIGKILL))
        pid = house.start()
        time.sleep(chance.uniform(0, 0.5))
        with contextlib.suppress(ProcessLookupError):  # it ended before
            (os.killpg if chance.random() < 0.5 else os.kill)(pid, number)
        code = house.wait()
        assert code in (130, 0, -number), (code, number)
        return code

    ended = {-number for number in (*ENDINGS, signal.SIGKILL)}
    attacked(site, SEED, rounds(60), interrupt, {130, 0, *ended})
    figures(signalled=site.struck, gone_on=site.count)


@pytest.mark.parametrize("lasting", [False, True], ids=["once", "from_then_on"])
def test_disk_full_at_a_change(site: Site, figures: Figures, lasting: bool) -> None:
    def fill(house: House, chance: random.Random) -> int:
        at = chance.randint(1, site.whole["changes"])
        return house.run(Fault(at, "full", lasting=lasting))

    attacked(site, SEED + lasting, rounds(20), fill, {0, 1, 2, 4})
    figures(failed=site.struck, gone_on=site.count)


def test_a_program_killed_beneath_the_harness(site: Site, figures: Figures) -> None:
    """The warden, the cell, or what the cell started: whichever of them is met first."""

    def kill(house: House, chance: random.Random) -> int:
        house.start()
        soon(house.processes, house.processes)
        with contextlib.suppress(ProcessLookupError, IndexError):  # they ended before
            os.kill(int(chance.choice(house.processes()).split()[0]), signal.SIGKILL)
        return house.wait()

    attacked(site, SEED, rounds(25), kill, {0, 4})
    figures(failed=site.struck, gone_on=site.count)


def test_the_runs_folder_removed(site: Site, figures: Figures) -> None:
    def remove(house: House, chance: random.Random) -> int:
        house.start()
        soon(house.runs, house.runs)
        time.sleep(chance.uniform(0, 0.15))
        shutil.rmtree(house.folder / "runs", ignore_errors=True)
        code = house.wait()
        shutil.rmtree(house.folder / "runs", ignore_errors=True)
        return code

    attacked(site, SEED, rounds(12), remove, {0, 1, 2, 4})
    figures(failed=site.struck, gone_on=site.count)


def test_killed_after_the_clock_was_set_back(site: Site, figures: Figures) -> None:
    def set_back(house: House, chance: random.Random) -> int:
        code = house.run(Fault(chance.randint(1, site.whole["changes"]), "clock"))
        for run in house.runs():
            shutil.rmtree(chance.choice(sorted((run.folder / "cells").iterdir())))
        return code

    attacked(site, SEED, rounds(12), set_back, {0})
    figures(gone_on=site.count)
