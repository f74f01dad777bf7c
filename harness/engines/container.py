"""Cells as containers of Docker or podman, with no right that the capture does not need."""

import os
from dataclasses import dataclass
from pathlib import Path

from harness.captures.registry import KINDS
from harness.checkout import CHECKOUT
from harness.engines.docker_cli import LABEL, MOST_TASKS, Client, Name, cdi_devices, explained
from harness.engines.engine import Command, Node, OnHost, cell_input
from harness.engines.image import builds
from harness.engines.local import Local, lock_hashes
from harness.engines.options import Options
from harness.errors import ToolError, UsageError
from harness.problem.model import Problem
from harness.problem.plan import Cell

_SOURCE, _PROBLEM, _OUT, _LOCKS = "/work/source", "/work/problem", "/out", "/work/locks"
_NOBODY = 1000  # the image's own user, for a caller who is root
_PERFMON_DRIVER = 565  # CAP_PERFMON is enough from this driver on (ERR_NVGPUCTRPERM page)


@dataclass(frozen=True)
class Mount:
    """A host path inside the container, read only unless it is the output."""

    source: Path
    target: str
    writable: bool = False

    def flag(self) -> str:
        """Return it as ``--mount`` takes it: comma-separated, so quoted where there is a comma."""
        fields = ["type=bind", f"source={self.source}", f"target={self.target}"]
        fields += [] if self.writable else ["readonly"]
        return "--mount=" + ",".join(
            '"' + field.replace('"', '""') + '"' if set(field) & set(',"') else field
            for field in fields
        )


