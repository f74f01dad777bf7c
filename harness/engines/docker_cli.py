"""Docker and podman through their own programs: the same calls for both engines.

A program's call can be pasted, needs no socket, which podman does not have by default, and finds
the engine as the user's own calls do. DOCKER_README.md says what docker-py is used for.
"""

import contextlib
import os
import re
import resource
import shutil
from pathlib import Path
from typing import Literal

from harness.ground import maker, process
from harness.ground.errors import ToolError

Name = Literal["docker", "podman"]

LABEL = "worklogs.harness"
"""Label of every container that a harness starts: its name (``harness.ground.maker``)."""

RUN_LABEL = "worklogs.run"
"""Label of every container of a run: the place of the run's folder."""

MOST_TASKS = 32768
"""Open files, processes and threads of a container, at most."""

_CDI = (Path("/etc/cdi"), Path("/var/run/cdi"))
_END_S = 10.0
"""The seconds in which the engine has to end a container."""

_TROUBLES = (
    (
        r"permission denied[^\n]*(?:docker|podman)[^\n]*sock",
        "this user may not speak to the engine",
        "join the group docker, or use rootless podman: --engine podman",
    ),
    (
        r"Cannot connect to the Docker daemon|Is the docker daemon running"
        r"|error during connect: \w+ \"|podman machine start",
        "the engine does not answer",
        "start it, for example: systemctl start docker",
    ),
    (
        r"could not select device driver|nvidia-container-cli|unresolvable CDI devices",
        "the engine cannot give a container the GPU",
        "install the NVIDIA Container Toolkit; for podman: nvidia-ctk cdi generate",
    ),
    (
        r"unsatisfied condition: cuda|driver/library version mismatch",
        "the driver is too old for the image's CUDA",
        "update the driver, or build over an older base: --build-arg BASE_IMAGE=…",
    ),
    (r"no space left on device", "no room left", "free some: docker system prune"),
    (
        r"[Nn]o such image|image not known|pull access denied|manifest unknown"
        r"|failed to resolve source|dial tcp|TLS handshake|error pinging|i/o timeout",
        "an image cannot be had",
        "without a registry, build over one made by docker/debian-base: --build-arg BASE_IMAGE=…",
    ),
    (
        r"failed to exec pid1|executable file [^\n]*not found in \$PATH",
        "the image has not got this program",
        "take an image that has it, or --mount its folder and put that on PATH",
    ),
    (
        r"buildx component is missing",
        "this docker cannot build with BuildKit",
        "install docker-buildx, or put a docker that can build first on PATH",
    ),
)


