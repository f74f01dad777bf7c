"""The machine that the harness runs on, as a node of the engines whose cells run here."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace

from harness.ground.errors import UsageError
from harness.machine import clock_lock, gpu_lock, target
from harness.machine.monitor import GpuMonitor
from harness.machine.target import Gpu, Target


@dataclass(frozen=True)
class Host:
    """The machine of this process; a ``harness.engines.engine.Node``."""

    target: Target

    @classmethod
    def detect(cls) -> "Host":
        """Detect this machine's target."""
        return cls(target.detect())

    def only(self, gpus: Sequence[str]) -> "Host":
        """Return this machine with these GPUs alone; UsageError for a GPU that it does not show."""
        gpus_here = []
        for name in gpus:
            gpu = next((gpu for gpu in self.target.gpus if _is(gpu, name)), None)
            if gpu is None:
                there = ", ".join(f"{gpu.index} ({gpu.name})" for gpu in self.target.gpus)
                remedy = f"there are: {there}" if there else "there is no GPU here"
                raise UsageError(f"--gpus: no GPU {name!r}", remedy=remedy)
            if gpu in gpus_here:
                raise UsageError(f"--gpus names GPU {gpu.index} twice")
            gpus_here.append(gpu)
        return Host(replace(self.target, gpu=gpus_here[0], more_gpus=tuple(gpus_here[1:])))

    def monitor(self, token: str | None = None) -> GpuMonitor:
        """Return a monitor of the GPU; without a GPU it takes no samples."""
        return GpuMonitor(self.target.gpu.uuid if self.target.gpu else None, token)

    @contextmanager
    def hold_gpus(self, count: int) -> Iterator[None]:
        """Keep other runs off the first ``count`` GPUs, or off the CPU where there is no GPU."""
        names = [gpu.uuid for gpu in self.target.gpus[:count]] or ["cpu"]
        with ExitStack() as held:
            for name in names:
                held.enter_context(gpu_lock.held(name))
            yield

    def check_clock(self, mhz: int) -> None:
        """Raise UsageError without a GPU, ToolError if it does not offer ``mhz``."""
        clock_lock.check(self._uuid, mhz)

    def hold_clock(self, mhz: int) -> AbstractContextManager[None]:
        """Hold the GPU's SM clock at ``mhz``, and undo that however the run ends."""
        return clock_lock.locked(self._uuid, mhz)

    @property
    def _uuid(self) -> str:
        if self.target.gpu is None:
            raise UsageError("--lock-clocks needs a GPU", remedy="leave it out on a CPU")
        return self.target.gpu.uuid


def _is(gpu: Gpu, name: str) -> bool:
    """Return whether an index or the beginning of a UUID names the GPU."""
    return gpu.index == int(name) if name.isdigit() else bool(name) and gpu.uuid.startswith(name)
