"""Cells in Apptainer, for clusters without Docker: no root, and nothing of the host but the mounts.

The image is a SIF file, or the archive that ``docker save`` makes of a problem's own image.
"""

import shutil
from functools import cached_property
from pathlib import Path

from harness.engines import inside
from harness.engines.engine import Command, Node, OnHost
from harness.engines.local import lock_hashes
from harness.engines.options import Options
from harness.engines.rights import Mount
from harness.evidence.kinds import KINDS
from harness.ground import files, process
from harness.ground.checkout import CHECKOUT
from harness.ground.errors import ToolError, UsageError
from harness.problem.model import Problem
from harness.problem.plan import Cell

_BUILD_DEADLINE_S = 3600
_ARCHIVES = (".tar", ".tar.gz")
_INSIDE = "APPTAINERENV_"
"""What begins the name of a variable of the host that a container gets without that beginning."""
_REMEDY = "docker save the problem's image where there is Docker: see docs/clusters.md"


class Apptainer(OnHost):
    """Runs each cell in a container of its own, as the calling user."""

    keeps_caches = False

    def __init__(self, problem: Problem, node: Node, options: Options) -> None:
        if options.image is None:
            raise UsageError("--engine apptainer needs an --image", remedy=_REMEDY)
        if options.python:
            raise UsageError("--python is an interpreter of the host", remedy="leave it out")
        given = Path(options.image)
        if not given.is_file():
            raise UsageError("--image is no file", where=given, remedy=_REMEDY)
        self._problem = problem
        self.node = node
        self._given = given.resolve()
        self._mounts = options.mounts
        self._is_archive = given.name.endswith(_ARCHIVES)

    @cached_property
    def _hash(self) -> str:
        """Return the hash of what was given, once: an image has gigabytes."""
        return files.sha256(self._given)

    @property
    def image(self) -> Path:
        """Return the SIF file that cells run in; that of an archive is named by its content."""
        if not self._is_archive:
            return self._given
        return CHECKOUT / ".envs" / "apptainer" / f"{self._hash[:12]}.sif"

    def preparation(self, environments: list[str]) -> list[list[str]]:  # noqa: ARG002
        """Return the command that turns the archive into a SIF file, if that is missing."""
        return [] if self.image.is_file() else [self._build(self.image)]

    def prepare(self, environments: list[str], log: Path) -> None:  # noqa: ARG002
        """Turn the archive into a SIF file, if that is missing."""
        program()
        if self.image.is_file():
            return
        with files.atomic_file(self.image) as building:
            done = process.run(
                self._build(building),
                cwd=CHECKOUT,
                env=process.environment({}),
                log=log,
                deadline_s=_BUILD_DEADLINE_S,
            )
            if done.status != "ok":
                what = f"building {self.image.name} {done.status}: {done.detail}"
                raise ToolError(what, where=log)

    def command(self, cell: Cell, out: Path, scratch: Path) -> Command:
        """Return Apptainer's process; /tmp of its container is the cell's own temporary folder."""
        target = self.node.target
        overlays = inside.overlays(self._problem, cell.environment, target)
        env = inside.variables(cell, target, overlays)
        gpus = target.gpus[: cell.gpus]
        if gpus:  # --nv shows all GPUs of the host
            env["CUDA_VISIBLE_DEVICES"] = ",".join(gpu.uuid for gpu in gpus)
        argv = inside.workload(cell, "python3")
        temporary = (scratch / "tmp" / cell.id).resolve()
        mounts = [*inside.mounts(self._problem, scratch), *map(Mount.in_place, self._mounts)]
        flags = ["--nv"] if gpus else []
        return self._command(out, [*flags, f"--workdir={temporary}"], mounts, env, argv, temporary)

    def afterwards(self, cell: Cell, out: Path) -> list[Command]:
        """Return the profiler's own exports, in containers without a GPU."""
        return [
            self._command(out, [], [], {}, argv)
            for argv in KINDS[cell.capture].after(Path(inside.OUT))
        ]

    def begin(self, command: Command) -> None:
        """Do nothing."""

    def end(self, command: Command) -> str:  # noqa: ARG002
        """Return nothing: the container's processes were descendants of the command's."""
        return ""

    def end_run(self, run: Path) -> None:
        """Do nothing: the containers' processes are this host's, and have ended."""

    def why(self, command: Command, log: str) -> str:  # noqa: ARG002
        """Return the trouble that a failed cell's log shows, empty if it is the workload's own."""
        fatal = [line for line in log.splitlines() if line.startswith("FATAL:")]
        return fatal[-1].removeprefix("FATAL:").strip() if fatal else ""

    def provenance(self) -> dict[str, object]:
        """Return the engine, its version, the image by its hash, and the locks."""
        return {
            "engine": "apptainer",
            "version": process.output([program(), "--version"]).split()[-1],
            "where": "in container",
            "python": "the image's",
            "image": self._given.name,
            "image_digest": f"sha256:{self._hash}",
            "locks": lock_hashes(self._problem),
        }

    def _build(self, image: Path) -> list[str]:
        return ["apptainer", "build", "--force", str(image), f"docker-archive:{self._given}"]

    def _command(
        self,
        out: Path,
        flags: list[str],
        mounts: list[Mount],
        env: dict[str, str],
        argv: list[str],
        temporary: Path | None = None,
    ) -> Command:
        """Return a container with no network, and no files but the image's and the mounts."""
        env = {"PYTHONUNBUFFERED": "1", "TMPDIR": "/tmp"} | env  # noqa: S108 - the container's own
        outside = {f"{_INSIDE}{name}": value for name, value in env.items()}
        if temporary:
            outside["TMPDIR"] = str(temporary)
        call = [
            *("apptainer", "exec", "--containall", "--no-home", "--no-privs"),
            *("--net", "--network=none"),
            *flags,
            *(mount.flag("destination", "ro") for mount in mounts),
            Mount(out, inside.OUT, writable=True).flag("destination"),
            *(f"--pwd={inside.OUT}", str(self.image), *argv),
        ]
        names = (process.RUN, f"{_INSIDE}{process.RUN}")
        return Command(call, outside, out.parent, token_names=names)


def program() -> str:
    """Return the program's path; ToolError if it is not installed."""
    found = shutil.which("apptainer")
    if found is None:
        raise ToolError("not found on PATH", where="apptainer", remedy="module load apptainer")
    return found
