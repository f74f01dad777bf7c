"""What this machine is: GPU, driver, host and profilers. Asks, never sets."""

import contextlib
import os
import platform
import re
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from harness.evidence.kinds import tools
from harness.ground import process
from harness.ground.errors import ToolError
from harness.ground.plain import slug
from harness.machine import room

_PROFILER_FOLDERS = (
    "/opt/nvidia/nsight-systems/*/bin",
    "/opt/nvidia/nsight-compute/*",
    "/usr/local/cuda*/bin",
)


@dataclass(frozen=True)
class Gpu:
    """One GPU; memory in bytes, ``cuda`` the highest version that the driver supports."""

    index: int
    uuid: str
    name: str
    compute_capability: str
    memory_bytes: int
    driver: str
    cuda: str


@dataclass(frozen=True)
class Tool:
    """A profiler's program and its version, such as "2025.3.1"."""

    path: str
    version: str


@dataclass(frozen=True)
class Target:
    """The machine that a run is made on; ``gpu`` is the GPU that cells use, None without a GPU.

    ``more_gpus`` are further GPUs that cells of several GPUs may use: those that
    CUDA_VISIBLE_DEVICES lists after the first, all others where it is not set.
    ``cores`` and ``memory_bytes`` are those that this process may use.
    ``tools`` are the profilers' programs by name, None where one is not installed.
    ``counters_restricted`` is the driver's RmProfilingAdminOnly, None where it cannot be read.
    """

    gpu: Gpu | None
    cpu: str
    cores: int
    memory_bytes: int
    system: str
    tools: dict[str, Tool | None]
    counters_restricted: bool | None
    more_gpus: tuple[Gpu, ...] = ()

    @property
    def gpus(self) -> tuple[Gpu, ...]:
        """Return all GPUs that cells may use, the one that most cells use first."""
        return (self.gpu, *self.more_gpus) if self.gpu else ()

    @property
    def device(self) -> Literal["cuda", "cpu"]:
        """Return "cuda" or "cpu", as torch calls it."""
        return "cuda" if self.gpu else "cpu"

    @property
    def capability(self) -> str | None:
        """Return the GPU's compute capability, such as "9.0"; None without a GPU."""
        return self.gpu.compute_capability if self.gpu else None

    @property
    def name(self) -> str:
        """Return the name that a reader knows the target by."""
        return self.gpu.name if self.gpu else self.cpu

    @property
    def slug(self) -> str:
        """Return the name of the target's folder under reports/."""
        return slug(self.gpu.name if self.gpu else "cpu")

    def as_dict(self) -> dict[str, Any]:
        """Return everything as JSON-ready data."""
        return asdict(self) | {
            "more_gpus": list(map(asdict, self.more_gpus)),
            "name": self.name,
            "slug": self.slug,
            "device": self.device,
        }


def has_bindings() -> bool:
    """Return whether NVML's Python bindings are installed, without which no GPU is found."""
    try:
        import pynvml  # noqa: F401 - whether it can be imported is the question
    except ModuleNotFoundError:
        return False
    return True


def detect(*, with_gpus: bool = True) -> Target:
    """Return this machine; a property that cannot be read is None, never an error.

    ``with_gpus``: look for GPUs; raises ModuleNotFoundError without NVML's bindings.
    """
    gpus = _gpus() if with_gpus else ()
    return Target(
        gpu=gpus[0] if gpus else None,
        more_gpus=gpus[1:],
        cpu=_cpu_name(),
        cores=room.cores(),
        memory_bytes=room.memory(),
        system=f"{_distribution()}, kernel {platform.release()}",
        tools={name: _tool(name) for name in tools()},
        counters_restricted=_restricted(Path("/proc/driver/nvidia/params")),
    )


@contextlib.contextmanager
def nvml() -> Iterator[Any]:
    """Yield the initialised NVML bindings, or None where there is no driver."""
    import pynvml

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        yield None
        return
    try:
        yield pynvml
    finally:
        pynvml.nvmlShutdown()


def _gpus() -> tuple[Gpu, ...]:
    """Return the GPUs that CUDA_VISIBLE_DEVICES lists, in its order; all where it is not set."""
    with nvml() as library:
        return tuple(_gpu(library, handle) for handle in _visible(library)) if library else ()


def _gpu(library: Any, handle: Any) -> Gpu:
    major, minor = library.nvmlDeviceGetCudaComputeCapability(handle)
    cuda = library.nvmlSystemGetCudaDriverVersion()
    return Gpu(
        index=library.nvmlDeviceGetIndex(handle),
        uuid=_text(library.nvmlDeviceGetUUID(handle)),
        name=_text(library.nvmlDeviceGetName(handle)),
        compute_capability=f"{major}.{minor}",
        memory_bytes=int(library.nvmlDeviceGetMemoryInfo(handle).total),
        driver=_text(library.nvmlSystemGetDriverVersion()),
        cuda=f"{cuda // 1000}.{cuda % 1000 // 10}",
    )


def _visible(library: Any) -> Iterator[Any]:
    """Yield the handles of the GPUs that CUDA shows; it ends its list at the first unknown name."""
    handles = [
        library.nvmlDeviceGetHandleByIndex(index) for index in range(library.nvmlDeviceGetCount())
    ]
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        yield from handles
        return
    for name in map(str.strip, visible.split(",")):
        handle = _named(library, handles, name)
        if handle is None:
            return
        yield handle


def _named(library: Any, handles: list[Any], name: str) -> Any:
    """Return the GPU that a number or the beginning of a UUID names, None if none is."""
    if name.isdigit():
        return handles[int(name)] if int(name) < len(handles) else None
    uuids = (_text(library.nvmlDeviceGetUUID(handle)) for handle in handles)
    named = (handle for handle, uuid in zip(handles, uuids, strict=True) if uuid.startswith(name))
    return next(named, None) if name else None


def _tool(name: str) -> Tool | None:
    path = shutil.which(name) or _installed(name)
    if path is None:
        return None
    try:
        version = re.search(r"\b(20\d\d\.\d+(?:\.\d+)?)", process.output([path, "--version"]))
    except ToolError:
        return None
    return Tool(path, version[1]) if version else None


def _installed(name: str) -> str | None:
    for pattern in _PROFILER_FOLDERS:
        for folder in sorted(Path("/").glob(pattern.lstrip("/")), reverse=True):
            if (folder / name).is_file():
                return str(folder / name)
    return None


def _restricted(params: Path) -> bool | None:
    try:
        setting = re.search(r"^RmProfilingAdminOnly: (\d)", params.read_text(), re.MULTILINE)
    except OSError:
        return None
    return bool(int(setting[1])) if setting else None


def _cpu_name() -> str:
    with contextlib.suppress(OSError):
        cpus = Path("/proc/cpuinfo").read_text()
        model = re.search(r"^model name\s*: (.+)$", cpus, re.MULTILINE)
        if model:
            return model[1]
    return platform.processor() or platform.machine()


def _distribution() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return platform.system()


def _text(value: bytes | str) -> str:
    return value.decode() if isinstance(value, bytes) else value
