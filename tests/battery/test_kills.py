"""Harnesses ended at any point, then resumed: the uninterrupted tree, and nothing left behind."""

import contextlib
import os
import random
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.battery import Figures, rounds
from tests.support.houses import ENDINGS, House, goes_on, soon
from tests.support.nursery import Fault, Nursery

SEED = 20
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


def test_killed_at_each_change(site: Site, figures: Figures) -> None:
    chance = random.Random(SEED)
    changes = site.whole["changes"]
    points = range(1, changes + 1)
    for at in chance.sample(points, min(changes, rounds(changes))):
        house = site.house(chance)
        fault = Fault(at, number=signal.SIGKILL, group=chance.random() < 0.2)
        site.ended(house, house.run(fault), {-signal.SIGKILL, 0})
    figures(points=changes, killed=site.struck, gone_on=site.count)


@pytest.mark.parametrize("ending", ENDINGS, ids=lambda ending: ending.name)
def test_signalled_at_a_change(site: Site, figures: Figures, ending: signal.Signals) -> None:
    chance = random.Random(SEED + ending)
    for _ in range(rounds(20)):
        house = site.house(chance)
        at = chance.randint(1, site.whole["changes"])
        code = house.run(Fault(at, number=ending, group=chance.random() < 0.5))
        assert code == 0 or house.errors.endswith("harness: interrupted\n"), house.errors
        site.ended(house, code, {130, 0})
    figures(signalled=site.struck, gone_on=site.count)


def test_signalled_at_any_time(site: Site, figures: Figures) -> None:
    chance = random.Random(SEED)
    for _ in range(rounds(60)):
        house = site.house(chance)
        number = chance.choice((*ENDINGS, signal.SIGKILL, signal.SIGKILL))
        pid = house.start()
        time.sleep(chance.uniform(0, 0.5))
        with contextlib.suppress(ProcessLookupError):  # it ended before
            (os.killpg if chance.random() < 0.5 else os.kill)(pid, number)
        site.ended(house, house.wait(), {130, 0, -number})
    figures(signalled=site.struck, gone_on=site.count)


@pytest.mark.parametrize("lasting", [False, True], ids=["once", "from_then_on"])
def test_disk_full_at_a_change(site: Site, figures: Figures, lasting: bool) -> None:
    chance = random.Random(SEED + lasting)
    for _ in range(rounds(20)):
        house = site.house(chance)
        at = chance.randint(1, site.whole["changes"])
        code = house.run(Fault(at, "full", lasting=lasting))
        site.ended(house, code, {0, 1, 2, 4})
    figures(failed=site.struck, gone_on=site.count)


def test_a_program_killed_beneath_the_harness(site: Site, figures: Figures) -> None:
    """The warden, the cell, or what the cell started: whichever of them is met first."""
    chance = random.Random(SEED)
    for _ in range(rounds(25)):
        house = site.house(chance)
        house.start()
        soon(house.processes, house.processes)
        with contextlib.suppress(ProcessLookupError, IndexError):  # they ended before
            os.kill(int(chance.choice(house.processes()).split()[0]), signal.SIGKILL)
        site.ended(house, house.wait(), {0, 4})
    figures(failed=site.struck, gone_on=site.count)


def test_the_runs_folder_removed(site: Site, figures: Figures) -> None:
    chance = random.Random(SEED)
    for _ in range(rounds(12)):
        house = site.house(chance)
        house.start()
        soon(house.runs, house.runs)
        time.sleep(chance.uniform(0, 0.15))
        shutil.rmtree(house.folder / "runs", ignore_errors=True)
        code = house.wait()
        shutil.rmtree(house.folder / "runs", ignore_errors=True)
        site.ended(house, code, {0, 1, 2, 4})
    figures(failed=site.struck, gone_on=site.count)


def test_killed_after_the_clock_was_set_back(site: Site, figures: Figures) -> None:
    chance = random.Random(SEED)
    for _ in range(rounds(12)):
        house = site.house(chance)
        assert house.run(Fault(chance.randint(1, site.whole["changes"]), "clock")) == 0
        for run in house.runs():
            shutil.rmtree(chance.choice(sorted((run.folder / "cells").iterdir())))
        site.ended(house, 0, {0})
    figures(gone_on=site.count)
