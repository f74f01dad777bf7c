"""Cells as processes of this host: one base interpreter with torch, overlays of pinned packages."""

import hashlib
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from harness.engines.downloads import Downloads
from harness.engines.engine import Command, Node, OnHost, cell_input, compile_threads
from harness.engines.options import Options
from harness.evidence.kinds import KINDS
from harness.ground import files, process
from harness.ground.checkout import CHECKOUT, lock
from harness.ground.errors import ToolError
from harness.machine.target import Gpu
from harness.problem.model import Problem
from harness.problem.plan import Cell

_LOCKS = CHECKOUT / "requirements"
PROBE_LOCK = _LOCKS / "probe.lock"
CPU_TORCH = "torch==2.13.0"  # outside the hashes: each index has CPU builds of its own
_INSTALL_DEADLINE_S = 3600
_PIP_INSTALL = ("-m", "pip", "install", "--disable-pip-version-check", "--progress-bar=off")

Commands = Callable[[Path], list[list[str]]]


class Local(OnHost):
    """Runs each cell under ``--python``, or under an interpreter that it builds from the locks."""

    keeps_caches = True

    def __init__(self, problem: Problem, node: Node, options: Options) -> None:
        self._problem = problem
        self.node = node
        self._wheels = options.wheels.resolve() if options.wheels else None
        self._interpreter = options.python
        self.store = CHECKOUT / ".envs"

    def preparation(self, environments: list[str]) -> list[list[str]]:
        """Return the pip commands for the environments that are not installed yet."""
        return [
            argv
            for folder, _, commands in self._installs(environments)
            if not folder.is_dir()
            for argv in commands(folder)
        ]

    def downloads(self, environments: list[str]) -> Downloads:
        """Return the locks of the folders that are not here yet; none of them with --wheels."""
        installs = self._installs(environments)
        missing = tuple(lock for folder, lock, _ in installs if not folder.is_dir())
        if self._wheels or not missing:
            return Downloads()
        for_cpu = missing[0] == self._lock and not self.node.target.gpu
        return Downloads(missing, (CPU_TORCH,) if for_cpu else (), into=str(self.store))

    def prepare(self, environments: list[str], log: Path) -> None:
        """Install the missing environments; each appears whole or not at all."""
        for folder, _, commands in self._installs(environments):
            if folder.is_dir():
                continue
            # Never in place of another's: cells of a node that shares the folder may use that.
            files.filled_folder(folder, partial(_install, folder.name, commands, log))

    def command(self, cell: Cell, out: Path, scratch: Path) -> Command:
        """Return the cell's process; its caches are its variants', its scratch files its own."""
        overlay = self.overlay(cell.environment)
        # As ``workloads``, the folder's name, whatever else lies beside it.
        shared = self._problem.shared.resolve().parent if self._problem.workloads else None
        folders = (CHECKOUT, shared, overlay, self.probe_overlay)
        cache = scratch / "cache" / files.safe_name(cell.caches or cell.variant)
        env = {
            **cell.variables,
            "HARNESS_CELL": cell_input(cell, self.node.target, str(out), str(scratch / "locks")),
            "PYTHONPATH": ":".join(str(path) for path in folders if path),
            "PYTHONUNBUFFERED": "1",
            "TORCHINDUCTOR_CACHE_DIR": str(cache / "inductor"),
            "TRITON_CACHE_DIR": str(cache / "triton"),
            **compile_threads(cell, self.node.target),
            **_visible(self.node.target.gpus[: cell.gpus]),
            "TMPDIR": str((scratch / "tmp" / cell.id).resolve()),
        }
        workload = [str(self._python), str((self._problem.folder / cell.script).resolve())]
        argv = KINDS[cell.capture].wrap(workload, out, cell.flags)
        return Command(argv, env, self._problem.folder.resolve())

    def afterwards(self, cell: Cell, out: Path) -> list[Command]:
        """Return the profiler's own exports."""
        return [Command(argv, {}, out) for argv in KINDS[cell.capture].after(out)]

    def begin(self, command: Command) -> None:
        """Do nothing."""

    def end(self, command: Command) -> str:  # noqa: ARG002
        """Return nothing: ``harness.ground.process`` has ended the process and its descendants."""
        return ""

    def end_run(self, run: Path) -> None:
        """Do nothing: the processes of this host have ended."""

    def why(self, command: Command, log: str) -> str:  # noqa: ARG002
        """Return nothing: a process of the host fails for its own reasons only."""
        return ""

    def provenance(self) -> dict[str, object]:
        """Return interpreter, package source and the hash of each environment's lock."""
        source = "given with --python" if self._interpreter else f"built from {self._lock.name}"
        return {
            "engine": "local",
            "where": "on host",
            "python": source,
            "packages_from": "a folder of wheels" if self._wheels else "the configured index",
            "locks": lock_hashes(self._problem),
        }

    @property
    def _lock(self) -> Path:
        return lock(f"torch-{'gpu' if self.node.target.gpu else 'cpu'}.lock")

    @property
    def _base(self) -> Path:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        return self.store / f"{self._lock.stem}-py{version}-{_hash(self._lock)[:12]}"

    @property
    def _python(self) -> Path:
        return self._interpreter or self._base / "bin" / "python"

    def overlay(self, environment: str) -> Path | None:
        """Return the folder of an environment's packages, None for the bare interpreter."""
        lock = self._problem.environments[environment].lock
        if lock is None:
            return None
        return self.store / f"{environment}-{_hash(self._problem.folder / lock)[:12]}"

    @property
    def probe_overlay(self) -> Path | None:
        """Return the folder of the probe's packages beside torch, None where no GPU needs them."""
        return self.store / f"probe-{_hash(PROBE_LOCK)[:12]}" if self.node.target.gpu else None

    def _installs(self, environments: list[str]) -> Iterator[tuple[Path, Path, Commands]]:
        """Yield each folder that the cells need, its lock, and the commands that fill it."""
        if self._interpreter is None:
            yield self._base, self._lock, self._base_commands
        if self.probe_overlay:
            yield self.probe_overlay, PROBE_LOCK, partial(self._overlay_commands, PROBE_LOCK)
        for name in environments:
            overlay = self.overlay(name)
            own = self._problem.environments[name].lock
            if overlay and own:
                lock = self._problem.folder / own
                yield overlay, lock, partial(self._overlay_commands, lock)

    def _base_commands(self, folder: Path) -> list[list[str]]:
        pip = [str(folder / "bin" / "python"), *_PIP_INSTALL]
        commands = [
            [sys.executable, "-m", "venv", str(folder)],
            [*pip, *self._index, "--require-hashes", "-r", str(self._lock)],
        ]
        if not self.node.target.gpu:
            commands.append([*pip, *self._index, "--no-deps", CPU_TORCH])
        # A build for GPUs, where pip found no other, lacks its libraries.
        return [*commands, [str(folder / "bin" / "python"), "-c", "import torch"]]

    def _overlay_commands(self, lock: Path, folder: Path) -> list[list[str]]:
        pip = [str(self._python), *_PIP_INSTALL, "--target", str(folder)]
        return [[*pip, *self._index, "--no-deps", "--require-hashes", "-r", str(lock.resolve())]]

    @property
    def _index(self) -> list[str]:
        return ["--no-index", "--find-links", str(self._wheels)] if self._wheels else []


def _install(name: str, commands: Commands, log: Path, building: Path) -> None:
    """Run the commands that fill the folder of that name; ToolError if one of them fails."""
    for argv in commands(building):
        done = process.run(
            argv,
            cwd=CHECKOUT,
            env=process.environment({}),
            log=log,
            deadline_s=_INSTALL_DEADLINE_S,
        )
        if done.status != "ok":
            raise ToolError(
                f"installing {name} {done.status}: {done.detail}",
                where=log,
                remedy="without a network: --python an interpreter that has torch, "
                "and --wheels a folder that holds the locked wheels; where pip finds "
                "no CPU build of torch: PIP_EXTRA_INDEX_URL an index that has one",
            )


def _visible(gpus: Sequence[Gpu]) -> dict[str, str]:
    """Return the environment that shows a cell its GPUs; CUDA may number them otherwise."""
    return {"CUDA_VISIBLE_DEVICES": ",".join(gpu.uuid for gpu in gpus)} if gpus else {}


def lock_hashes(problem: Problem) -> dict[str, str]:
    """Return the sha256 of each environment's lock."""
    return {
        name: _hash(problem.folder / environment.lock)
        for name, environment in problem.environments.items()
        if environment.lock
    }


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
