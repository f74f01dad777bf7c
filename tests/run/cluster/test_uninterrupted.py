"""A submission is not cut in two by Ctrl-C: jobs would wait for what nobody writes any more."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.ground import checkout
from harness.ground.endings import uninterrupted
from harness.problem.plan import Selected
from harness.run.cluster import session, slurm
from harness.run.cluster.profile import Profile, Slurm
from harness.run.session import Request
from tests.support.manifests import GOOD, written

BLOCKED = "import signal; print(*map(int, signal.pthread_sigmask(signal.SIG_BLOCK, [])))"


def blocked() -> set[int]:
    return {int(number) for number in signal.pthread_sigmask(signal.SIG_BLOCK, [])}


@pytest.fixture(autouse=True)
def interruptible() -> Iterator[None]:
    """Let Ctrl-C raise, which a shell without job control turns off for what it runs behind."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_a_signal_takes_effect_when_the_block_has_ended() -> None:
    done, before, mask = [], signal.getsignal(signal.SIGINT), blocked()
    with pytest.raises(KeyboardInterrupt), uninterrupted():
        os.kill(os.getpid(), signal.SIGINT)
        done.append("submitted")
    assert done == ["submitted"]
    assert signal.getsignal(signal.SIGINT) is before
    assert blocked() == mask


def test_a_signal_that_another_thread_takes_waits_as_well() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), uninterrupted():
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])  # as threads before it have it
        os.kill(os.getpid(), signal.SIGINT)
        done.append("submitted")
    assert done == ["submitted"]


def test_an_error_goes_through_and_ctrl_c_comes_before_it() -> None:
    with pytest.raises(ValueError, match="refused"), uninterrupted():
        raise ValueError("refused")
    with pytest.raises(KeyboardInterrupt), uninterrupted():
        os.kill(os.getpid(), signal.SIGINT)
        raise ValueError("refused")


def test_programs_of_the_block_do_not_get_the_signal() -> None:
    with uninterrupted():
        told = subprocess.run([sys.executable, "-c", BLOCKED], capture_output=True, text=True)
    assert str(int(signal.SIGINT)) in told.stdout.split()


def test_jobs_that_were_submitted_meanwhile_are_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkout, "CHECKOUT", tmp_path)
    (tmp_path / "problems").mkdir()
    written(tmp_path / "problems", GOOD)
    asked = session.session(Request("9", Selected(rounds=1), "local"), Profile(slurm=Slurm()))
    batch = session.Batch(asked, asked.run())
    written_whole = []

    def submit(*_arguments: Any, **_options: Any) -> list[str]:
        os.kill(os.getpid(), signal.SIGINT)
        written_whole.append(True)
        return ["7"]

    monkeypatch.setattr(slurm, "submit", submit)
    with pytest.raises(KeyboardInterrupt):
        batch.submit()
    assert written_whole == [True]
    assert len(batch.followed) == 1