class Container(OnHost):
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
        self._builds = () if options.image else builds(problem.folder, node.target, options)
        # Once: a tag is a hash of files, and all cells of a run have the same image.
        self.image = options.image or [build.tag for build in self._builds][-1]

    def preparation(self, environments: list[str]) -> list[list[str]]:
        """Return the commands that build the missing images, after filling their build contexts."""
        if self._host:
            return self._host.preparation(environments)
        missing = [build for build in self._builds if not self._client.image_digest(build.tag)]
        for build in missing:
            build.stage()
        return [build.argv(self._client) for build in missing]

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

    def command(self, cell: Cell, out: Path, scratch: Path) -> Command:
        """Return the program's process; its container has the name that ``end`` stops it by."""
        overlay = self._overlay(cell.environment)
        env = {
            "HARNESS_CELL": cell_input(cell, self.node.target, _OUT, _LOCKS),
            "PYTHONPATH": ":".join(filter(None, (_SOURCE, overlay))),
            "TORCHINDUCTOR_CACHE_DIR": "/tmp/inductor",  # noqa: S108 - the container's own
            "TRITON_CACHE_DIR": "/tmp/triton",  # noqa: S108
        }
        python = str(self._options.python or "python3")
        argv = KINDS[cell.capture].wrap([python, f"{_PROBLEM}/repro.py"], Path(_OUT), cell.flags)
        name = f"worklogs-{scratch.parent.name}-{cell.id[-90:]}"
        locks = scratch / "locks"
        mounts = [
            Mount(CHECKOUT / "harness", f"{_SOURCE}/harness"),
            Mount(self._problem.folder.resolve(), _PROBLEM),
            Mount(locks, _LOCKS),
        ]
        if self._problem.workloads:
            mounts.append(Mount(self._problem.shared.resolve(), f"{_SOURCE}/workloads"))
        flags = [*self._rights(cell), *self._gpu_flags()]
        return self._command(name, out, flags, mounts, env, argv)

    def afterwards(self, cell: Cell, out: Path) -> list[Command]:
        """Return the profiler's own exports, in containers without a GPU."""
        commands = []
        for number, argv in enumerate(KINDS[cell.capture].after(Path(_OUT))):
            name = f"worklogs-export-{number}-{cell.id[-90:]}"
            commands.append(self._command(name, out, ["--cap-drop=ALL"], [], {}, argv))
        return commands

    def begin(self, command: Command) -> None:
        """Remove the container of that name, if a crash left it."""
        self._client.remove(command.name)

    def end(self, command: Command) -> str:
        """Stop and remove the cell's container; return why it is still there."""
        return self._client.end(command.name)

    def why(self, command: Command, log: str) -> str:  # noqa: ARG002
        """Return the engine's trouble that a failed cell's log shows, with its remedy."""
        return explained(log)

    def provenance(self) -> dict[str, object]:
        """Return the engine, the image by digest, its locks and what its containers may do."""
        packages = "a folder of wheels" if self._options.wheels else "the configured index"
        return {
            "engine": self._client.name,
            "version": self._client.version(),
            "where": "in container",
            "python": "the host's, mounted" if self._host else "the image's",
            "packages_from": packages,
            "image": self.image,
            "image_digest": self._client.image_digest(self.image),
            "capabilities": [f"CAP_{name} for ncu" for name in self._counter_rights()],
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
        """Return the program's call for a container with no rights beyond those in ``flags``."""
        mounts = [*mounts, Mount(out, _OUT, writable=True), *self._host_mounts()]
        home = {"HOME": "/tmp", "TMPDIR": "/tmp", "USER": "worklogs", "PYTHONUNBUFFERED": "1"}  # noqa: S108
        if self._host:  # its programs are the host's, so they are found as there
            inherited = ("PATH", "LD_LIBRARY_PATH")
            home |= {key: os.environ[key] for key in inherited if key in os.environ}
        memory = self.node.target.memory_bytes // 10 * 9
        caller, group = _caller()
        # A container that root starts would run as root, so it takes the image's own user.
        uid, gid = (caller, group) if caller else (_NOBODY, _NOBODY)
        rootless = self._client.name == "podman" and caller
        call = [
            *(self._client.program, "run", "--rm", "--init", "--pull=never", f"--name={name}"),
            *(f"--label={LABEL}={os.getpid()}", "--network=none", "--read-only"),
            *(f"--user={uid}:{gid}", *(["--userns=keep-id"] if rootless else [])),
            f"--tmpfs=/tmp:rw,exec,nosuid,nodev,mode=1777,size={memory}",
            *("--security-opt=no-new-privileges", f"--pids-limit={MOST_TASKS}"),
            *(f"--memory={memory}", "--shm-size=1g", "--ulimit=core=0"),
            *(*self._client.limits(), "--stop-timeout=5"),
            *flags,
            *(mount.flag() for mount in mounts),
            *(f"--env={key}={value}" for key, value in {**home, **env}.items()),
            *(f"--workdir={_OUT}", self.image, *argv),
        ]
        # In the output folder, as podman's monitor leaves a file `oom` where it stands.
        return Command(call, {}, out, name, None if caller else _NOBODY)

    def _rights(self, cell: Cell) -> list[str]:
        needed = self._counter_rights() if KINDS[cell.capture].reads_counters else []
        return ["--cap-drop=ALL", *(f"--cap-add={name}" for name in needed)]

    def _counter_rights(self) -> list[str]:
        """Return the capabilities that hardware counters need under this driver's settings."""
        if not self.node.target.counters_restricted or self.node.target.gpu is None:
            return []
        driver = int(self.node.target.gpu.driver.split(".")[0])
        return ["PERFMON"] if driver >= _PERFMON_DRIVER else ["SYS_ADMIN"]

    def _gpu_flags(self) -> list[str]:
        gpu = self.node.target.gpu
        if gpu is None:
            return []
        if self._client.name == "docker":
            return [f"--gpus=device={gpu.uuid}"]
        names = cdi_devices()
        name = next((name for name in (gpu.uuid, str(gpu.index)) if name in names), "all")
        chosen = [f"--env=CUDA_VISIBLE_DEVICES={gpu.uuid}"] if name == "all" else []
        return [f"--device=nvidia.com/gpu={name}", *chosen]

    def _host_mounts(self) -> list[Mount]:
        """Return the caller's mounts and, for the host's interpreter, its overlays."""
        folders = [*self._options.mounts, *([self._host.store] if self._host else [])]
        # Mounted under the caller's name for it, which PATH may hold, even if that is a link.
        return [Mount(path.resolve(), str(path.absolute())) for path in dict.fromkeys(folders)]

    def _overlay(self, environment: str) -> str:
        if self._problem.environments[environment].lock is None:
            return ""
        if self._host:
            return str(self._host.overlay(environment))
        lock = Path(str(self._problem.environments[environment].lock))
        return f"/opt/envs/{lock.stem}"


def _caller() -> tuple[int, int]:
    return os.getuid(), os.getgid()


class Docker(Container):
    """Containers of Docker."""

    def __init__(self, problem: Problem, node: Node, options: Options) -> None:
        super().__init__(problem, node, options, "docker")


class Podman(Container):
    """Containers of podman, with or without root."""

    def __init__(self, problem: Problem, node: Node, options: Options) -> None:
        super().__init__(problem, node, options, "podman")
