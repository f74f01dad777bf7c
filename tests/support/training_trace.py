"""Training steps made by hand, as torch.profiler records them: modules, operators, autograd, GPU.

Times are µs. The host runs the forward pass and the optimizer on thread 1, autograd the backward
pass on thread 2, in the layers' reverse order. Sequence numbers tie the two.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Event = dict[str, Any]
MAIN, AUTOGRAD = 1, 2
STEP_US = 100_000
_GPU_DELAY_US = 50


@dataclass(frozen=True)
class Kernel:
    """A kernel of ``us`` on a stream; ``graph_node`` of kernels that a graph replays.

    ``early_us``: its blocks start so long before the kernel before it ends, and wait for that.
    """

    name: str
    us: int = 10
    stream: int = 7
    graph_node: int | None = None
    grid: int = 264
    early_us: int = 0


@dataclass(frozen=True)
class Layer:
    """A module that calls an operator, and the kernels of both passes."""

    module: str
    operator: str
    node: str
    forward: Sequence[Kernel] = ()
    backward: Sequence[Kernel] = ()


@dataclass(frozen=True)
class Step:
    """The layers of a model in their order, and the optimizer's kernels.

    ``strays`` are kernels that no host call launched.
    """

    layers: Sequence[Layer]
    optimizer: Sequence[Kernel] = (Kernel("multi_tensor_apply_kernel<Adam>"),)
    strays: Sequence[Kernel] = ()


@dataclass
class _Recorder:
    events: list[Event] = field(default_factory=list)
    correlation: int = 0
    gpu_free: dict[int, int] = field(default_factory=dict)
    now: int = 0

    def span(self, category: str, name: str, thread: int, start: int, **args: Any) -> None:
        event = {"ph": "X", "cat": category, "name": name, "pid": 1, "tid": thread, "ts": start}
        self.events.append(event | {"dur": self.now - start, "args": args})

    def launch(
        self, kernels: Sequence[Kernel], thread: int, call: str = "cudaLaunchKernel"
    ) -> None:
        for kernel in kernels:
            self.correlation += 1
            self.now += 1
            start = self.now
            self.now += 2
            self.span("cuda_runtime", call, thread, start, correlation=self.correlation)
            self.run(kernel, self.correlation)

    def run(self, kernel: Kernel, correlation: int | None) -> None:
        start = max(self.now + _GPU_DELAY_US, self.gpu_free.get(kernel.stream, 0))
        self.gpu_free[kernel.stream] = start + kernel.us
        start -= kernel.early_us
        args: Event = {"device": 0, "stream": kernel.stream, "grid": [kernel.grid, 1, 1]}
        args |= {"block": [128, 1, 1]}
        if correlation is not None:
            args["correlation"] = correlation
        if kernel.graph_node is not None:
            args["graph node id"] = kernel.graph_node
        event = {"ph": "X", "cat": "kernel", "name": kernel.name, "pid": 0, "tid": kernel.stream}
        self.events.append(event | {"ts": start, "dur": kernel.us + kernel.early_us, "args": args})


def events(step: Step, steps: int = 2) -> list[Event]:
    """Return the events of some equal steps, each marked as torch.profiler marks it."""
    recorder = _Recorder()
    for number in range(steps):
        begin = recorder.now = number * STEP_US + 1
        first = 1 + number * len(step.layers)
        for place, layer in enumerate(step.layers):
            _forward(recorder, layer, first + place)
        for place, layer in reversed(list(enumerate(step.layers))):
            _backward(recorder, layer, first + place)
        _optimizer(recorder, step.optimizer)
        for kernel in step.strays:
            recorder.run(kernel, None)
        recorder.now += 10
        recorder.span("user_annotation", f"ProfilerStep#{number}", MAIN, begin)
    return recorder.events


def _forward(recorder: _Recorder, layer: Layer, sequence: int) -> None:
    recorder.now += 1
    outer = recorder.now
    recorder.now += 1
    start = recorder.now
    recorder.launch(layer.forward, MAIN)
    recorder.now += 1
    args = {"Sequence number": sequence, "Fwd thread id": 0}
    recorder.span("cpu_op", layer.operator, MAIN, start, **args)
    recorder.now += 1
    recorder.span("python_function", f"nn.Module: {layer.module}", MAIN, outer)


def _backward(recorder: _Recorder, layer: Layer, sequence: int) -> None:
    recorder.now += 1
    start = recorder.now
    recorder.launch(layer.backward, AUTOGRAD)
    recorder.now += 1
    name = f"autograd::engine::evaluate_function: {layer.node}"
    args = {"Sequence number": sequence, "Fwd thread id": 1}
    recorder.span("cpu_op", name, AUTOGRAD, start, **args)


def _optimizer(recorder: _Recorder, kernels: Sequence[Kernel]) -> None:
    recorder.now += 1
    start = recorder.now
    recorder.launch(kernels, MAIN)
    recorder.now += 1
    recorder.span("user_annotation", "Optimizer.step#AdamW.step", MAIN, start)


def graph_replay(kernels: Sequence[Kernel]) -> list[Event]:
    """Return the events of one step that launches one graph of these kernels."""
    recorder = _Recorder(now=1)
    recorder.correlation = 1
    recorder.now = 3
    recorder.span("cuda_runtime", "cudaGraphLaunch", MAIN, 2, correlation=1)
    for kernel in kernels:
        recorder.run(kernel, 1)
    recorder.now += 10
    recorder.span("user_annotation", "ProfilerStep#0", MAIN, 1)
    return recorder.events


def write(path: Path, of: Sequence[Event]) -> Path:
    """Write events as a trace and return its path."""
    path.write_text(json.dumps({"traceEvents": list(of)}))
    return path


def gpt2_kernels() -> Iterator[Layer]:
    """Yield GPT-2's layers with llm.c's kernels in the order of its step, one ms each.

    karpathy/llm.c, train_gpt2.cu: its audit script finds phases by their order and their names.
    """
    ms = 1000

    def of(*names: str) -> list[Kernel]:
        return [Kernel(name, ms) for name in names]

    yield Layer(
        "Embedding_0",
        "aten::embedding",
        "EmbeddingBackward0",
        of("encoder_forward_kernel3"),
        of("wpe_backward_kernel", "wte_backward_kernel"),
    )
    for number in range(2):
        yield Layer(
            f"LayerNorm_{number}",
            "aten::native_layer_norm",
            "NativeLayerNormBackward0",
            of("fused_residual_forward_kernel5"),
            of("layernorm_backward_kernel10"),
        )
        yield Layer(
            f"Linear_{number}",
            "aten::addmm",
            "AddmmBackward0",
            of("ampere_bf16_s16816gemm"),
            of("matmul_backward_bias_kernel9", "ampere_bf16_s16816gemm", "ampere_bf16_s16816gemm"),
        )
    yield Layer(
        "CrossEntropyLoss_0",
        "aten::cross_entropy_loss",
        "NllLossBackward0",
        of("fused_classifier_kernel5"),
        of("ampere_bf16_s16816gemm"),
    )
