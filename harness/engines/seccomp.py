"""podman's seccomp profile without user namespaces: its own lets a container make them.

In a namespace of its own a process has every capability there, and with it the parts of the kernel
that only an administrator reaches otherwise. Docker's profile has them closed already.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

from harness.engines.docker_cli import Client
from harness.ground import files
from harness.ground.checkout import CHECKOUT
from harness.ground.errors import StoreError, ToolError

_FILE = CHECKOUT / ".envs" / "podman-seccomp.json"
_CLONE_NEW = 0x7E020000
"""The flags with which clone(2) makes a namespace (linux/sched.h): of mounts, control groups, host
name, IPC, users, processes and network."""

_EPERM, _ENOSYS = 1, 38
_RULES: list[dict[str, Any]] = [
    {
        "names": ["clone"],
        "action": "SCMP_ACT_ALLOW",
        "args": [{"index": 0, "value": _CLONE_NEW, "valueTwo": 0, "op": "SCMP_CMP_MASKED_EQ"}],
    },
    # Its flags lie in memory, where seccomp cannot look: without it, the C library calls clone.
    {"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": _ENOSYS},
    {"names": ["unshare", "setns"], "action": "SCMP_ACT_ERRNO", "errnoRet": _EPERM},
]


@cache
def flag(client: Client) -> str:
    """Return the flag that names the profile, which is written for that; ToolError without one."""
    path = client.ask("info", "--format={{.Host.Security.SECCOMPProfilePath}}")
    try:
        profile = files.read_json(Path(path).resolve(), unsealed=True)
    except StoreError as error:
        raise ToolError(
            f"has no seccomp profile: {error}",
            where=client.name,
            remedy="install containers-common, or run in Docker: --engine docker",
        ) from error
    text = json.dumps(without_namespaces(profile), indent=1)
    if not _FILE.is_file() or _FILE.read_text(encoding="utf-8") != text:
        files.write_text(_FILE, text)
    return f"--security-opt=seccomp={_FILE}"


def without_namespaces(profile: dict[str, Any]) -> dict[str, Any]:
    """Return a profile whose processes make and enter no namespace."""
    closed = {name for rule in _RULES for name in rule["names"]}
    kept = []
    for group in profile.get("syscalls", []):
        names = [name for name in group["names"] if name not in closed]
        kept += [{**group, "names": names}] if names else []
    return {**profile, "syscalls": [*kept, *_RULES]}
