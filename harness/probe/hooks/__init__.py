"""What each capture does in the workload's process; the harness names the hook in the cell."""

from harness.probe.hooks.hook import Hook
from harness.probe.hooks.memory import Memory
from harness.probe.hooks.timing import Timing
from harness.probe.hooks.torch_profiler import TorchProfiler

HOOKS: dict[str, type[Hook]] = {
    "range": Hook,
    "timing": Timing,
    "torch": TorchProfiler,
    "memory": Memory,
}
