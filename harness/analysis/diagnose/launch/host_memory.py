"""A launch's accesses of host memory: the sectors of L2 whose addresses lie there.

L2 counts by "aperture", which is where an address lies: device, peer or system memory. Source:
NVIDIA, Kernel Profiling Guide, Memory Tables, L2 Cache.
"""

from harness.analysis.diagnose import kernel_thresholds, thresholds
from harness.analysis.diagnose.launch.counted import Counted

_SECTOR = 32  # bytes
_HOST = "lts__t_sectors_srcunit_tex_aperture_sysmem_op_{}.sum"
READ = _HOST.format("read_lookup_miss")
WRITTEN = _HOST.format("write")
_FILLED = "lts__d_sectors_fill_{}.avg.pct_of_peak_sustained_elapsed"


def part_of_misses(view: Counted) -> float | None:
    """Return the part of the sectors that SMs read and L2 did not hold which the host sent."""
    host, missed = view.get(READ), view.get("lts__t_sectors_srcunit_tex_op_read_lookup_miss.sum")
    if host is None or missed is None:
        return None
    return min(1.0, host / missed) if missed else 0.0


def part_of_reads(view: Counted) -> float | None:
    """Return the part of all sectors that SMs read from L2 which the host sent."""
    host, read = view.get(READ), view.get("lts__t_sectors_srcunit_tex_op_read.sum")
    if host is None or read is None:
        return None
    return min(1.0, host / read) if read else 0.0


def rate(view: Counted) -> float | None:
    """Return the bytes per second that the SMs read from host memory, or write to it if more.

    The link carries both ways at once, so the larger one counts. Atomics do not.
    """
    read, time = view.get(READ), view.get("gpu__time_duration.sum")
    if read is None or not time:
        return None
    return max(read, view.get(WRITTEN) or 0.0) * _SECTOR / time * 1e9


def link_rate(view: Counted) -> float | None:
    """Return the bytes per second that the link to the host carries, at least.

    By the generation of PCIe that goes with the compute capability (PINNED_RATES). None if that is
    not known, or where NVLink-C2C leads to the host, which carries several times as much.
    """
    major = view.get("device__attribute_compute_capability_major")
    if major is None or view.get("c2clink__present"):
        return None
    return thresholds.PINNED_RATES[min(max(int(major), 7), 9)]


def unknown(view: Counted) -> bool:
    """Return whether L2 was filled from host memory, and how much of it SMs read is not known.

    Fills are in the section SpeedOfLight, in percent of one peak.
    """
    host, device = (view.get(_FILLED.format(each)) for each in ("sysmem", "device"))
    if not host or device is None or part_of_misses(view) is not None:
        return False
    return host >= kernel_thresholds.HOST_MISSES * (host + device)
