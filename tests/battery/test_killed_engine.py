"""An engine killed under a run: its cells fail in a line each, and a resume ends what it left."""

import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.engines.docker_cli import Client
from tests.support.battery import Figures, rounds, seeded
from tests.support.container_houses import ContainerHouse
from tests.support.houses import goes_on, soon
from tests.support.nursery import Nursery
from tests.support.real_engines import client_of

SEED = seeded(22)
ROUNDS = 3


class Daemon:
    """A Docker daemon beside that of the machine, with images and containers of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.address = f"unix://{folder}/socket"
        self._argv = [
            *(shutil.which("dockerd") or "dockerd", f"--host={self.address}"),
            *("--iptables=false", "--bridge=none", f"--pidfile={folder}/pid"),
            *(f"--data-root={folder}/data", f"--exec-root={folder}/exec"),
        ]
        self._log = (folder / "log.txt").open("ab")

    def start(self) -> None:
        """Start the daemon and wait until it answers.

        It first ends the containers that a killed daemon left, which takes 10 s where they ignore
        TERM, and it gives up while the killed daemon's containerd is still there.
        """
        self._process = self._started()
        soon(self._answers, lambda: (self.folder / "log.txt").read_text()[-2000:], 120)

    def _started(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(self._argv, stdout=self._log, stderr=self._log)

    def _answers(self) -> bool:
        if self._process.poll() is not None:
            self._process = self._started()
        asked = ["docker", f"--host={self.address}", "info"]
        return subprocess.run(asked, capture_output=True).returncode == 0

    def end(self, number: int) -> None:
        self._process.send_signal(number)
        self._process.wait()

    def remove(self) -> None:
        """End the daemon and remove its folder, in which each daemon leaves a mount."""
        self.end(signal.SIGTERM)
        while subprocess.run(["umount", self.folder / "data"], capture_output=True).returncode == 0:
            pass
        self._log.close()
        shutil.rmtree(self.folder)


@pytest.fixture
def daemon(monkeypatch: pytest.MonkeyPatch) -> Iterator[Daemon]:
    """Yield a daemon that answers and has the base image; DOCKER_HOST names it."""
    client_of("docker")
    image = os.environ["WORKLOGS_TEST_BASE"]
    folder = Path(tempfile.mkdtemp(prefix="engine-"))  # a socket's path has to be short
    daemon = Daemon(folder)
    daemon.start()
    with subprocess.Popen(["docker", "save", image], stdout=subprocess.PIPE) as saved:
        load = ["docker", f"--host={daemon.address}", "load"]
        subprocess.run(load, stdin=saved.stdout, check=True, capture_output=True)
    monkeypatch.setenv("DOCKER_HOST", daemon.address)
    yield daemon
    daemon.remove()


def test_killed_in_mid_run(tmp_path: Path, daemon: Daemon, figures: Figures) -> None:
    chance = random.Random(SEED)
    with Nursery() as nursery:
        whole = ContainerHouse(tmp_path / "whole", nursery, Client("docker"))
        start = time.monotonic()
        assert whole.run() == 0, whole.errors
        took = time.monotonic() - start
        expected = whole.tree()
        struck = 0
        for number in range(rounds(ROUNDS)):
            house = ContainerHouse(tmp_path / str(number), nursery, Client("docker"))
            house.start()
            time.sleep(chance.uniform(0.2, 0.8) * took)
            daemon.end(signal.SIGKILL)
            code = house.wait()
            assert code in {0, 1, 4}, (code, house.errors)
            assert "Traceback" not in house.errors, house.errors
            assert code != 1 or "the engine does not answer" in house.errors, house.errors
            daemon.start()
            struck += code != 0
            goes_on(house, expected, quiet=False)
        figures(killed=rounds(ROUNDS), struck=struck)
