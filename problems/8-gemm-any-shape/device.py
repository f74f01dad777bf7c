"""The peak bandwidth of a GPU's memory: Hopper GPUs differ in it, and so do their fastest plans."""

import ctypes

from ladder import call_driver

H200 = 4.917e6
"""Bytes per µs: twice 3201 MHz on 6144 bits. An H100 SXM has 3.352e6: 2619 MHz, 5120 bits."""
CLOCK_KHZ, BUS_BITS = 36, 37  # CU_DEVICE_ATTRIBUTE_*


def peak_bandwidth() -> float:
    """Return the bytes per µs of the current device's memory; a CUDA context has to be current."""
    device, value = ctypes.c_int(), ctypes.c_int()
    call_driver("cuCtxGetDevice", ctypes.byref(device))
    transfers = 2e-3  # per µs, at a clock of 1 kHz: two in a cycle
    for attribute in (CLOCK_KHZ, BUS_BITS):
        call_driver("cuDeviceGetAttribute", ctypes.byref(value), attribute, device)
        transfers *= value.value
    return transfers / 8
