"""The ways to compute a product of any shape and layout: kernel, tile, cut of K, copies."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

from dots import Dots, dotted, spreads
from families import LAYOUTS, SPLITS, TILINGS, Tiling, tiled
from ladder import BOX, CANDIDATES, ELEMENT_BYTES, SMS, Shape, Step
from slicings import (
    BLOCKS_AT_ONCE,
    LEAST_STEPS,
    MOST_SLICES,
    WIDE,
    Slicing,
    narrow_sizes,
    narrow_ways,
    slice_counts,
    sliced,
)

CHUNK = 8
"""Elements of 16 bytes, which rows that TMA reads or writes have to be a multiple of."""
GPC = 16
"""Multiprocessors that a graphics processing cluster (GPC) has at least, but one of them only half
as many. A cluster of blocks lies within one."""
MORE_TILES = 1.1
"""Times as many tiles that fill waves as cover a matrix, below which they are not worth a plan."""
PARTS = (1, 2, 3, 4, 8)
"""Into how many parts split_k cuts K."""
FILLED = 0.5
"""The least share of its waves' tiles that C covers, for tiles that are to fit it closely."""
LINE = 64
"""Elements of a line of L2. A row of a TMA box is as long, and lies in two lines of most others."""
READ_AGAIN = 1536
"""Columns of C from which A may be copied to rows that begin at lines, and rows of C for B: a copy
moves the operand once, the product reads it for each of their tiles."""
SMALLEST = 64 * 128
"""Elements of the smallest tile: few others start as fast where C is smaller still."""
STREAMED_BYTES, STREAMED_SIDE = 64 << 20, 64
"""A product that reads more bytes and has at most so many rows or columns is a pass over weights. A
launch of it that begins early streams them through L2 against the kernel that still runs. On an
H200 some such products take a quarter longer with programmatic dependent launch (PDL), few gain by
it, and the geometric mean is in favour of doing without: see the case real-layers."""


@dataclass(frozen=True)
class Problem:
    """C = A @ B: the shape, how A and B lie, and whether the addresses of A, B and C allow TMA.

    ``packed``: whether the rows of all three follow each other without a gap.
    """

    shape: Shape
    layout: str = "nn"
    based: tuple[bool, bool, bool] = (True, True, True)
    packed: bool = True

    def __post_init__(self) -> None:
        if self.layout not in LAYOUTS:
            raise ValueError(f"no layout {self.layout!r}; there are {', '.join(LAYOUTS)}")

    @property
    def stored(self) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]]:
        """Rows and columns of A, B and C as they lie in memory."""
        m, n, k = self.shape
        a = (k, m) if self.layout[0] == "t" else (m, k)
        b = (n, k) if self.layout[1] == "t" else (k, n)
        return a, b, (m, n)

    @property
    def aligned(self) -> tuple[bool, bool, bool]:
        """Whether TMA reads A, reads B, writes C as they lie.

        A single row is read whatever its length; TMA writes 16 bytes at once, past the end of one.
        """
        a, b, c = (
            based and (rows == 1 or columns % CHUNK == 0)
            for based, (rows, columns) in zip(self.based, self.stored, strict=True)
        )
        return a, b, c and self.shape[1] % CHUNK == 0


def mnk(shape: Shape) -> str:
    """Return MxNxK."""
    return "x".join(map(str, shape))


def describe(problem: Problem) -> str:
    """Return shape and layout without a space."""
    return f"{mnk(problem.shape)}:{problem.layout}"


def understood(text: str) -> Problem:
    """Return the problem that ``describe`` wrote, or that of a shape alone; else ``ValueError``."""
    shape, _, layout = text.partition(":")
    found = re.fullmatch(r"([1-9]\d*)x([1-9]\d*)x([1-9]\d*)", shape, re.ASCII)
    if not found:
        raise ValueError(f"{text!r} is no MxNxK, three sizes as in 4096x14336x4096")
    m, n, k = map(int, found.groups())
    return Problem((m, n, k), layout or "nn")


def as_read(problem: Problem) -> Problem:
    """Return the problem as the kernels read it: a column of contiguous elements is a row.

    A of one row lies the same in both orders, as does B of one column; TMA reads a row.
    """
    m, n, _ = problem.shape
    first, second = problem.layout
    if not problem.packed:
        return problem
    return replace(problem, layout=("n" if m == 1 else first) + ("t" if n == 1 else second))


