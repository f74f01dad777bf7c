"""The description of a step, and constructors for the families of steps.

The kernels check these numbers when they are built (``LAUNCHED_WITH`` in kernels/common.cuh), so a
launch with another tile, block or amount of shared memory than the kernel was written for is an
error of the build.
"""

import re
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
    iteration. ``architecture``: the oldest that it runs on. ``maps``: which of "abc" are passed as
    TMA tensor maps and not as pointers; ``box_rows``: rows of their boxes. ``shared_bytes``:
    dynamic shared memory. ``align``: what K and N have to be a multiple of. ``macros``: passed to
    the compiler. ``source``: the kernel's name, if it differs from the step's. ``pdl``: whether it
    may be launched before the previous kernel in the stream ends (programmatic dependent
    launch). ``ping_pong``: whether a consumer stores its tile while the other multiplies the next.
    ``evenly``: whether a persistent step launches no more blocks than the number of its waves
    needs.
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
    pdl: bool = False
    ping_pong: bool = False
    evenly: bool = False

    @property
    def file(self) -> str:
        """The source, in ``kernels/``; a rung has two digits there, so that files sort in order."""
        return re.sub(r"^h(?=\d_)", "h0", self.kernel) + ".cu"

    @property
    def kernel(self) -> str:
        """The entry point's name."""
        return self.source or self.name

    def takes(self, m: int, n: int, k: int) -> bool:
        """Return whether the kernel computes this shape; ``fallback`` takes the others."""
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
        at_once = min(sms * self.blocks_per_sm // size, clusters)
        if self.evenly:
            waves = -(-clusters // at_once)
            at_once = -(-clusters // waves)
        return at_once * size, 1, 1

    def defines(self) -> dict[str, int]:
        """Return the macros to compile with: the configuration, and what the launch assumes."""
        return self.macros | {
            "PDL": int(self.pdl),
            "LAUNCH_TILE_M": self.tile[0],
            "LAUNCH_TILE_N": self.tile[1],
            "LAUNCH_THREADS": self.threads,
            "LAUNCH_SHARED_BYTES": self.shared_bytes,
        }


def ring_bytes(tile_m: int, tile_n: int, stages: int, store_boxes: int = 0) -> int:
    """Return the bytes of a circular buffer of stages, two barriers each, and of C's boxes."""
    stage = (tile_m + tile_n) * BOX * ELEMENT_BYTES
    return stages * (stage + 16) + store_boxes * BOX * BOX * ELEMENT_BYTES


def portable(
    name: str, label: str, why: str, threads: int = 256, stages: int = 1, **macros: int
) -> Step:
    """Return a step on mma.sync, 128 by 128 tile; several stages use dynamic shared memory."""
    tile_k = 64 if stages > 1 else 32
    buffer = stages * (128 + 128) * tile_k * ELEMENT_BYTES if stages > 1 else 0
    return Step(
        name,
        label,
        why,
        PORTABLE,
        (128, 128, tile_k),
        threads=threads,
        shared_bytes=buffer,
        stages=stages,
        macros={"STAGES": stages} | macros if stages > 1 else macros,
    )


def hopper(
    name: str,
    label: str,
    why: str,
    tile: tuple[int, int],
    threads: int,
    *,
    stages: int = 1,
    cluster: tuple[int, int] = (1, 1),
    persistent: bool = False,
    maps: str = "ab",
    store_boxes: int = 0,
) -> Step:
    """Return a step on TMA and wgmma; a single stage needs no empty barrier."""
    return Step(
        name,
        label,
        why,
        HOPPER,
        (*tile, BOX),
        threads=threads,
        shared_bytes=ring_bytes(*tile, stages, store_boxes) - (8 if stages == 1 else 0),
        stages=stages,
        cluster=cluster,
        persistent=persistent,
        maps=maps,
        box_rows=(tile[0], BOX, BOX),
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
) -> Step:
    """Return a configuration of h7; the macros are described in the kernel.

    Its name lists tile, cluster, height of a group of clusters, stages, boxes of C.
    """
    tile_m = 64 * consumers * consumer_m
    described = f"t{tile_m}x{tile_n}_c{cluster[0]}x{cluster[1]}_g{group}_s{stages}_b{store_boxes}"
    described += f"_x{blocks_per_sm}" * (blocks_per_sm > 1)
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
        },
        source="h7_tile_order",
        evenly=True,
    )


def ping_pong(
    name: str = "",
    label: str = "",
    *,
    consumer_m: int = 2,
    tile_n: int = 128,
    stages: int = 6,
    cluster: tuple[int, int] = (1, 2),
    group: int = 16,
    store_boxes: int = 2,
) -> Step:
    """Return a configuration of h8; the macros are described in the kernel."""
    tile_m = 64 * consumer_m
    described = f"p{tile_m}x{tile_n}_c{cluster[0]}x{cluster[1]}_g{group}_s{stages}_b{store_boxes}"
    return Step(
        name or described,
        label or described,
        "One consumer stores its tile while the other multiplies the next.",
        HOPPER,
        (tile_m, tile_n, BOX),
        threads=384,
        shared_bytes=ring_bytes(tile_m, tile_n, stages, 2 * store_boxes) + 2 * 8,
        stages=stages,
        cluster=cluster,
        persistent=True,
        maps="abc",
        box_rows=(tile_m // cluster[1], BOX, BOX),
        macros={
            "CONSUMER_M": consumer_m,
            "TILE_N": tile_n,
            "STAGES": stages,
            "CLUSTER_M": cluster[0],
            "CLUSTER_N": cluster[1],
            "GROUP": group,
            "STORE_BOXES": store_boxes,
        },
        source="h8_ping_pong",
        ping_pong=True,
        evenly=True,
    )


def split(
    name: str = "", label: str = "", *, tile_n: int = 128, stages: int = 5, split_k: int = 2
) -> Step:
    """Return a configuration of h10: ``split_k`` blocks of a cluster share a tile's K."""
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
        source="h10_split_k",
    )