class Client:
    """The program of one engine; ToolError with a remedy if it is not installed."""

    def __init__(self, name: Name) -> None:
        programs = _builders(name)
        if not programs:
            what = "not found on PATH" if not shutil.which(name) else "cannot build images"
            raise ToolError(what, where=name, remedy=f"install {name}, with BuildKit if docker")
        self.name = name
        self.program = programs[0]

    def limits(self) -> list[str]:
        """Return the flags that keep a container's limits below our own.

        Raising a limit takes a privilege that the caller may lack; podman's defaults raise it.
        """
        limits = (("nofile", resource.RLIMIT_NOFILE), ("nproc", resource.RLIMIT_NPROC))
        flags = []
        for name, kind in limits:
            hard = resource.getrlimit(kind)[1]
            most = MOST_TASKS if hard == resource.RLIM_INFINITY else min(MOST_TASKS, hard)
            flags.append(f"--ulimit={name}={most}:{most}")
        return flags

    def build_flags(self) -> list[str]:
        """Return the flags that every build needs beside its own arguments."""
        return self.limits() if self.name == "podman" else []

    def ask(self, *arguments: str, deadline_s: float = 20) -> str:
        """Return the output of a call; ToolError with the trouble and its remedy."""
        try:
            return process.output([self.program, *arguments], deadline_s=deadline_s)
        except ToolError as error:
            raise ToolError(explained(str(error)) or error.what, where=self.name) from error

    def version(self) -> str:
        """Return the engine's version; ToolError if it does not answer."""
        field = "{{.Server.Version}}" if self.name == "docker" else "{{.Client.Version}}"
        return self.ask("version", f"--format={field}")

    def address(self) -> str:
        """Return the address of the docker program's engine, "" if the program does not name it."""
        with contextlib.suppress(ToolError):
            return self.ask("context", "inspect", "--format={{.Endpoints.docker.Host}}")
        return ""

    def image_digest(self, image: str) -> str | None:
        """Return an image's content digest, None without the image; ToolError without an engine."""
        try:
            digest = self.ask("image", "inspect", "--format={{.Id}}", image)
        except ToolError:
            self.version()
            return None
        return digest if digest.startswith("sha256:") else f"sha256:{digest}"

    def has_gpus(self) -> bool:
        """Return whether the engine is set up to give containers NVIDIA GPUs."""
        if self.name == "podman":
            return bool(cdi_devices())
        return "nvidia" in self.ask("info", "--format={{json .Runtimes}}") or bool(cdi_devices())

    def strays(self) -> list[str]:
        """Return the containers whose harness has ended."""
        columns = "--format={{.Names}} {{.Labels}}"
        lines = self.ask("ps", "--all", f"--filter=label={LABEL}", columns)
        # docker writes labels as a=1,b=2, podman as map[a:1 b:2].
        makers = re.findall(rf"^(\S+) .*\b{re.escape(LABEL)}[=:]([-\w]+)", lines, re.MULTILINE)
        return [name for name, owner in makers if maker.has_ended(owner)]

    def end_all(self, place: str) -> None:
        """Remove the containers of the run whose folder has that place; ToolError if one stays."""
        only = f"--filter=label={RUN_LABEL}={place}"
        for container in self.ask("ps", "--all", only, "--format={{.Names}}").split():
            if why := self.end(container):
                remedy = "end it, or restart the engine"
                raise ToolError(why, where=f"container {container}", remedy=remedy)

    def removal(self, container: str) -> tuple[str, ...]:
        """Return the call that kills and removes a container at once."""
        at_once = ["--time=0"] if self.name == "podman" else []
        return (self.program, "rm", "--force", *at_once, container)

    def end(self, container: str) -> str:
        """Kill and remove a container; return why it is still there.

        Killing the client does not end the container, and an engine's kill can hang.
        """
        _, *arguments = self.removal(container)
        try:
            self.ask(*arguments, deadline_s=_END_S)
        except ToolError as error:
            return "" if _is_gone(str(error)) else str(error)
        return ""


def explained(log: str) -> str:
    """Return the engine's own trouble that a log shows, with its remedy; empty if it shows none."""
    for pattern, what, remedy in _TROUBLES:
        if re.search(pattern, log):
            return f"{what} ({remedy})"
    return ""


def cdi_devices() -> list[str]:
    """Return the NVIDIA devices that CDI specifications of this host name, such as "all"."""
    import yaml

    names: list[str] = []
    for folder in _CDI:
        for path in sorted(folder.glob("*.json")) + sorted(folder.glob("*.yaml")):
            with contextlib.suppress(OSError, yaml.YAMLError):
                spec = yaml.safe_load(path.read_text(encoding="utf-8"))
                if isinstance(spec, dict) and spec.get("kind") == "nvidia.com/gpu":
                    names += [str(device["name"]) for device in spec.get("devices", [])]
    return names


def _builders(name: Name) -> list[str]:
    """Return the programs of that name on PATH that can build, in order."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    programs = [path for folder in folders if (path := shutil.which(name, path=folder))]
    if name == "podman":
        return programs
    return [program for program in programs if _has_buildkit(program)]


def _has_buildkit(program: str) -> bool:
    # Without buildx, docker 23 and later only say that it is missing.
    with contextlib.suppress(ToolError):
        help_text = process.output(["env", "DOCKER_BUILDKIT=1", program, "build", "--help"])
        return "--secret" in help_text
    return False


def _is_gone(why: str) -> bool:
    return bool(re.search(r"[Nn]o such container|no container with name", why))
