"""The cross entropy's kernel that reads its logits once: compiled by nvcc, launched by the driver.

A row in bf16 has to fit half of a multiprocessor's shared memory: 56 000 elements or so.
"""

import ctypes
import hashlib
from functools import cache
from pathlib import Path
from typing import Any

import torch
from any_shape import (
    CACHE,
    ELEMENT_BYTES,
    HOPPER,
    MAX_SHARED,
    SHARED,
    Launch,
    LaunchConfig,
    Step,
    command,
    compiled,
    compiling,
    enter_context,
    load,
)
from torch import Tensor

SOURCE = Path(__file__).with_name("cross_entropy.cu")
_BLOCKS_PER_SM, _VECTOR = 2, 8
_STATIC_BYTES = 1024
"""Of shared memory: barriers and the warps' sums, and what the system keeps of each block."""


def to_gradient(logits: Tensor, targets: Tensor, losses: Tensor, scale: float) -> None:
    """Turn logits [n, columns] into ``scale`` times their loss's gradient; write the losses [n].

    Raises ``ValueError`` for rows that the kernel does not take.
    """
    rows, columns = logits.shape
    step = _step(ELEMENT_BYTES * columns)
    room = MAX_SHARED // _BLOCKS_PER_SM - _STATIC_BYTES
    if step.shared_bytes > room or columns % _VECTOR or not logits.is_contiguous():
        raise ValueError(f"cross_entropy.cu: no contiguous rows of {columns} elements")
    properties = torch.cuda.get_device_properties(logits.device)
    values = [
        *(ctypes.c_void_p(each.data_ptr()) for each in (logits, targets, losses)),
        ctypes.c_float(scale),
        *(ctypes.c_int(size) for size in (rows, columns)),
    ]
    parameters = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
    blocks = min(rows, _BLOCKS_PER_SM * properties.multi_processor_count)
    config = LaunchConfig((blocks, 1, 1), (step.threads, 1, 1), step.shared_bytes)
    with torch.cuda.device(logits.device):
        function = _function(step.shared_bytes, logits.device.index)
        launch = Launch(function, config, parameters, values)
        launch(torch.cuda.current_stream().cuda_stream)


def cubin() -> Path:
    """Return the kernel's cubin, compiled unless cached."""
    text = b"".join(path.read_bytes() for path in (SOURCE, *sorted(SHARED.glob("*.cuh"))))
    found: Path = CACHE / f"{SOURCE.stem}-{hashlib.sha256(text).hexdigest()[:16]}.cubin"
    if not found.exists():
        with compiling(found) as unfinished:
            argv = command(_step(0), "bf16", HOPPER, unfinished)
            compiled([*argv[:-1], "-I", str(SHARED), str(SOURCE)], SOURCE.stem)
    return found


def _step(shared_bytes: int) -> Step:
    why = "A row stays in shared memory from its first reading to its second."
    return Step(
        *("cross_entropy", "cross entropy", why, HOPPER, (1, 1, 1)),
        threads=512,
        shared_bytes=shared_bytes,
    )


@cache
def _function(shared_bytes: int, device: int) -> Any:
    enter_context(device)
    return load(cubin(), _step(shared_bytes))
