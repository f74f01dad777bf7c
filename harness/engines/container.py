"""Cells as containers of Docker or podman, with no right that the capture does not need."""

import contextlib
import hashlib
import os
import queue
import threading
import time
from abc import ABC, abstractmethod
from pathlib import Path

from harness.engines import inside, rights
from harness.engines.docker_cli import RUN_LABEL, Client, Name, explained
from harness.engines.downloads import Downloads
from harness.engines.engine import Command, Node, OnHost
from harness.engines.image import builds, fetch, missing, pulls, staged
from harness.engines.local import Local, lock_hashes
from harness.engines.options import Options
from harness.engines.rights import Mount
from harness.evidence.kinds import KINDS
from harness.ground import process
from harness.ground.errors import ToolError, UsageError
from harness.problem.model import Problem
from harness.problem.plan import Cell

OUT_OF_MEMORY = "oom"

_EVENTS_S = 10.0
"""Seconds in which Docker answers for its events."""


class Container(OnHost, ABC):
    """Runs each cell in a container of its own; ``name`` is the program that starts it."""

    keeps_caches = False

    def __init__(self, problem: Problem, node: Node, options: Options, name: Name) -> None:
        if options.python and not options.image:
            raise UsageError(
                "--python is an interpreter of the host",
                remedy="name the --image to run it in, and --mount what it needs",
            )
        self._problem = problem
        self.node = node
        self._options = options
        self._client = Client(name)
        self._host = Local(problem, node, options) if options.python else None
        self._builds = () if options.image else builds(problem, node.target, options)
        self._started: dict[str, float] = {}  # containers by name: seconds since the epoch
        # Once: a tag is a hash of files, and all cells of a run have the same image.
        self.image = options.image or [build.tag for build in self._builds][-1]

    def preparation(self, environments: list[str]) -> list[list[str]]:
        """Return the commands that build the missing images, after filling their build contexts."""
        fetched = pulls(self._client, self._problem, environments)
        if self._host:
            return self._host.preparation(environments) + fetched
        return staged(self._client, self._builds) + fetched

    def downloads(self, environments: list[str]) -> Downloads:
        """Return the locks and bases of the images that are missing."""
        host = self._host
        return host.downloads(environments) if host else missing(self._client, self._builds)

    def prepare(self, environments: list[str], log: Path) -> None:
        """Build the images that are missing, or the overlays on the host's interpreter."""
        self._client.version()
        if self._options.image and self._client.image_digest(self._options.image) is None:
            raise ToolError(
                f"{self._client.name} has no image {self._options.image}",
                remedy="pull it, or leave --image out to build the problem's own",
            )
        if self._host:
            self._host.prepare(environments, log)
        for build in self._builds:
            build.make(self._client, log)
        fetch(self._client, self._problem, environments, log)

    def command(self, cell: Cell, out: Path, scratch: Path) -> Command:
        """Return the program's process; its container has the name that ``end`` stops it by."""
        own = self._problem.environments[cell.environment].image
        env = inside.variables(cell, self.node.target, self._overlays(cell.environment))
        python = self._options.python if self._options.python and not own else "python3"
        argv = inside.workload(cell, str(python))
        name = _name("", scratch.parent, cell)
        mounts = inside.mounts(self._problem, scratch)
        flags = [
            _label(scratch.parent),
            *rights.capabilities(cell, self.node.target),
            *rights.gpu_flags(self._client.name, self.node.target.gpus[: cell.gpus]),
        ]
        call = [self.image, *argv]
        if own:  # which may start something else by itself
            flags, call = [*flags, f"--entrypoint={argv[0]}"], [own, *argv[1:]]
        return self._command(name, out, flags, mounts, env, call)

    def afterwards(self, cell: Cell, out: Path) -> list[Command]:
        """Return the profiler's own exports, in containers without a GPU."""
        commands = []
        for number, argv in enumerate(KINDS[cell.capture].after(Path(inside.OUT))):
            name = _name(f"export-{number}-", out.parents[2], cell)  # above cells and the cell
            flags = [_label(out.parents[2]), "--cap-drop=ALL"]
            commands.append(self._command(name, out, flags, [], {}, [self.image, *argv]))
        return commands

    def begin(self, command: Command) -> None:
        """Note when, as the engine is asked for events from then on."""
        self._started[command.name] = time.time()

    def end(self, command: Command) -> str:
        """Stop and remove the cell's container; return why it is still there."""
        return self._client.end(command.name)

    def end_run(self, run: Path) -> None:
        """Remove the containers that carry the run's label."""
        self._client.end_all(place(run))

    def why(self, command: Command, log: str) -> str:
        """Return the engine's trouble that a failed cell's log shows, or why it was killed."""
        kill = explained(log) or self.kill_of(command, self._started[command.name])
        if kill != OUT_OF_MEMORY:
            return f"somebody killed the container: {kill}" if kill.startswith("signal") else kill
        limit = rights.memory_limit(self.node.target) / 2**30
        return f"the container ran out of memory: {limit:.1f} GiB, nine tenths of the machine's"

    @abstractmethod
    def kill_of(self, command: Command, since: float) -> str:
        """Return why the container was killed after ``since``, as :func:`kill_of` does."""

    def provenance(self) -> dict[str, object]:
        """Return the engine, the image by digest, its locks and what its containers may do."""
        counters = rights.counter_rights(self.node.target)
        packages = "a folder of wheels" if self._options.wheels else "the configured index"
        return {
            "engine": self._client.name,
            "version": self._client.version(),
            "where": "in container",
            "python": "the host's, mounted" if self._host else "the image's",
            "packages_from": packages,
            "image": self.image,
            "image_digest": self._client.image_digest(self.image),
            "capabilities": [f"CAP_{name} for ncu" for name in counters],
            "locks": lock_hashes(self._problem),
        }

    def _command(
        self,
        name: str,
        out: Path,
        flags: list[str],
        mounts: list[Mount],
        env: dict[str, str],
        argv: list[str],
    ) -> Command:
        """Return the program's call: image and command, no rights beyond those in ``flags``."""
        env = _home(host=bool(self._host)) | env
        folders = [*self._options.mounts, *([self._host.store] if self._host else [])]
        mounts = [
            *mounts,
            Mount(out, inside.OUT, writable=True),
            *map(Mount.in_place, dict.fromkeys(folders)),
        ]
        call = [
            *(self._client.program, "run", "--rm", "--init", "--pull=never", f"--name={name}"),
            *rights.bounds(self._client, self.node.target),
            *flags,
            *(mount.flag() for mount in mounts),
            *(f"--env={key}={value}" for key, value in env.items()),
            *(f"--env={process.RUN}", f"--workdir={inside.OUT}", *argv),  # RUN: our own value
        ]
        # Above the output folder: podman's monitor leaves a file `oom` where it stands.
        return Command(call, {}, out.parent, name, rights.owner(), self._client.removal(name))

    def _overlays(self, environment: str) -> list[str]:
        """Return the folders of an environment's packages and of the probe's."""
        if self._host:
            folders = (self._host.overlay(environment), self._host.probe_overlay)
            return [str(folder) for folder in folders if folder]
        return inside.overlays(self._problem, environment, self.node.target)


