"""Checks of a machine for an engine: the machine's own, then those of the container engines."""

import re

from harness.engines import apptainer
from harness.engines.docker_cli import Client, Name, cdi_devices
from harness.engines.engine import Node
from harness.ground import process
from harness.ground.checkout import CHECKOUT
from harness.ground.errors import ToolError
from harness.machine import doctor as machine
from harness.machine.doctor import HealthCheck
from harness.machine.target import Target

_PINNED = re.compile(r"NSIGHT_IMAGE=nvidia/cuda:(\d+)\.(\d+)")


def checks(node: Node, wanted: str) -> list[HealthCheck]:
    """Return the checks of a node; those of a container engine fail only if it is ``wanted``."""
    target = node.target
    lines = machine.checks(target, node.monitor())
    for name in ("docker", "podman"):
        lines += _engine(name, target, wanted=wanted == name)
    lines.append(_apptainer(wanted=wanted == "apptainer"))
    if target.gpu:
        devices = ", ".join(cdi_devices())
        remedy = (
            "" if devices else "for podman: nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml"
        )
        lines.append(HealthCheck("CDI devices", bool(devices) or None, devices or "none", remedy))
        lines.append(_pinned(target))
    return lines


def _engine(name: Name, target: Target, *, wanted: bool) -> list[HealthCheck]:
    failed = False if wanted else None
    try:
        client = Client(name)
        version = client.version()
    except ToolError as error:
        return [HealthCheck(name, failed, error.what, error.remedy)]
    lines = [HealthCheck(name, True, f"{version} ({client.program})")]
    if target.gpu:
        lines.append(_gpu_inside(client, failed))
    return lines


def _apptainer(*, wanted: bool) -> HealthCheck:
    failed = False if wanted else None
    try:
        version = process.output([apptainer.program(), "--version"])
    except ToolError as error:
        return HealthCheck("apptainer", failed, error.what, error.remedy)
    return HealthCheck("apptainer", True, version)


def _gpu_inside(client: Client, failed: bool | None) -> HealthCheck:
    """Start nvidia-smi in an image that was built here; without an image, check the setup only."""
    title, remedy = f"GPU in {client.name}", "install the NVIDIA Container Toolkit"
    try:
        if not client.has_gpus():
            return HealthCheck(title, failed, "the engine has no NVIDIA runtime and no CDI", remedy)
        images = client.ask("images", "--format={{.Repository}}:{{.Tag}}", "worklogs/base")
        if not images:
            return HealthCheck(title, None, "set up; not tried, as no image is built yet")
        gpu = "--gpus=all" if client.name == "docker" else "--device=nvidia.com/gpu=all"
        run = ("run", "--rm", "--network=none", "--cap-drop=ALL", gpu)
        listing = client.ask(*run, images.splitlines()[0], "nvidia-smi", "-L", deadline_s=60)
    except ToolError as error:
        return HealthCheck(title, failed, error.what, error.remedy or remedy)
    return HealthCheck(title, True, listing.splitlines()[0])


def _pinned(target: Target) -> HealthCheck:
    """Compare the image's profilers with the driver: an older one misreads it or refuses."""
    dockerfile = CHECKOUT / "docker" / "Dockerfile"
    if not dockerfile.is_file():
        return HealthCheck("profilers in the image", None, f"no {dockerfile}")
    pinned = _PINNED.search(dockerfile.read_text(encoding="utf-8"))
    if pinned is None or target.gpu is None:
        return HealthCheck("profilers in the image", None, "not pinned by CUDA version")
    ours = (int(pinned[1]), int(pinned[2]))
    driver = tuple(int(part) for part in target.gpu.cuda.split("."))
    versions = f"of CUDA {ours[0]}.{ours[1]}, the driver is for {target.gpu.cuda}"
    remedy = "" if ours >= driver else "build with --build-arg NSIGHT_IMAGE=… of a newer CUDA"
    return HealthCheck("profilers in the image", ours >= driver or None, versions, remedy)
