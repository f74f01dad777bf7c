"""The ladder as data: what each step is, how it is launched, and why it was taken.

The kernels check these numbers when they are built (``LAUNCHED_WITH`` in kernels/common.cuh), so a
launch with another tile, block or amount of shared memory than the kernel was written for is an
error of the build.
"""

from dataclasses import dataclass, field

ELEMENT_BYTES = 2
BOX = 64
"""Elements in a row of a TMA box: 128 bytes, the widest that the 128-byte swizzle takes."""
MAX_SHARED = 232_448
"""Bytes of shared memory that one block may have on sm_90 (227 KiB)."""
SMS = 132
"""Multiprocessors of an H100 SXM or H200: the default where the device does not say."""

PORTABLE, HOPPER = "sm_80", "sm_90a"


@dataclass(frozen=True)
class Step:
    """One kernel of the ladder, or one configuration of it.

    ``tile``: rows and columns of C that one block (not one cluster) computes, and the K of one
    iteration. ``maps``: what is passed as a TMA tensor map, in the order of the kernel's
    parameters; other operands are passed as pointers. ``shared_bytes``: dynamic shared memory.
    ``align``: what K and N have to be a multiple of. ``macros``: passed to the compiler.
    """

    name: str
    label: str
    why: str
    architecture: str
    tile: tuple[int, int, int]
    threads: int
    shared_bytes: int = 0
    stages: int = 1
    cluster: tuple[int, int] = (1, 1)
    blocks_per_sm: int = 1
    persistent: bool = False
    split_k: int = 1
    maps: str = ""
    box_rows: tuple[int, int, int] = (0, 0, 0)
    align: int = 8
    fast: bool = True
    macros: dict[str, int] = field(default_factory=dict)
    source: str = ""

    @property
    def file(self) -> str:
        """The source, in ``kernels/``."""
        return f"{self.kernel}.cu"

    @property
    def kernel(self) -> str:
        """The entry point's name."""
        return self.source or self.name

    def takes(self, m: int, n: int, k: int) -> bool:
        """Whether the kernel computes this shape; see ``fallback`` for the rest."""
        return min(m, n, k) >= 1 and n % self.align == 0 and k % self.align == 0

    def grid(self, m: int, n: int, sms: int = SMS) -> tuple[int, int, int]:
        """Return how many blocks to launch, for C of ``m`` by ``n`` on ``sms`` multiprocessors."""
        rows, columns = -(-m // self.tile[0]), -(-n // self.tile[1])
        if self.split_k > 1:
            return rows * columns * self.split_k, 1, 1
        if not self.persistent:
            return columns, rows, 1
        size = self.cluster[0] * self.cluster[1]
        clusters = -(-rows // self.cluster[0]) * -(-columns // self.cluster[1])
        return min(sms * self.blocks_per_sm // size, clusters) * size, 1, 1

    def defines(self) -> dict[str, int]:
        """Return the macros to compile with: the configuration, and what the launch assumes."""
        return self.macros | {
            "LAUNCH_TILE_M": self.tile[0],
            "LAUNCH_TILE_N": self.tile[1],
            "LAUNCH_THREADS": self.threads,
            "LAUNCH_SHARED_BYTES": self.shared_bytes,
        }


def ring_bytes(tile_m: int, tile_n: int, stages: int, store_boxes: int = 0) -> int:
    """Return the shared memory of a ring of stages with its two barriers each, and C's boxes."""
    stage = (tile_m + tile_n) * BOX * ELEMENT_BYTES
    return stages * (stage + 16) + store_boxes * BOX * BOX * ELEMENT_BYTES


def _hopper(
    name: str,
    label: str,
    why: str,
    tile: tuple[int, int],
    threads: int,
    *,
    shared_bytes: int,
    stages: int = 1,
    cluster: tuple[int, int] = (1, 1),
    persistent: bool = False,
    maps: str = "ab",
) -> Step:
    """Return a step on TMA and wgmma whose operands are whole boxes of the tile."""
    return Step(
        name,
        label,
        why,
        HOPPER,
        (*tile, BOX),
        threads=threads,
        shared_bytes=shared_bytes,
        stages=stages,
        cluster=cluster,
        persistent=persistent,
        maps=maps,
        box_rows=(tile[0], BOX, BOX),
    )


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


def configured(
    name: str = "",
    label: str = "",
    *,
    consumers: int = 2,
    consumer_m: int = 1,
    tile_n: int = 256,
    stages: int = 4,
    cluster: tuple[int, int] = (2, 1),
    group: int = 8,
    store_boxes: int = 2,
    blocks_per_sm: int = 1,
    stream_c: int = 0,
) -> Step:
    """Return a configuration of h7; the macros are described in the kernel.

    The name says it all: tile, cluster, height of a group of clusters, stages, boxes of C.
    """
    tile_m = 64 * consumers * consumer_m
    described = f"t{tile_m}x{tile_n}_c{cluster[0]}x{cluster[1]}_g{group}_s{stages}_b{store_boxes}"
    described += f"_x{blocks_per_sm}" * (blocks_per_sm > 1) + "_stream" * stream_c
    return Step(
        name or described,
        label or described,
        "Blocks that run together read a near square of A's rows and B's columns from L2.",
        HOPPER,
        (tile_m, tile_n, BOX),
        threads=128 * (1 + consumers),
        shared_bytes=ring_bytes(tile_m, tile_n, stages, consumers * store_boxes),
        stages=stages,
        cluster=cluster,
        blocks_per_sm=blocks_per_sm,
        persistent=True,
        maps="abc",
        box_rows=(tile_m // cluster[1], BOX, BOX),
        macros={
            "CONSUMERS": consumers,
            "CONSUMER_M": consumer_m,
            "TILE_N": tile_n,
            "STAGES": stages,
            "CLUSTER_M": cluster[0],
            "CLUSTER_N": cluster[1],
            "GROUP": group,
            "STORE_BOXES": store_boxes,
            "BLOCKS_PER_SM": blocks_per_sm,
            "STREAM_C": stream_c,
        },
        source="h7_tile_order",
    )


def split(
    name: str = "", label: str = "", *, tile_n: int = 128, stages: int = 5, split_k: int = 2
) -> Step:
    """Return a configuration of h8: ``split_k`` blocks of a cluster share a tile's K."""
    described = f"t128x{tile_n}_k{split_k}_s{stages}"
    return Step(
        name or described,
        label or described,
        "A small C has too few tiles: several blocks share one and add through shared memory.",
        HOPPER,
        (128, tile_n, BOX),
        threads=384,
        shared_bytes=ring_bytes(128, tile_n, stages),
        stages=stages,
        split_k=split_k,
        maps="ab",
        box_rows=(128, BOX, BOX),
        macros={"TILE_N": tile_n, "STAGES": stages, "SPLIT": split_k},
        source="h8_split_k",
    )


LADDER: tuple[Step, ...] = (
    _hopper(
        "h0_wgmma",
        "TMA + wgmma",
        "wgmma reads both operands from shared memory: the mma.sync wall is gone.",
        (64, 64),
        threads=128,
        shared_bytes=ring_bytes(64, 64, 1) - 8,
    ),
    _hopper(
        "h1_larger_tile",
        "128 × 128 tile",
        "Twice the FLOP for each byte that crosses L2 and shared memory.",
        (128, 128),
        threads=128,
        shared_bytes=ring_bytes(128, 128, 1) - 8,
    ),
    _hopper(
        "h2_warp_specialized",
        "producer warp, ring of 5 stages",
        "Loads run ahead of the tensor cores instead of alternating with them.",
        (128, 128),
        threads=160,
        stages=5,
        shared_bytes=ring_bytes(128, 128, 5),
    ),
    _hopper(
        "h3_two_consumers",
        "128 × 256 tile, two consumers",
        "The widest wgmma reads the fewest bytes of shared memory for a FLOP.",
        (128, 256),
        threads=384,
        stages=4,
        shared_bytes=ring_bytes(128, 256, 4),
    ),
    _hopper(
        "h4_persistent",
        "a block for each multiprocessor",
        "The ring is filled for the next tile while this one is written.",
        (128, 256),
        threads=384,
        stages=4,
        persistent=True,
        shared_bytes=ring_bytes(128, 256, 4),
    ),
    _hopper(
        "h5_tma_store",
        "stmatrix, TMA store",
        "Whole lines instead of half sectors, and the warpgroup does not wait for them.",
        (128, 256),
        threads=384,
        stages=4,
        persistent=True,
        maps="abc",
        shared_bytes=ring_bytes(128, 256, 4, store_boxes=4),
    ),
    _hopper(
        "h6_multicast",
        "cluster of two, B multicast",
        "Two blocks read 64 KB instead of 96 KB from L2 in a step.",
        (128, 256),
        threads=384,
        stages=4,
        cluster=(2, 1),
        persistent=True,
        maps="abc",
        shared_bytes=ring_bytes(128, 256, 4, store_boxes=4),
    ),
    configured("h7_tile_order", "tiles in groups"),
    split("h8_split_k", "K split over a cluster"),
)

STEPS: dict[str, Step] = {step.name: step for step in (*LADDER, FALLBACK)}

CANDIDATES: dict[str, Step] = {
    step.name: step
    for step in (
        # Large C: the fewest bytes for a FLOP; they differ in what a cluster shares and in order.
        configured(group=4),
        configured(group=8),
        configured(group=16),
        configured(group=8, stream_c=1),
        configured(group=8, stages=3, store_boxes=4),
        configured(group=16, cluster=(1, 1)),
        configured(group=16, cluster=(1, 2)),
        configured(group=8, cluster=(1, 2), consumer_m=2, tile_n=128),
        configured(group=4, cluster=(2, 1), consumer_m=2, tile_n=128),
        configured(group=8, cluster=(1, 2), consumer_m=2, tile_n=192, stages=3),
        configured(group=8, cluster=(1, 1), consumer_m=2, tile_n=192, stages=3),
        # Tiles that fit another number of columns, or fill the last wave better.
        configured(group=16, cluster=(1, 2), tile_n=192, store_boxes=3),
        configured(group=16, cluster=(1, 1), tile_n=192, store_boxes=3),
        configured(group=8, cluster=(2, 1), tile_n=128, stages=6),
        configured(group=16, cluster=(1, 1), tile_n=128, stages=6),
        configured(
            group=16,
            cluster=(1, 1),
            consumers=1,
            consumer_m=2,
            tile_n=128,
            stages=3,
            store_boxes=1,
            blocks_per_sm=2,
        ),
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
        split(split_k=4),
        split(tile_n=256, stages=4, split_k=4),
        split(tile_n=64, stages=8),
    )
}
"""Configurations of the best kernel among which a dispatcher chooses, by shape."""

EVERY: dict[str, Step] = STEPS | CANDIDATES


def suite() -> list[tuple[int, int, int]]:
    """Return M, N, K of the shapes that the whole is judged by.

    Squares; the projections of an 8B Llama decoder with 4096 tokens; one whose 128 by 256 tiles
    are 18 for each of 132 multiprocessors; the linear layers of GPT-2 in training.
    """
    squares = [(size, size, size) for size in (1024, 2048, 4096, 8192, 16384)]
    llama = [(6144, 4096), (4096, 4096), (28672, 4096), (4096, 14336)]
    gpt2 = [(2304, 768), (768, 768), (3072, 768), (768, 3072)]
    return [
        *squares,
        *((4096, n, k) for n, k in llama),
        (8448, 9216, 4096),
        *((24576, n, k) for n, k in gpt2),
    ]
