"""The ladder as data: each step's configuration, launch and reason."""

import argparse
import re
from dataclasses import replace

from step import PORTABLE, Step, configured, hopper, ping_pong, portable, split

FALLBACK = Step(
    "fallback",
    "any shape",
    "Rows that do not begin at multiples of 16 bytes can be read by neither TMA nor 16-byte loads.",
    PORTABLE,
    (64, 64, 32),
    threads=128,
    align=1,
    fast=False,
)


BASELINES = ("torch", "cublaslt")
"""The baselines of every step: torch.mm and cuBLASLt's best."""

COUNTERS = Step(
    "clocks",
    "cycles and nanoseconds of every multiprocessor",
    "NVML tells the clock of a moment.",
    PORTABLE,
    (1, 1, 1),
    threads=1,
    shared_bytes=131_072,  # a multiprocessor has room for one block
    fast=False,
)

LADDER: tuple[Step, ...] = (
    portable(
        "p0_wmma",
        "WMMA, 2-byte loads",
        "Tensor cores, and each element read from global memory once per block: the baseline.",
    ),
    portable(
        "p1_vectorized",
        "16-byte loads and stores",
        "One instruction, address and bounds check for 8 elements; all loads of a step in flight.",
    ),
    portable(
        "p2_padding",
        "padded shared memory",
        "8 rows of a fragment begin in one or two banks and conflict; padding spreads them.",
    ),
    portable(
        "p3_ldmatrix",
        "ldmatrix and mma.sync",
        "Sums go from registers to C; an address for each row makes the swizzle possible.",
    ),
    portable(
        "p4_swizzle",
        "XOR swizzle",
        "As free of conflicts as padding, without its bytes.",
    ),
    portable(
        "p5_warp_tile",
        "64 × 64 warp tile",
        "Reads of shared memory grow with a warp tile's edges, products with its area.",
        threads=128,
    ),
    portable(
        "p6_multistage",
        "cp.async, 3-stage pipeline",
        "Loads start two K steps ahead and hold no registers; a K step is 64 instead of 32.",
        threads=128,
        stages=3,
    ),
    portable(
        "p7_double_buffer",
        "register double buffering",
        "ldmatrix of the next 16 of K runs beside mma.sync of these.",
        threads=128,
        stages=3,
    ),
    portable(
        "p8_block_swizzle",
        "threadblock swizzle",
        "Blocks that run together read a near square of A's rows and B's columns from L2.",
        threads=128,
        stages=3,
        GROUP=16,
    ),
    hopper(
        "h0_wgmma",
        "TMA and wgmma",
        "wgmma reads both operands from shared memory: the mma.sync wall is gone.",
        (64, 64),
        threads=128,
    ),
    hopper(
        "h1_larger_tile",
        "128 × 128 CTA tile",
        "Twice the FLOP for each byte that crosses L2 and shared memory.",
        (128, 128),
        threads=128,
    ),
    hopper(
        "h2_warp_specialized",
        "producer warp, 5-stage pipeline",
        "Loads run ahead of the tensor cores instead of alternating with them.",
        (128, 128),
        threads=160,
        stages=5,
    ),
    hopper(
        "h3_two_consumers",
        "128 × 256 CTA tile, two consumers",
        "The widest wgmma reads the fewest bytes of shared memory for a FLOP.",
        (128, 256),
        threads=384,
        stages=4,
    ),
    hopper(
        "h4_persistent",
        "persistent kernel",
        "The pipeline is filled for the next tile while this one is written.",
        (128, 256),
        threads=384,
        stages=4,
        persistent=True,
    ),
    hopper(
        "h5_tma_store",
        "stmatrix and TMA store",
        "Whole lines instead of half sectors, and the warpgroup does not wait for them.",
        (128, 256),
        threads=384,
        stages=4,
        persistent=True,
        maps="abc",
        store_boxes=4,
    ),
    hopper(
        "h6_multicast",
        "cluster of two, B multicast",
        "Two blocks read 64 KB instead of 96 KB from L2 in a step.",
        (128, 256),
        threads=384,
        stages=4,
        cluster=(2, 1),
        persistent=True,
        maps="abc",
        store_boxes=4,
    ),
    configured("h7_tile_order", "threadblock rasterisation"),
    ping_pong("h8_ping_pong", "ping-pong warp specialisation"),
    replace(
        ping_pong("h9_pdl", "PDL (programmatic dependent launch)"),
        why="Blocks of the next kernel start, and wait for this one, while its last ones end.",
        source="h9_pdl",
        pdl=True,
    ),
    split("h10_split_k", "split-K over a cluster"),
)

