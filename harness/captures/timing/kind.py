"""The kind ``timing``: no profiler and no file; its numbers are the workload's samples."""

from harness.evidence.kind import Kind, Lazy

KIND = Kind(
    name="timing",
    title="unprofiled times",
    cost=0,
    unprofiled=True,
    hook="harness.probe.hooks.timing:Timing",
    samples=("wall_time", "latency", "gpu_time", "gpu_time_cold"),
    compared_by="samples",
    summarise=Lazy("harness.analysis.summary:samples"),
    show=Lazy("harness.cli.shown.samples:show"),
)
