"""Smooth a signal 20 times; the specimen gets the workspace of each pass from the driver.

Work: 20 passes over 64 MiB of fp32 words: copy the signal to a workspace, then average neighbours.

Gives it away: cuMemAlloc and cuMemFree in each of 20 passes, the free waiting for the GPU, and the
GPU idle from there to the next launch.
Quiet: torch's caching allocator is not asked for anything; nothing goes to the host.

Healthy: the workspace is allocated once.
"""

import ctypes
from typing import Any

import torch
from cuda_kernel import call
from specimen import Inputs, Specimen, Step, blank
from torch import Tensor

PASSES = 20


def inputs(device: str, words: int) -> Inputs:
    """Return the signal."""
    return {"signal": torch.randn(words, device=device)}


def smoothed(twin: str, inputs: Inputs) -> Step:
    """Return a step of 20 passes."""
    signal = inputs["signal"]
    result = blank(*signal.shape, like=signal)
    kept = Workspace(signal.numel()) if twin == "healthy" else None

    def step() -> Tensor:
        result.copy_(signal)
        for _ in range(PASSES):
            workspace = kept or Workspace(signal.numel())
            smooth(result, workspace.words)
            if kept is None:
                workspace.free()
        return result

    return step


class Workspace:
    """fp32 words in device memory of the driver's, which torch does not know."""

    def __init__(self, count: int) -> None:
        self._address = ctypes.c_uint64()
        call("cuMemAlloc_v2", ctypes.byref(self._address), ctypes.c_size_t(4 * count))
        self.__cuda_array_interface__: dict[str, Any] = {
            "shape": (count,),
            "typestr": "<f4",
            "data": (self._address.value, False),
            "version": 2,
        }
        self.words = torch.as_tensor(self, device="cuda")

    def free(self) -> None:
        """Give the memory back; the driver waits for the GPU."""
        call("cuMemFree_v2", self._address)


def smooth(signal: Tensor, workspace: Tensor) -> None:
    """Average each word but the first with the word before, through a workspace."""
    workspace.copy_(signal)
    torch.add(workspace[:-1], workspace[1:], out=signal[1:])
    signal[1:].mul_(0.5)


def reference(inputs: Inputs) -> Tensor:
    """Return the smoothed signal, from fp64."""
    signal = inputs["signal"].double()
    for _ in range(PASSES):
        smooth(signal, torch.empty_like(signal))
    return signal.float()


SPECIMEN = Specimen(
    inputs,
    smoothed,
    reference,
    tolerance=1e-5,
    sizes={"words": 16 << 20},
    small={"words": 64},
)
