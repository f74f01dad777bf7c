"""The families of kernels that compute C in tiles of 64 rows and more: their configurations.

A layout names how A and B lie, in BLAS's letters: "nn" is A of M by K and B of K by N; "t" in the
first place is A of K by M, in the second B of N by K, as ``nn.Linear`` keeps its weight.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from ladder import BOX, ELEMENT_BYTES, HOPPER, MAX_SHARED, Step, ring_bytes

LAYOUTS = ("nn", "nt", "tn", "tt")
BARRIER_BYTES = 8
NARROW_BOX = 32
"""Columns of a narrow box of rows of k; TMA reads 64 bytes of each."""
ATOM, SMALL_BOX = 8, 16
"""Rows of a swizzle atom, with which a box begins; of a box where atoms do not come out even."""


@dataclass(frozen=True)
class Tiling:
    """A configuration of stream_k, ping_pong or split_k; the macros are described in stream_k.

    ``cluster``: blocks that share loads. ``store_boxes``: split_k stores from registers.
    ``swapped``: C's transpose is computed, with A and B in each other's place, and transposed while
    it is stored. ``depth``: the K of a stage, in 64. ``padded``: of a fine tile, that rows of B are
    rows of k; their last box reaches into the next tile.
    """

    consumers: int
    consumer_m: int
    tile_n: int
    stages: int
    cluster: tuple[int, int] = (1, 1)
    group: int = 8
    store_boxes: int = 2
    kernel: str = "stream_k"
    swapped: bool = False
    depth: int = 1
    padded: bool = False

    @property
    def tile_m(self) -> int:
        """Rows of C in a tile."""
        return 64 * self.consumer_m * (1 if self.kernel == "ping_pong" else self.consumers)

    @property
    def tile(self) -> tuple[int, int, int]:
        """Rows and columns of C in a tile, and the K of a step."""
        return self.tile_m, self.tile_n, BOX * self.depth

    @property
    def barriers(self) -> int:
        """Barriers of a stage: see ring.cuh."""
        return 2 if self.cluster == (1, 1) else 3

    @property
    def leaves_parts(self) -> bool:
        """Whether it can leave the parts of shared tiles to add_parts: see stream_k."""
        return self.kernel == "stream_k" and not (self.swapped or self.fine)

    @property
    def fine(self) -> bool:
        """Whether a tile's columns are no multiple of 32: TMA stores C."""
        return self.tile_n % NARROW_BOX != 0

    @property
    def b_box(self) -> int:
        """Columns of a box of a B with rows of k: 32 where of 64 half of the last were too many."""
        return NARROW_BOX if 0 < self.tile_n % BOX <= NARROW_BOX else BOX

    def b_columns(self, *, rows_of_k: bool) -> int:
        """Return the columns of B in a stage: of rows of k whole boxes."""
        return -(-self.tile_n // self.b_box) * self.b_box if rows_of_k else self.tile_n

    @property
    def stored_columns(self) -> int:
        """Columns of a tile that a box of C holds."""
        return self.tile_n // 2 if self.fine or (self.swapped and self.tile_n % BOX) else BOX

    @property
    def box_bytes(self) -> int:
        """Bytes of such a box."""
        return BOX * self.stored_columns * ELEMENT_BYTES

    @property
    def name(self) -> str:
        """Tile (p: of ping_pong, x: swapped), cluster, height of a group of clusters, stages.

        Then the K of a stage, if it is not 64.
        """
        down, across = self.cluster
        kind = "p" * (self.kernel == "ping_pong") + "x" * self.swapped
        tile = f"{kind}{self.tile_m}x{self.tile_n}"
        deep = f"_k{BOX * self.depth}" * (self.depth > 1)
        return f"{tile}_c{down}x{across}_g{self.group}_s{self.stages}{deep}"


GROUP_ROWS, MOST_GROUP_HEIGHT = 2048, 16
"""Rows of C that a group of tiles covers, whose columns of B are read again from L2; and the most
clusters that it is high."""
MOST_STAGES, MOST_SHARED_STAGES = {1: 8, 2: 5}, {1: 16, 2: 8}
"""Stages of the ring at most, by their depth: of a block that loads alone, and of one in a cluster,
whose loads wait for other blocks. More loads of a lone block only come later, all of them."""
SMALL = 64 * 80
"""Elements of a tile up to which a stage holds 128 of K: the products of 64 take no longer than a
consumer's wait for them."""
Sizes = tuple[int, int, int, tuple[tuple[int, int], ...]]
"""``consumers``, ``consumer_m`` and ``tile_n`` of a ``Tiling``, and its clusters."""


def _tilings(
    sizes: Iterable[Sizes], kernel: str = "stream_k", *, swapped: bool = False
) -> Iterator[Tiling]:
    """Yield tilings that fill shared memory, fine ones for either order of B."""
    for consumers, consumer_m, tile_n, clusters in sizes:
        for cluster in clusters:
            sized = Tiling(consumers, consumer_m, tile_n, 1, cluster, 1, 1, kernel, swapped)
            if sized.tile_m * tile_n <= SMALL:
                sized = replace(sized, depth=2)
            yield _filled(sized)
            if sized.fine:
                yield _filled(replace(sized, padded=True))


def _filled(tiling: Tiling) -> Tiling:
    """Return a tiling with as many stages, then as many boxes, as shared memory holds.

    Tiles of whole boxes of C have two at least: of a single one the next 64 columns wait until TMA
    has read it. To the others, with narrow boxes of B, and to tiles of 64 rows in clusters of four
    and more, a further stage is worth more.
    """
    consumers = tiling.consumers
    across = -(-tiling.tile_n // tiling.stored_columns)
    stored = tiling.consumer_m * across if tiling.kernel != "split_k" else 0
    stage = _stage_bytes(tiling, tiling.b_columns(rows_of_k=tiling.padded or not tiling.fine))
    room = MAX_SHARED - consumers * BARRIER_BYTES
    blocks = math.prod(tiling.cluster)
    two = tiling.tile_n % BOX == 0 and (consumers > 1 or blocks <= 2)
    least = consumers * tiling.box_bytes * min(2 if two else 1, stored)
    most_stages = MOST_STAGES if blocks == 1 else MOST_SHARED_STAGES
    stages = min(most_stages[tiling.depth], (room - least) // stage)
    most = (room - stages * stage) // (consumers * tiling.box_bytes)
    boxes = max((n for n in range(1, most + 1) if stored and stored % n == 0), default=0)
    group = min(MOST_GROUP_HEIGHT, GROUP_ROWS // (tiling.tile_m * tiling.cluster[0]))
    return replace(tiling, stages=stages, group=group, store_boxes=boxes)


def _stage_bytes(tiling: Tiling, columns: int) -> int:
    """Return the bytes of a stage and its barriers, of ``columns`` of B in shared memory."""
    operands = ring_bytes(tiling.tile_m, columns, 1) - 2 * BARRIER_BYTES
    return tiling.depth * operands + BARRIER_BYTES * tiling.barriers


_PAIRS = (2, 1), (1, 2)
_EIGHTS = (2, 4), (4, 2)
_STREAMS: tuple[Sizes, ...] = (
    (2, 2, 192, ((1, 2),)),
    (2, 2, 160, ((1, 2),)),
    (2, 2, 144, ((1, 2),)),
    (2, 2, 128, ((1, 1), (1, 2))),
    (3, 1, 192, ((1, 1), (1, 2))),
    (3, 1, 160, ((2, 1),)),
    (3, 1, 128, _PAIRS),
    (3, 1, 112, (*_PAIRS, *_EIGHTS)),
    (3, 1, 96, ((1, 1), *_PAIRS)),
    (2, 1, 256, ((1, 1), (2, 1), (2, 2))),
    (2, 1, 240, ((2, 1),)),
    (2, 1, 224, ((2, 1), (4, 2))),
    (2, 1, 208, (*_PAIRS, (4, 2))),
    (2, 1, 192, ((1, 1), *_PAIRS, *_EIGHTS)),
    (2, 1, 176, (*_PAIRS, (2, 4))),
    (2, 1, 160, ((1, 1), *_PAIRS, (4, 1), (4, 2))),
    (2, 1, 144, (*_PAIRS, (4, 2))),
    (2, 1, 128, ((1, 1), *_PAIRS, (1, 4), *_EIGHTS)),
    (2, 1, 112, ((1, 1), *_PAIRS, (4, 2))),
    (2, 1, 96, ((1, 1), *_PAIRS, (1, 4), (4, 2))),
    (2, 1, 80, ((1, 1), *_PAIRS, (2, 4))),
    (2, 1, 64, ((1, 1), *_PAIRS)),
    (2, 1, 32, ((1, 1),)),
    (1, 1, 256, ((1, 1),)),
    (1, 1, 192, (*_PAIRS, (1, 4), (4, 1))),
    (1, 1, 176, ((4, 1), (2, 4))),
    (1, 1, 160, ((2, 1), (1, 4), (4, 1), (4, 2))),
    (1, 1, 144, ((4, 1), (2, 4))),
    (1, 1, 128, ((1, 1), *_PAIRS, (1, 4), (4, 1), *_EIGHTS)),
    (1, 1, 112, ((1, 1), *_PAIRS, (4, 1), (2, 4))),
    (1, 1, 96, ((1, 1), *_PAIRS, (1, 4), (4, 1), *_EIGHTS)),
    (1, 1, 80, ((1, 1), (2, 1), *_EIGHTS)),
    (1, 1, 64, ((1, 1), *_PAIRS, (4, 1), *_EIGHTS)),
    (1, 1, 48, ((1, 1), *_PAIRS, *_EIGHTS)),
    (1, 1, 32, ((1, 1), (4, 1), (1, 4), (4, 2))),
)
_SWAPPED: tuple[Sizes, ...] = (
    (2, 2, 80, ((1, 2),)),
    (3, 1, 176, ((2, 1),)),
    (3, 1, 160, ((1, 2),)),
    (3, 1, 128, _PAIRS),
    (3, 1, 112, ((1, 1), *_PAIRS, (2, 4))),
    (3, 1, 96, ((1, 1), *_PAIRS, (2, 4))),
    (2, 1, 240, ((2, 1),)),
    (2, 1, 224, ((2, 1), (4, 2))),
    (2, 1, 208, ((2, 1), (4, 2))),
    (2, 1, 192, ((2, 1),)),
    (2, 1, 176, ((2, 1), (2, 4))),
    (2, 1, 160, (*_PAIRS, (4, 1))),
    (2, 1, 144, _PAIRS),
    (2, 1, 128, ((2, 1), (1, 4), (2, 4))),
    (2, 1, 112, ((1, 1), *_PAIRS, (4, 2))),
    (2, 1, 96, (*_PAIRS, (1, 4), *_EIGHTS)),
    (2, 1, 80, ((1, 1), (2, 1), (2, 4))),
    (1, 1, 192, ((4, 1),)),
    (1, 1, 176, ((4, 1), (2, 4))),
    (1, 1, 160, ((4, 1), (2, 4))),
    (1, 1, 144, ((4, 1), (2, 4))),
    (1, 1, 128, ((2, 1), *_EIGHTS)),
    (1, 1, 112, ((2, 1), (4, 1), (2, 4))),
    (1, 1, 96, ((2, 1), (4, 1), *_EIGHTS)),
    (1, 1, 80, ((1, 1), (2, 1), *_EIGHTS)),
    (1, 1, 64, ((2, 1), (4, 2))),
    (1, 1, 48, ((2, 1), *_EIGHTS)),
    (1, 1, 32, ((4, 1), (2, 4))),
)
_PING_PONGS: tuple[Sizes, ...] = (
    (2, 2, 192, ((1, 1), (1, 2))),
    (2, 2, 176, _PAIRS),
    (2, 2, 160, _PAIRS),
    (2, 2, 144, _PAIRS),
    (2, 2, 128, ((1, 1), *_PAIRS)),
)
_SPLITS: tuple[Sizes, ...] = (
    (3, 1, 192, ((1, 1),)),
    (3, 1, 128, ((1, 1),)),
    (2, 1, 256, ((1, 1),)),
    (2, 1, 192, ((1, 1), (2, 1))),
    (2, 1, 128, ((1, 1), (2, 1))),
    (2, 1, 64, ((1, 1), (2, 1))),
    (2, 1, 32, ((1, 1),)),
    (1, 1, 128, ((1, 1), (2, 1))),
    (1, 1, 80, ((2, 2),)),
    (1, 1, 64, ((1, 1), (2, 1), (2, 2))),
    (1, 1, 32, ((1, 1), (1, 2), (1, 4))),
)
_SWAPPED_SPLITS: tuple[Sizes, ...] = (
    (2, 1, 160, ((1, 1), (2, 1))),
    (1, 1, 112, ((2, 1),)),
)
TILINGS = (
    *_tilings(_STREAMS),
    *_tilings(_SWAPPED, swapped=True),
    *_tilings(_PING_PONGS, "ping_pong"),
)
"""What stream_k and ping_pong are built with."""
SPLITS = (
    *_tilings(_SPLITS, "split_k"),
    *_tilings(_SWAPPED_SPLITS, "split_k", swapped=True),
)
"""What split_k is built with."""

TOLD = {
    "stream_k": ("stream-K", "What whole waves leave over is cut along K into equal parts."),
    "ping_pong": (
        "ping-pong",
        "One consumer stores its tile while the other multiplies the next.",
    ),
    "split_k": (
        "split-K",
        "A cluster's blocks take a part of K each and add through shared memory.",
    ),
}
"""A title and a sentence for each kernel of ``Tiling``."""


def tiled(tiling: Tiling, layout: str, *, tma_store: bool) -> Step:
    """Return stream_k, ping_pong or split_k for a layout.

    ``layout``: of the operands as the kernel takes them, in each other's place if it is swapped.
    ``tma_store``: rows of C begin at multiples of 16 bytes; split_k is the same for others.
    """
    a_mn, b_mn = layout[0] == "t", layout[1] == "n"
    down, across = tiling.cluster
    columns = tiling.b_columns(rows_of_k=b_mn)
    split = tiling.kernel == "split_k"
    name = f"{'split' if split else 'stream'}_{tiling.name}_{layout}"
    macros = {
        "A_MN": int(a_mn),
        "B_MN": int(b_mn),
        "B_BOX": tiling.b_box,
        "CONSUMERS": tiling.consumers,
        "CONSUMER_M": tiling.consumer_m,
        "TILE_N": tiling.tile_n,
        "STAGES": tiling.stages,
        "CLUSTER_M": down,
        "CLUSTER_N": across,
        "GROUP": tiling.group,
        "DEPTH": tiling.depth,
    }
    stores = {"C_TRANSPOSED": int(tiling.swapped)}
    if not split:
        stores |= {"TMA_STORE": int(tma_store), "STORE_BOXES": tiling.store_boxes}
        stores |= {"STORE_COLUMNS": tiling.stored_columns}
    return Step(
        name if split or tma_store else f"{name}_odd",
        *TOLD[tiling.kernel],
        HOPPER,
        tiling.tile,
        threads=128 * (1 + tiling.consumers),
        shared_bytes=tiling.stages * _stage_bytes(tiling, columns)
        + tiling.consumers * (tiling.store_boxes * tiling.box_bytes + BARRIER_BYTES) * (not split),
        stages=tiling.stages,
        cluster=tiling.cluster,
        persistent=not split,
        maps="ab" if split else "abc",
        box_rows=(
            box_rows(a_mn, tiling.tile_m, across, BOX),
            box_rows(b_mn, columns, down, tiling.b_box),
            tiling.stored_columns if tiling.swapped else BOX,
        ),
        align=1,
        macros=macros | stores,
        source=tiling.kernel,
        pdl=True,
        ping_pong=tiling.kernel == "ping_pong",
    )


def box_rows(rows_of_k: bool, span: int, parts: int, columns: int) -> int:
    """Return the rows of a box where ``parts`` blocks share an operand: see Part in boxes.cuh.

    ``columns``: of a box of rows of k.
    """
    if not rows_of_k:
        return SMALL_BOX if span % (ATOM * parts) else span // parts
    return BOX if span // parts % columns == 0 else BOX // parts
