"""The steps of 8-bit operands (e4m3), and how they are launched.

f0 to f3 are kernels/f0_scaled.cu in four configurations: h7's tiles, h8's consumers, scales by
block, and these with consumers that alternate. They are not among ``steps.LADDER``: their operands
are other ones.
"""

import ctypes
from dataclasses import replace
from pathlib import Path
from typing import Any

from launch import (
    MAX_BOUND,
    PROGRAMMATIC_SERIALIZATION,
    Launch,
    LaunchAttribute,
    LaunchConfig,
    LaunchError,
    TensorMap,
    load,
    multiprocessors,
)
from scaled_operands import BLOCK, Product
from step import BOX, HOPPER, Step, ring_bytes


def configured(
    name: str,
    label: str,
    why: str,
    *,
    blocks: bool = False,
    alternate: bool = False,
    ping_pong: bool = False,
    consumer_m: int = 1,
    tile_n: int = 256,
    stages: int = 4,
    cluster: tuple[int, int] = (2, 1),
    group: int = 8,
    store_boxes: int = 2,
) -> Step:
    """Return a configuration of f0; the macros are described in the kernel.

    ``blocks``: scales of 1 by 128 and 128 by 128 instead of one a row and column; with
    ``alternate`` one consumer multiplies while the other adds. A stage has as many bytes as one of
    16-bit operands, so twice the K.
    """
    tile_m = 64 * consumer_m * (1 if ping_pong else 2)
    return Step(
        name,
        label,
        why,
        HOPPER,
        (tile_m, tile_n, 2 * BOX),
        threads=384,
        shared_bytes=ring_bytes(tile_m, tile_n, stages, 2 * store_boxes) + 2 * 8,
        stages=stages,
        cluster=cluster,
        persistent=True,
        maps="abc",
        box_rows=(tile_m // cluster[1], tile_n // cluster[0], BOX),
        align=16,
        macros={
            "BLOCKS": int(blocks),
            "ALTERNATE": int(alternate),
            "PING_PONG": int(ping_pong),
            "CONSUMER_M": consumer_m,
            "TILE_N": tile_n,
            "STAGES": stages,
            "CLUSTER_M": cluster[0],
            "CLUSTER_N": cluster[1],
            "GROUP": group,
            "STORE_BOXES": store_boxes,
        },
        source="f0_scaled",
        pdl=True,
        ping_pong=ping_pong,
        evenly=True,
    )


STEPS: dict[str, Step] = {
    step.name.partition("_")[0]: step
    for step in (
        configured(
            "f0_scaled",
            "e4m3, a scale a row",
            "8-bit products have twice the rate: h7 with twice the K in a stage.",
        ),
        configured(
            "f1_ping_pong",
            "e4m3, a scale a row, ping-pong",
            "A tile ends after half the time: one consumer stores while the other multiplies.",
            ping_pong=True,
            consumer_m=2,
            tile_n=128,
            stages=6,
            cluster=(1, 2),
            group=16,
        ),
        configured(
            "f2_blocks",
            "e4m3, a scale a 1 × 128 and a 128 × 128",
            "Scales that change with K: each step's sums are scaled and added by the threads.",
            blocks=True,
            tile_n=192,
            store_boxes=3,
        ),
        configured(
            "f3_alternating",
            "the same, consumers alternate",
            "Both consumers add at the same time: now one multiplies while the other adds.",
            blocks=True,
            alternate=True,
            tile_n=192,
            store_boxes=3,
        ),
    )
}
"""By the short names that results use."""
WAITING = {f"{name}-waiting": replace(step, pdl=False) for name, step in STEPS.items()}
"""The same without PDL: each launch begins when the previous kernel has ended."""


class ScaledKernel:
    """A step's cubin, loaded into the current context; ``sms``: as ``launch.Kernel``'s."""

    def __init__(self, step: Step, cubin: Path, sms: int = 0) -> None:
        self.step = step
        self._function = load(cubin, step)
        self._sms = sms or multiprocessors()
        self._bound: dict[int, Launch] = {}

    def __call__(self, product: Product) -> Any:
        """Compute ``product.c`` on torch's current stream, and return it."""
        import torch

        launch = self._bound.get(product.c.data_ptr())
        if launch is None:
            if len(self._bound) >= MAX_BOUND:
                self._bound.clear()
            launch = self._bound[product.c.data_ptr()] = self.bind(product)
        launch(torch.cuda.current_stream().cuda_stream)
        return product.c

    def bind(self, product: Product) -> Launch:
        """Return the launch for these operands; ``LaunchError`` for a shape it does not take."""
        m, n, k = product.shape
        blocks = bool(self.step.macros["BLOCKS"])
        if not self.step.takes(m, n, k) or (blocks and k % BLOCK):
            raise LaunchError(f"{self.step.name} does not take {m} x {n} x {k}")
        scaled = product.blocks if blocks else product.rows
        rows_a, rows_b, rows_c = self.step.box_rows
        # TMA moves bytes: a pair of 8-bit elements is a 16-bit one to it.
        maps = [
            TensorMap("bf16", scaled.a.data_ptr(), m, k // 2, (rows_a, BOX)),
            TensorMap("bf16", scaled.b.data_ptr(), n, k // 2, (rows_b, BOX)),
            TensorMap("bf16", product.c.data_ptr(), m, n, (rows_c, BOX)),
        ]
        scales = [ctypes.c_void_p(each.data_ptr()) for each in (scaled.scale_a, scaled.scale_b)]
        values = [*scales, *(ctypes.c_int(size) for size in (m, n, k))]
        addresses = [each.address for each in maps] + [ctypes.addressof(each) for each in values]
        parameters = (ctypes.c_void_p * len(addresses))(*addresses)
        pdl = LaunchAttribute(PROGRAMMATIC_SERIALIZATION, b"", 1)
        config = LaunchConfig(
            self.step.grid(m, n, self._sms),
            (self.step.threads, 1, 1),
            self.step.shared_bytes,
            None,
            ctypes.pointer(pdl),
            self.step.pdl,
        )
        return Launch(self._function, config, parameters, [*maps, *values, product])
