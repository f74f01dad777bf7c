"""podman's profile without namespaces, and what is said where there is no profile."""

import json
from pathlib import Path
from typing import Any

import pytest

from harness.engines import docker_cli, seccomp
from harness.engines.docker_cli import Client
from harness.ground.errors import ToolError

PROFILE: dict[str, Any] = {
    "defaultAction": "SCMP_ACT_ERRNO",
    "syscalls": [
        {"names": ["read", "clone", "clone3", "unshare"], "action": "SCMP_ACT_ALLOW"},
        {"names": ["bpf", "setns"], "action": "SCMP_ACT_ALLOW", "includes": {"caps": ["X"]}},
        {"names": ["setns"], "action": "SCMP_ACT_ERRNO", "errnoRet": 1},
    ],
}


def client(folder: Path, monkeypatch: pytest.MonkeyPatch, profile: Path) -> Client:
    program = folder / "podman"
    program.write_text(f"#!/bin/sh\necho {profile}\n")
    program.chmod(0o755)
    monkeypatch.setattr(docker_cli, "_builders", lambda _: [str(program)])
    monkeypatch.setattr(seccomp, "_FILE", folder / "written.json")
    return Client("podman")


def test_what_makes_a_namespace_is_closed_and_the_rest_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "profile.json").write_text(json.dumps(PROFILE))
    flag = seccomp.flag(client(tmp_path, monkeypatch, tmp_path / "profile.json"))
    assert flag == f"--security-opt=seccomp={tmp_path / 'written.json'}"
    written = json.loads((tmp_path / "written.json").read_text())
    assert written["defaultAction"] == "SCMP_ACT_ERRNO"
    assert written["syscalls"][:2] == [
        {"names": ["read"], "action": "SCMP_ACT_ALLOW"},
        {"names": ["bpf"], "action": "SCMP_ACT_ALLOW", "includes": {"caps": ["X"]}},
    ]
    allowed = [group for group in written["syscalls"] if group["action"] == "SCMP_ACT_ALLOW"]
    assert [group.get("args") for group in allowed if "clone" in group["names"]] == [
        [{"index": 0, "value": 0x7E020000, "valueTwo": 0, "op": "SCMP_CMP_MASKED_EQ"}]
    ]
    names = {name for group in allowed for name in group["names"]}
    assert names == {"read", "bpf", "clone"}


def test_a_podman_without_a_profile_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    podman = client(tmp_path, monkeypatch, tmp_path / "absent.json")
    with pytest.raises(ToolError, match=r"podman: has no seccomp profile.*containers-common"):
        seccomp.flag(podman)