def exchanged(problem: Problem) -> Problem:
    """Return the problem of C's transpose, the product of both transposes: no byte moves."""
    m, n, k = problem.shape
    layout = "".join("t" if order == "n" else "n" for order in reversed(problem.layout))
    a, b, c = problem.based
    return replace(problem, shape=(n, m, k), layout=layout, based=(b, a, c))


def overlaps(problem: Problem) -> bool:
    """Return whether launches may begin while the kernel before them ends (PDL)."""
    m, n, k = problem.shape
    return ELEMENT_BYTES * (m + n) * k <= STREAMED_BYTES or min(m, n) > STREAMED_SIDE


@dataclass(frozen=True)
class Plan:
    """A kernel's configuration, into how many parts it cuts K, and what is copied before it.

    ``spread``: stream_k's tiles (of a cluster) whose K is spread over all ``units``, all tiles of
    split_k; sliced's clusters for each tile. ``units``: stream_k's clusters; all blocks of split_k;
    the blocks of sliced's or dots' cluster; dots spreads a row's K over so many warps of a block.
    ``copied``: whether A and B are copied to rows that TMA reads. ``tiles``: of sliced along the
    wide side, more than cover it, so that they fill whole waves; 0: as many as cover it.
    ``added``: whether a kernel of its own adds stream_k's parts. A step of the ladder cuts nothing.
    """

    config: Tiling | Slicing | Dots | Step
    spread: int
    units: int
    copied: tuple[bool, bool] = (False, False)
    added: bool = False
    tiles: int = 0

    @property
    def name(self) -> str:
        """A unique name."""
        if isinstance(self.config, Step):
            return self.kernel
        copies = "".join(name for name, copy in zip("ab", self.copied, strict=True) if copy)
        cut = f"{self.spread}/{self.units}" + "r" * self.added + f"/{self.tiles}" * bool(self.tiles)
        return f"{self.kernel}/{cut}" + f"+{copies}" * bool(copies)

    @property
    def kernel(self) -> str:
        """The kernel's name, in whatever layout."""
        if isinstance(self.config, Step):
            return self.config.name
        if isinstance(self.config, Slicing):
            return f"sliced_{self.config.name}"
        if isinstance(self.config, Dots):
            return f"dots_{self.config.name}"
        kind = "split" if self.config.kernel == "split_k" else "stream"
        return f"{kind}_{self.config.name}"

    def step(self, problem: Problem) -> Step:
        """Return the kernel to build."""
        problem = self.computed(problem)
        if isinstance(self.config, Step):
            return self.config
        if isinstance(self.config, Tiling):
            tma_store = self.swapped or problem.aligned[2]
            return tiled(self.config, problem.layout, tma_store=tma_store)
        if isinstance(self.config, Dots):
            return dotted(self.config, problem.layout)
        return sliced(self.config, problem.layout)

    @property
    def swapped(self) -> bool:
        """Whether it computes C's transpose."""
        return isinstance(self.config, Tiling) and self.config.swapped

    def apart(self, wide: int, tile: int) -> int:
        """Return how many rows of sliced's wide side lie between the beginnings of two tiles.

        ``wide``: rows of that side. ``tile``: rows of a tile.
        """
        return -(-wide // self.tiles) if self.tiles else tile

    def computed(self, problem: Problem) -> Problem:
        """Return the problem as the kernel takes it: ``as_read``, or that of C's transpose."""
        read = as_read(problem)
        return exchanged(read) if self.swapped else read


def clusters_at_once(step: Tiling | Step) -> int:
    """Return how many clusters run at the same time, with a block on each multiprocessor."""
    return _clusters_of(math.prod(step.cluster))


def cluster_tiles(step: Tiling | Step, shape: Shape) -> int:
    """Return the number of tiles, each of a cluster, that cover C."""
    down, across = step.cluster
    tile_m, tile_n = step.tile[:2]
    return -(-shape[0] // (tile_m * down)) * -(-shape[1] // (tile_n * across))


def plans(problem: Problem) -> list[Plan]:
    """Return every plan for a problem."""
    problem = as_read(problem)
    streams, splits = _streams(problem), _splits(problem)
    dots = (Plan(*cut) for cut in spreads(problem.shape, problem.layout))
    return [*streams, *splits, *dots, *_slices(problem), *_rungs(problem)]


def _rungs(problem: Problem) -> Iterator[Plan]:
    """Yield the ladder's persistent kernels, for the layout and rows that they take."""
    if not _climbs(problem):
        return
    m, n, k = problem.shape
    for step in CANDIDATES.values():
        if step.persistent and step.takes(m, n, k) and m >= BOX and n >= BOX:
            yield Plan(step, 0, step.grid(m, n)[0] // math.prod(step.cluster))


def _climbs(problem: Problem) -> bool:
    """Return whether the ladder's kernels take the layout and rows; some of them are ping-pong."""
    return problem.layout == "nn" and problem.packed and all(problem.aligned)


def _streams(problem: Problem) -> Iterator[Plan]:
    for tiling, copied in product(TILINGS, _copies(problem)):
        steps, least = _steps(tiling, problem)
        if tiling.kernel == "ping_pong" and _climbs(problem) and not any(copied):
            continue
        computed = exchanged(problem) if tiling.swapped else problem
        if not _fits(tiling, computed.shape):
            continue
        tiles, at_once = cluster_tiles(tiling, computed.shape), clusters_at_once(tiling)
        waves = -(-tiles // at_once)
        few = tiling.fine or tiling.swapped
        if few and not _few_waves(tiling, problem, computed.layout, waves * at_once):
            continue
        yield Plan(tiling, 0, -(-tiles // waves), copied)
        if at_once < tiles <= SMS // math.prod(tiling.cluster):  # perhaps at once all the same
            yield Plan(tiling, 0, tiles, copied)
        if tiling.kernel == "ping_pong" or (few and tiles < at_once):
            continue
        for spread, units in _cuts(tiles, at_once, steps, least):
            yield Plan(tiling, spread, units, copied)
        most = min(at_once // tiles, steps // least) if tiling.leaves_parts else 0
        for count in sorted({most, most // 2} - {0, 1}):
            yield Plan(tiling, tiles, tiles * count, copied, added=True)


def _copies(problem: Problem) -> list[tuple[bool, bool]]:
    """Return whether A and B are copied: those that TMA does not read, or also those worth it."""
    needed = [not aligned for aligned in problem.aligned[:2]]
    m, n, _ = problem.shape
    pairs = zip(needed, problem.stored[:2], (n, m), strict=True)
    worth = [need or (row % LINE != 0 and again >= READ_AGAIN) for need, (_, row), again in pairs]
    return list(dict.fromkeys(((needed[0], needed[1]), (worth[0], worth[1]))))


def _few_waves(tiling: Tiling, problem: Problem, layout: str, places: int) -> bool:
    """Return whether a tile that is fine or swapped can be computed, and fills its waves.

    ``layout``: of the operands as the kernel takes them. ``places``: for tiles of a cluster in as
    many waves as C takes. TMA has to store C.
    """
    m, n, _ = problem.shape
    area = math.prod((tiling.tile_m, tiling.tile_n, *tiling.cluster))
    can = problem.aligned[2] and _takes(tiling, layout)
    return can and m * n >= FILLED * places * area


def _takes(tiling: Tiling, layout: str) -> bool:
    """Return whether a tile takes B as it lies: a fine one with rows of k only if it is padded."""
    return not tiling.fine or tiling.padded == (layout[1] == "n")


def _splits(problem: Problem) -> Iterator[Plan]:
    """Yield split_k's plans: all clusters run at once, and each block has a few steps.

    Swapped tiles may also stay whole, as stream_k's do. They have to occupy half of the
    multiprocessors, and are for more than a few rows and columns, which sliced takes.
    """
    a, b, _ = problem.aligned
    for tiling in SPLITS:
        steps, least = _steps(tiling, problem)
        computed = exchanged(problem) if tiling.swapped else problem
        if not (_fits(tiling, computed.shape) and _takes(tiling, computed.layout)):
            continue
        if tiling.swapped and min(problem.shape[:2]) <= BOX:
            continue
        tiles, sharing = cluster_tiles(tiling, computed.shape), math.prod(tiling.cluster)
        for parts in PARTS[0 if tiling.swapped and sharing == 1 else 1 :]:
            if parts * sharing > MOST_SLICES or parts > max(1, steps // least):
                break
            if tiles > _clusters_of(parts * sharing):
                break
            if not tiling.swapped or 2 * tiles * parts * sharing >= SMS:
                yield Plan(tiling, tiles, tiles * parts, (not a, not b))


def _clusters_of(blocks: int) -> int:
    """Return how many clusters of so many blocks surely run at once, a block a multiprocessor."""
    if blocks <= 2:
        return SMS // blocks
    return (SMS // GPC - 1) * (GPC // blocks) + GPC // 2 // blocks


def _fits(tiling: Tiling, shape: Shape) -> bool:
    """Return whether a cluster's tile is less than twice as large as C both ways, or small."""
    down, across = tiling.cluster
    rows, columns = tiling.tile_m * down, tiling.tile_n * across
    fits = rows < 2 * max(shape[0], BOX) and columns < 2 * max(shape[1], BOX)
    return fits or rows * columns == SMALLEST


def _steps(tiling: Tiling, problem: Problem) -> tuple[int, int]:
    """Return the steps of K of a tile, and how many of them a part has at least."""
    return -(-problem.shape[2] // tiling.tile[2]), max(1, LEAST_STEPS // tiling.depth)


def _cuts(tiles: int, at_once: int, steps: int, least: int) -> Iterator[tuple[int, int]]:
    """Yield the ways to spread tiles over units: tiles spread, units."""
    if tiles % at_once == 0:
        return
    if tiles > at_once:  # more than one tile's steps for each unit: few sharers, short sums
        yield tiles % at_once + at_once, at_once
        return
    most = min(at_once, tiles * steps // least)
    parts = {most // tiles, most // tiles // 2} - {0, 1}
    yield from ((tiles, tiles * count) for count in sorted(parts))
    if most > tiles and most % tiles and most < 3 * tiles:
        yield tiles, most


def _slices(problem: Problem) -> Iterator[Plan]:
    m, n, k = problem.shape
    steps = -(-k // BOX)
    a, b, _ = problem.aligned
    for few_rows in (True, False):
        wide, few = (n, m) if few_rows else (m, n)
        if few > 4 * wide:
            continue
        x_tma, y_tma = (b, a) if few_rows else (a, b)
        rows_of_k = problem.layout[0] == "t" if few_rows else problem.layout[1] == "n"
        for by_tma, transposed, copied in narrow_ways(y_tma, turned=rows_of_k and few <= BOX):
            sizes = narrow_sizes(rows_of_k=rows_of_k and not transposed, tma=by_tma)
            narrow = next((size for size in sizes if size >= few), sizes[-1])
            copies = (few_rows and copied, copied and not few_rows)
            for size in sorted({narrow, min(narrow, BOX)} & set(sizes)):
                slicing = Slicing(few_rows, size, x_tma, by_tma, transposed)
                for of_size in (slicing, replace(slicing, wide=WIDE // 2)):
                    down, across = -(-wide // of_size.wide), -(-few // size)
                    if of_size != slicing and down * across > 2 * BLOCKS_AT_ONCE * SMS:
                        continue  # tiles of 128 rows occupy all multiprocessors by themselves
                    for groups, slices in slice_counts(down * across, steps):
                        plan = Plan(of_size, groups, slices, copies)
                        yield plan
                        more = 0 if x_tma else _even_tiles(wide, down, across * groups, slices)
                        if more:
                            yield replace(plan, tiles=more)


def _even_tiles(wide: int, down: int, clusters: int, slices: int) -> int:
    """Return how many tiles along the wide side fill the waves that ``down`` leave a part of.

    At most twice as many. 0 if those would gain little. ``clusters``: of ``slices`` blocks, for
    each of these tiles.
    """
    at_once = _clusters_of(slices)
    waves = -(-down * clusters // at_once)
    most = min(waves * at_once // clusters, 2 * down)
    tiles = -(-wide // -(-wide // max(most, down)))
    return tiles if waves <= BLOCKS_AT_ONCE and tiles >= MORE_TILES * down else 0
