"""Kubernetes: a run as the manifest of a Job with an index for each part; it is only printed."""

import shlex
from typing import TYPE_CHECKING, Any

import yaml

from harness.ground.errors import UsageError
from harness.run.cluster.profile import Kubernetes

if TYPE_CHECKING:
    from harness.run.cluster.session import Asked

_CHECKOUT = "/work/checkout"
_RETRIES = 2


def manifest(asked: "Asked") -> str:
    """Return the manifest as YAML; UsageError for a request that it cannot carry."""
    profile = asked.profile.kubernetes
    if profile is None or asked.request.resume:
        raise UsageError("a Job begins a run of its own: --resume is not for Kubernetes")
    parts = len(asked.parts)
    metadata: dict[str, Any] = {"name": f"worklogs-{asked.problem.folder.name}"}
    if profile.namespace:
        metadata["namespace"] = profile.namespace
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {
            "completionMode": "Indexed",
            "completions": parts,
            "parallelism": parts,
            "backoffLimit": _RETRIES * parts,
            "template": {"spec": _pod(asked, profile)},
        },
    }
    return yaml.safe_dump(job, sort_keys=False, allow_unicode=True)


def _pod(asked: "Asked", profile: Kubernetes) -> dict[str, Any]:
    """Return a pod that runs the part of its index, with the rights that a container needs."""
    limits: dict[str, Any] = {"cpu": profile.cpu, "memory": profile.memory}
    if asked.profile.gpu:
        limits[profile.gpu_resource] = asked.profile.gpus
    container = {
        "name": "cells",
        "image": profile.image,
        "workingDir": _CHECKOUT,
        "command": ["sh", "-c", _script(asked)],
        "resources": {"limits": limits},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [
            {"name": "checkout", "mountPath": _CHECKOUT, "subPath": profile.path},
            {"name": "shm", "mountPath": "/dev/shm"},  # noqa: S108 - the container's own
        ],
    }
    pod: dict[str, Any] = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "containers": [container],
        "volumes": [
            {"name": "checkout", "persistentVolumeClaim": {"claimName": profile.claim}},
            {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}},
        ],
    }
    if profile.node_selector:
        pod["nodeSelector"] = profile.node_selector
    return pod


def _script(asked: "Asked") -> str:
    """Return the shell line of a pod: the harness's packages, then the part of its index."""
    request, selected = asked.request, asked.request.selected
    words = ["run", str(asked.problem.number), "--engine", "local", "--python", "python3"]
    for option in ("variants", "cases", "captures"):
        for name in getattr(selected, option):
            words += [f"--{option[:-1]}", name]
    words += ["--rounds", str(selected.rounds)] if selected.rounds else []
    words += ["--full"] if request.full else []
    options = shlex.join(words)
    part = f'--part "$JOB_COMPLETION_INDEX/{asked.profile.jobs}"'
    install = "python3 -m venv --system-site-packages /tmp/harness && /tmp/harness/bin/pip install"
    return (
        f"{install} -q --require-hashes -r requirements/run.lock && "
        f"exec /tmp/harness/bin/python -m harness {options} {part}"
    )
