"""The kind ``timing``: no profiler and no file; its numbers are the workload's samples."""

from harness.evidence.kind import Kind


class Timing(Kind):
    """Unprofiled times of the measured steps."""

    name = "timing"
    title = "unprofiled times"
    cost = 0
    unprofiled = True
    hook = "timing"
    samples = ("wall_time", "latency", "gpu_time", "gpu_time_cold")
    compared_by = "samples"


KIND = Timing()
