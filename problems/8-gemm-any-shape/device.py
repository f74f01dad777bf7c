"""What Hopper GPUs differ in: their memory's peak bandwidth, and so their fastest plans; clocks."""

import ctypes

from ladder import call_driver

H200 = 4.814304e6
"""Bytes per µs: twice 3201 MHz on 6016 bits. An H100 SXM has 3.352e6: 2619 MHz, 5120 bits."""
CLOCK_KHZ, MEMORY_CLOCK_KHZ, BUS_BITS = 13, 36, 37  # CU_DEVICE_ATTRIBUTE_*


def peak_bandwidth() -> float:
    """Return the bytes per µs of the current device's memory; a CUDA context has to be current."""
    transfers = 2e-3  # per µs, at a clock of 1 kHz: two in a cycle
    return transfers * _attribute(MEMORY_CLOCK_KHZ) * _attribute(BUS_BITS) / 8


def highest_clock() -> float:
    """Return the highest MHz of the multiprocessors; a CUDA context has to be current."""
    return _attribute(CLOCK_KHZ) / 1e3


def _attribute(which: int) -> int:
    """Return an attribute of the current device."""
    device, value = ctypes.c_int(), ctypes.c_int()
    call_driver("cuCtxGetDevice", ctypes.byref(device))
    call_driver("cuDeviceGetAttribute", ctypes.byref(value), which, device)
    return value.value
