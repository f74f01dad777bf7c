"""A container's rights, as flags of the program that starts it."""

import os
import resource
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.engines import seccomp
from harness.engines.docker_cli import LABEL, MOST_TASKS, Client, Name, cdi_devices
from harness.engines.engine import MOST_OUTPUT_BYTES
from harness.evidence.kinds import KINDS
from harness.ground import maker
from harness.machine.target import Gpu, Target
from harness.problem.plan import Cell

NOBODY = 1000
"""The image's own user, for a caller who is root."""

_PERFMON_DRIVER = 565  # CAP_PERFMON is enough from this driver on (ERR_NVGPUCTRPERM page)


@dataclass(frozen=True)
class Mount:
    """A host path inside the container, read only unless it is the output."""

    source: Path
    target: str
    writable: bool = False

    @classmethod
    def in_place(cls, folder: Path) -> "Mount":
        """Return a mount under the caller's name for a folder, which PATH may hold, even a link."""
        return cls(folder.resolve(), str(folder.absolute()))

    def flag(self, target: str = "target", read_only: str = "readonly") -> str:
        """Return the ``--mount`` flag: fields between commas, a field with a comma in quotes.

        ``target`` and ``read_only`` are what the program that gets the flag calls these fields.
        """
        fields = ["type=bind", f"source={self.source}", f"{target}={self.target}"]
        fields += [] if self.writable else [read_only]
        return "--mount=" + ",".join(
            '"' + field.replace('"', '""') + '"' if set(field) & set(',"') else field
            for field in fields
        )


def bounds(client: Client, target: Target) -> list[str]:
    """Return the flags of every container: its user, its memory, and no network or privilege."""
    user, group = caller()
    # A container that root starts would run as root, so it takes the image's own user.
    uid, gid = (user, group) if user else (NOBODY, NOBODY)
    rootless = client.name == "podman" and user
    memory = memory_limit(target)
    return [
        *(f"--label={LABEL}={maker.name()}", "--network=none", "--read-only"),
        *(f"--user={uid}:{gid}", *(["--userns=keep-id"] if rootless else [])),
        f"--tmpfs=/tmp:rw,exec,nosuid,nodev,mode=1777,size={memory}",
        *("--security-opt=no-new-privileges", f"--pids-limit={MOST_TASKS}"),
        *(f"--memory={memory}", "--shm-size=1g", "--ulimit=core=0"),
        *(*client.limits(), *_writes(), *_closed(client), "--stop-timeout=5"),
    ]


def _writes() -> list[str]:
    """Return the flags that bound a container's output: a file's size, and no log of its own.

    What its programs print is the cell's log already; an engine's copy of that has no bound.
    """
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    most = MOST_OUTPUT_BYTES if hard == resource.RLIM_INFINITY else min(MOST_OUTPUT_BYTES, hard)
    return [f"--ulimit=fsize={most}:{most}", "--log-driver=none"]


def _closed(client: Client) -> list[str]:
    """Return the flags that close what Docker closes by itself: /var/tmp, and user namespaces."""
    return ["--tmpfs=/var/tmp:ro", seccomp.flag(client)] if client.name == "podman" else []


def memory_limit(target: Target) -> int:
    """Return the bytes of memory that a container gets: nine tenths of the machine's."""
    return target.memory_bytes // 10 * 9


def capabilities(cell: Cell, target: Target) -> list[str]:
    """Return the flags that take every capability and give back those that the capture needs."""
    needed = counter_rights(target) if KINDS[cell.capture].reads_counters else []
    return ["--cap-drop=ALL", *(f"--cap-add={name}" for name in needed)]


def counter_rights(target: Target) -> list[str]:
    """Return the capabilities that hardware counters need under this driver's settings."""
    if not target.counters_restricted or target.gpu is None:
        return []
    driver = int(target.gpu.driver.split(".")[0])
    return ["PERFMON"] if driver >= _PERFMON_DRIVER else ["SYS_ADMIN"]


def gpu_flags(name: Name, gpus: Sequence[Gpu]) -> list[str]:
    """Return the flags that show these GPUs, and no other GPU, to a container of this program."""
    uuids = ",".join(gpu.uuid for gpu in gpus)
    if not gpus:
        return []
    if name == "docker":
        # docker reads the value as a line of CSV, in which a list has to be quoted.
        return [f'--gpus="device={uuids}"' if len(gpus) > 1 else f"--gpus=device={uuids}"]
    names = cdi_devices()
    devices = [
        next((device for device in (gpu.uuid, str(gpu.index)) if device in names), "all")
        for gpu in gpus
    ]
    if "all" in devices:
        return ["--device=nvidia.com/gpu=all", f"--env=CUDA_VISIBLE_DEVICES={uuids}"]
    return [f"--device=nvidia.com/gpu={device}" for device in devices]


def owner() -> int | None:
    """Return the user id that a container's output folder has to belong to, None for ours."""
    return None if caller()[0] else NOBODY


def caller() -> tuple[int, int]:
    """Return our user and group id."""
    return os.getuid(), os.getgid()
