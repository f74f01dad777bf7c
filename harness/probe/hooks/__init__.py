"""What each capture does in the workload's process; the harness names the hook in the cell."""

from harness.probe.hooks.hook import Hook
from harness.probe.hooks.memory import MemoryHook
from harness.probe.hooks.timing import TimingHook
from harness.probe.hooks.torch_profiler import TorchProfiler

HOOKS: dict[str, type[Hook]] = {
    "range": Hook,
    "timing": TimingHook,
    "torch": TorchProfiler,
    "memory": MemoryHook,
}
