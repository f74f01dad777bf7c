"""Make the trace of a training step on an AMD GPU that never ran: every number of it is chosen.

    python tests/data/make_amd_step.py OUT.json.gz

Two blocks of a transformer of width 4096 on 4096 tokens, forward, backward and optimizer, as
torch.profiler writes a trace of ROCm with recorded shapes.
"""

import gzip
import json
import sys
from pathlib import Path
from typing import Any

STEPS = 3
_TOKENS, _WIDTH, _HIDDEN, _HEADS = 4096, 4096, 11008, 32
_GAP_US = 1.0
_LEAD_US = 400.0
"""How long before its kernel each launch is made, so that the GPU never waits for one."""
_HOST_US = 8.0
_BF16 = "c10::BFloat16"

Kernel = tuple[str, str, float, list[list[int]], list[str]]
"""Operator, kernel, µs, sizes and values of its inputs."""


def product(rows: int, depth: int, columns: int, us: float) -> Kernel:
    """Return a product of matrices by hipBLASLt."""
    name = "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x256x64_MI16x16x1_SN"
    return "aten::mm", name, us, [[rows, depth], [depth, columns]], ["", ""]


def block() -> list[Kernel]:
    """Return the kernels of one block's forward pass."""
    tokens = [_TOKENS, _WIDTH]
    norm = (
        *("aten::native_layer_norm", "void at::native::vectorized_layer_norm_kernel<BFloat16>"),
        *(21.0, [tokens, [], [_WIDTH], [_WIDTH]], ["", "[4096]", "", ""]),
    )
    attention = (
        *("aiter::mha_fwd", "_ZN5aiter24fmha_fwd_hd128_bf16_causalE", 160.0),
        *([[2, 2048, _HEADS, 128]] * 3, [""] * 3),
    )
    add = (
        *("aten::add", "void at::native::vectorized_elementwise_kernel<8, CUDAFunctor_add>"),
        *(28.0, [tokens, tokens], ["", ""]),
    )
    mix = [norm, product(_TOKENS, _WIDTH, 3 * _WIDTH, 470.0), attention]
    mix += [product(_TOKENS, _WIDTH, _WIDTH, 170.0), add, norm]
    return [
        *mix,
        product(_TOKENS, _WIDTH, _HIDDEN, 430.0),
        product(_TOKENS, _HIDDEN, _WIDTH, 440.0),
        add,
    ]


def backward() -> list[Kernel]:
    """Return the kernels of one block's backward pass: of each product two."""
    products = [each for each in block() if each[0] == "aten::mm"]
    return [kernel for each in reversed(products) for kernel in (each, each)]


def optimizer() -> list[Kernel]:
    """Return the kernels of the optimizer, whose lists of tensors have no shapes."""
    name = "void at::native::multi_tensor_apply_kernel<FusedOptimizerTensorListMetadata>"
    return [("aten::_fused_adamw_", name, 300.0, [], [])] * 2


class Trace:
    """The events of a trace; times are µs."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self._host, self._gpu, self._number = 1000.0, 1000.0 + _LEAD_US, 0

    def step(self, number: int) -> None:
        """Add one step: its range, and its operators with their launches and kernels."""
        began = self._host
        for kernel in (*block(), *block()):
            self._launched(kernel)
        for kernel in (*backward(), *backward()):
            self._launched(kernel, node="MmBackward0")
        for kernel in optimizer():
            self._launched(kernel, scope="Optimizer.step#AdamW.step")
        self._host = max(self._host, self._gpu - _LEAD_US)
        self._add("user_annotation", f"ProfilerStep#{number}", began, self._host - began)

    def _launched(self, kernel: Kernel, node: str = "", scope: str = "") -> None:
        operator, name, us, sizes, values = kernel
        self._number += 1
        at = self._host
        around = ("cpu_op", f"autograd::engine::evaluate_function: {node}") if node else None
        around = around or (("user_annotation", scope) if scope else None)
        if around:
            self._add(*around, at, _HOST_US - 1)
        inputs = {
            "Input Dims": sizes,
            "Input type": [_BF16 if each else "ScalarList" for each in sizes],
            "Input Strides": [_strides(each) for each in sizes],
            "Concrete Inputs": values,
        }
        self._add("cpu_op", operator, at + 1, _HOST_US - 3, inputs)
        self._add("cuda_runtime", "hipExtModuleLaunchKernel", at + 2, 3, self._id())
        on_device = {"device": 0, "stream": 0, **self._id()}
        self._add("kernel", name, self._gpu, us, on_device)
        self._host += _HOST_US
        self._gpu += us + _GAP_US

    def _id(self) -> dict[str, Any]:
        return {"correlation": self._number}

    def _add(
        self, category: str, name: str, at: float, us: float, args: dict[str, Any] | None = None
    ) -> None:
        thread = 0 if category == "kernel" else 7
        event = {"ph": "X", "cat": category, "name": name, "pid": 1, "tid": thread}
        self.events.append(event | {"ts": round(at, 3), "dur": round(us, 3), "args": args or {}})


def _strides(sizes: list[int]) -> list[int]:
    strides, step = [], 1
    for size in reversed(sizes):
        strides.append(step)
        step *= size
    return strides[::-1]


def main() -> None:
    """Write the trace to the file that the command names."""
    trace = Trace()
    for number in range(STEPS):
        trace.step(number)
    gpu = {"id": 0, "name": "AMD Instinct MI300X", "totalGlobalMem": 206141652992, "numSms": 304}
    document = {
        "schemaVersion": 1,
        "deviceProperties": [gpu],
        "hip_runtime_version": 60443483,
        "record_shapes": 1,
        "traceEvents": trace.events,
    }
    text = json.dumps(document, separators=(",", ":")).encode()
    Path(sys.argv[1]).write_bytes(gzip.compress(text, 9, mtime=0))


if __name__ == "__main__":
    main()