def _name(part: str, run: Path, cell: Cell) -> str:
    """Return the name of a cell's container, which no other run of this machine gives."""
    return f"worklogs-{part}{place(run)}-{cell.id[-90:]}"


def _label(run: Path) -> str:
    return f"--label={RUN_LABEL}={place(run)}"


def place(run: Path) -> str:
    """Return the value of a run's label: a hash of its folder's place."""
    return hashlib.sha256(os.fsencode(run.resolve())).hexdigest()[:12]


def _home(*, host: bool) -> dict[str, str]:
    """Return the variables of every container; ``host``: its programs are the host's."""
    home = {"HOME": "/tmp", "TMPDIR": "/tmp", "USER": "worklogs", "PYTHONUNBUFFERED": "1"}  # noqa: S108
    inherited = ("PATH", "LD_LIBRARY_PATH") if host else ()
    return home | {name: os.environ[name] for name in inherited if name in os.environ}


class Docker(Container):
    """Containers of Docker."""

    def __init__(self, problem: Problem, node: Node, options: Options) -> None:
        super().__init__(problem, node, options, "docker")

    def kill_of(self, command: Command, since: float) -> str:
        """Return the kill that the engine's events since then report, "" without one."""
        address = self._client.address()
        return kill_of(address, command.name, since) if address else ""


class Podman(Container):
    """Containers of podman, with or without root."""

    def __init__(self, problem: Problem, node: Node, options: Options) -> None:
        super().__init__(problem, node, options, "podman")

    def kill_of(self, command: Command, since: float) -> str:  # noqa: ARG002
        """Return "oom" if podman's monitor left its mark of that; other kills leave none."""
        return OUT_OF_MEMORY if (command.cwd / "oom").exists() else ""


def kill_of(address: str, container: str, since: float) -> str:
    """Return why a container was killed after ``since``: "oom", "signal 9", or empty if it was not.

    An ended container is removed with its state, and its log says nothing of a kill: the engine's
    last events do. ``address`` is the engine's, as ``docker context inspect`` prints it; ``since``
    is in seconds since the epoch. Empty also if the engine does not answer within ten seconds.
    """
    answers: queue.SimpleQueue[str] = queue.SimpleQueue()
    # In a thread, as docker-py waits for events without a deadline of its own.
    arguments = (answers, address, container, since)
    threading.Thread(target=_ask_events, args=arguments, daemon=True).start()
    with contextlib.suppress(queue.Empty):
        return answers.get(timeout=_EVENTS_S)
    return ""


def _ask_events(
    answers: "queue.SimpleQueue[str]", address: str, container: str, since: float
) -> None:
    """Put the container's first kill into ``answers``."""
    from docker.errors import DockerException

    import docker

    kills = {"container": container, "event": [OUT_OF_MEMORY, "kill"]}
    reason = ""
    # Suppressed are a refusal, no connection, and an answer that is no event.
    with contextlib.suppress(DockerException, OSError, ValueError, LookupError):
        client = docker.DockerClient(address)
        with contextlib.closing(client):
            # In whole seconds; without an end the engine would send events for ever.
            end = int(time.time()) + 1
            for event in client.events(since=int(since), until=end, filters=kills, decode=True):
                if not reason and event["timeNano"] >= since * 1e9:
                    signal = event["Actor"]["Attributes"].get("signal", "unknown")
                    reason = OUT_OF_MEMORY if event["Action"] == "oom" else f"signal {signal}"
    answers.put(reason)
