"""Houses whose cells are containers of Docker or podman."""

import contextlib
import os
from pathlib import Path

from harness.engines.container import place
from harness.engines.docker_cli import RUN_LABEL, Client
from tests.support.houses import House, soon
from tests.support.nursery import Nursery


class ContainerHouse(House):
    """A house whose cells are containers."""

    def __init__(self, folder: Path, nursery: Nursery, client: Client) -> None:
        image = os.environ["WORKLOGS_TEST_BASE"]
        options = ("--engine", client.name, "--image", image, "--python", "/bin/sh", "--jobs", "1")
        super().__init__(folder, nursery, options)
        self.client = client

    def containers(self) -> list[str]:
        """Return the containers of the house's runs."""
        filters = [f"--filter=label={RUN_LABEL}={place(run.folder)}" for run in self.runs()]
        asked = (self.client.ask("ps", "--all", only, "--format={{.Names}}") for only in filters)
        return [name for names in asked for name in names.split()]

    def is_quiet(self) -> None:
        super().is_quiet()
        soon(lambda: not self.containers(), self.containers)

    def clients(self, program: bytes) -> list[int]:
        """Return the processes of the house that run this program."""
        found = []
        for line in self.processes():
            pid = int(line.split()[0])
            with contextlib.suppress(OSError):
                if Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0].endswith(program):
                    found.append(pid)
        return found