STEPS: dict[str, Step] = {step.name: step for step in (*LADDER, FALLBACK)}

RUNGS: dict[str, Step] = {step.name.partition("_")[0]: step for step in LADDER}
"""The ladder by the short names that the manifest uses: p0 to p8, h0 to h10."""

CANDIDATES: dict[str, Step] = {
    step.name: replace(step, pdl=True)
    for step in (
        # Large C: the fewest bytes for a FLOP; they differ in what a cluster shares and in order.
        configured(group=8),
        configured(group=4),
        configured(group=16, cluster=(1, 1)),
        configured(group=16, cluster=(1, 2)),
        configured(group=8, cluster=(1, 2), consumer_m=2, tile_n=128),
        configured(group=8, cluster=(1, 2), consumer_m=2, tile_n=192, stages=3),
        # Tiles that fit another number of columns, or fill the last wave better.
        configured(group=16, cluster=(1, 2), tile_n=192, store_boxes=3),
        configured(group=16, cluster=(1, 1), tile_n=192, store_boxes=3),
        configured(group=8, cluster=(2, 1), tile_n=128, stages=6),
        configured(group=16, cluster=(1, 1), tile_n=128, stages=6),
        # Ping-pong consumers: the gap at a tile's end is closed, for more bytes a FLOP.
        ping_pong(),
        ping_pong(cluster=(1, 1)),
        ping_pong(tile_n=192, cluster=(1, 1), stages=5, store_boxes=1),
        ping_pong(tile_n=192, stages=5, store_boxes=1),
        ping_pong(consumer_m=1, tile_n=256, cluster=(1, 1), stages=5, store_boxes=1),
        # Small C: more tiles, or several blocks to a tile.
        configured(group=16, cluster=(1, 1), consumers=1, stages=5),
        configured(group=16, cluster=(1, 1), tile_n=64, stages=8, store_boxes=1),
        configured(
            group=16,
            cluster=(1, 1),
            consumers=1,
            tile_n=128,
            stages=4,
            store_boxes=1,
            blocks_per_sm=2,
        ),
        split(),
        split(tile_n=64, stages=8),
    )
}
"""Configurations among which a dispatcher chooses, by shape; all of them with PDL, as h9."""

EVERY: dict[str, Step] = STEPS | CANDIDATES


def named(text: str) -> str:
    """Return the name of a step or configuration unchanged, for argparse."""
    if text not in EVERY:
        raise argparse.ArgumentTypeError(f"no step {text!r}; there are: {', '.join(EVERY)}")
    return text


def beginning(text: str) -> str:
    """Return a prefix of step names, for argparse; a rung such as "h1" means that step alone."""
    text = RUNGS[text].name if text in RUNGS else text
    if not any(name.startswith(text) for name in EVERY):
        raise argparse.ArgumentTypeError(f"no step begins with {text!r}; see steps.py")
    return text


def shapes_of(text: str) -> list[tuple[int, int, int]]:
    """Return "MxNxK" as a list of one shape, or "suite" as all of them, for argparse."""
    if text == "suite":
        return suite()
    if not re.fullmatch(r"[1-9]\d*x[1-9]\d*x[1-9]\d*", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no shape: MxNxK, or suite")
    m, n, k = (int(size) for size in text.split("x"))
    return [(m, n, k)]


def suite() -> list[tuple[int, int, int]]:
    """Return M, N, K of the benchmark's shapes.

    Squares; the projections of an 8B Llama decoder with 4096 tokens; one whose 128 by 256 tiles
    are 18 for each of 132 multiprocessors; the linear layers of GPT-2 in training.
    """
    squares = [(size, size, size) for size in (1024, 2048, 4096, 8192, 16384)]
    llama = [(6144, 4096), (4096, 4096), (28672, 4096), (4096, 14336)]
    gpt2 = [(2304, 768), (768, 768), (3072, 768), (768, 3072)]
    shapes = [
        *squares,
        *((4096, n, k) for n, k in llama),
        (8448, 9216, 4096),
        *((24576, n, k) for n, k in gpt2),
    ]
    return list(dict.fromkeys(shapes))  # 4096 cubed is a square and a projection
