"""Named numbers, looked up in evidence: what a claim bounds and a worklog prints."""

MEASURES: dict[str, dict[str, str]] = {
    "torch": {
        "kernels_per_step": "GPU kernels launched in one measured step",
        "gpu_busy_per_step": "ms a step in which the GPU did anything",
    },
    "nsys": {
        "kernels_per_step": "GPU kernels launched in one measured step",
        "gpu_busy_per_step": "ms a step in which the GPU did anything",
        "gpu_idle_share": "share of the measured span in which the GPU did nothing",
    },
    "ncu": {
        "dram_bytes": "bytes read from and written to device memory in one step",
        "kernel_time": "ms of one step's kernels, caches flushed before each",
    },
    "memory": {
        "transient_bytes": "peak of allocated bytes in the measured phase over its start",
        "peak_allocated": "highest allocated bytes after the weights were in place",
        "peak_reserved": "highest reserved bytes after the weights were in place",
    },
}
"""Capture kind to the measures that can be computed from it."""
