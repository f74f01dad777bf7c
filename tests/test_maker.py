"""Whether the maker of something has ended."""

import os
import subprocess

import pytest

from harness.ground import maker


def test_a_process_knows_itself() -> None:
    assert not maker.has_ended(maker.name())
    assert maker.start(os.getpid()) > 0


def test_a_process_that_ended_has_ended_even_before_its_parent_asks() -> None:
    machine, _, _ = maker.name().split("-")
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as child:
        name = f"{machine}-{child.pid}-{maker.start(child.pid)}"
        assert not maker.has_ended(name)
        assert child.stdin
        child.stdin.close()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert maker.has_ended(name)


def test_another_process_of_the_same_number_is_not_the_maker() -> None:
    machine, number, start = maker.name().split("-")
    assert maker.has_ended(f"{machine}-{number}-{int(start) + 1}")


@pytest.mark.parametrize("name", ["", "x", "00000000-1-1", "00000000-99999999-1"])
def test_of_another_machine_nothing_is_known(name: str) -> None:
    assert not maker.has_ended(name)
