"""What a plan asks of the GPU, counted from shape and tile: the model's exact part.

``model.py`` turns these counts into a time with a few constants that are fitted.
"""

import math
from dataclasses import dataclass, replace
from itertools import compress

from device import H200
from dots import BLOCK_WARPS, Dots
from families import Tiling
from ladder import BOX, ELEMENT_BYTES, SMS
from plans import Plan, Problem, as_read, cluster_tiles, clusters_at_once
from slicings import Slicing

FMA_PER_CYCLE = 2048
"""Dense 16-bit multiply-adds per cycle of a multiprocessor's tensor cores."""
SHARED_BYTES_PER_CYCLE = 128
"""Bytes per cycle that wgmma reads from a multiprocessor's shared memory."""
LINE = 128
"""Bytes of a line of L2: a row of a TMA box, where rows begin at multiples of it."""
LOAD_BYTES = 16
"""Bytes that a thread of dots loads at once."""
SHARED_OF_SM = 233_472
FLOAT_BYTES = 4


@dataclass(frozen=True)
class Demand:
    """The counts of a plan. Per step of K, of one block unless said otherwise.

    ``waves``: how often the multiprocessors are filled. ``steps``: of the unit with most work, in
    them ``shared_steps`` of shared tiles. ``together``: blocks on a multiprocessor. ``tensor``,
    ``operands``: cycles of the tensor cores, of reading shared memory. ``lines``, ``crossing``:
    rows of 128 bytes that come through L2, of them those that lie in two lines. ``arriving``: rows
    that come into shared memory, those too that other blocks of the cluster load. ``stages``: steps
    in flight. ``realigned``: rows of 128 bytes that threads load and shift. ``active``:
    multiprocessors with work. ``ends``: tiles that the unit ends; ``stored``: accumulators of a
    thread; ``odd``: C is stored element by element; ``overlapped``: while another consumer works.
    ``blocks``: of the grid. ``sums``: fp32 bytes that the last sharer of a tile writes and reads;
    ``slices``, ``groups``: blocks and clusters that add up. ``memory``, ``copied``: bytes of A, B
    and C; of copies. ``dram``: that the GPU's memory moves in a µs at its peak. ``added``: bytes of
    the parts that a kernel of its own adds.
    """

    sliced: bool
    waves: float
    steps: float
    shared_steps: float
    together: int
    tensor: float
    operands: float
    lines: float
    crossing: float
    arriving: float
    stages: int
    realigned: float
    active: int
    ends: int
    stored: int
    odd: bool
    overlapped: bool
    blocks: int
    sums: float
    slices: int
    groups: int
    memory: int
    dram: float
    copied: int
    added: int

    @property
    def loaded(self) -> float:
        """Bytes that come through L2 in all; copies and parts that are added count once."""
        return LINE * self.lines * self.steps * self.blocks + self.copied + self.added


def demand(plan: Plan, problem: Problem, dram: float = H200) -> Demand:
    """Return the counts of a plan; ``dram``: the GPU's memory's peak bandwidth in bytes per µs."""
    problem = as_read(problem)
    if isinstance(plan.config, Slicing):
        return _sliced(plan, plan.config, problem, dram)
    if isinstance(plan.config, Dots):
        return _dotted(plan, plan.config, problem, dram)
    counted = _persistent(plan, problem, dram)
    if isinstance(plan.config, Tiling) and plan.config.kernel == "split_k":
        return _split(plan, plan.config, counted)
    return counted


def _persistent(plan: Plan, problem: Problem, dram: float) -> Demand:
    """Return the counts of stream_k, or of a kernel of the ladder."""
    of = plan.step(problem)
    tile_m, tile_n, tile_k = of.tile
    steps = -(-problem.shape[2] // tile_k) * (tile_k // BOX)
    computed = plan.computed(problem)
    shape = computed.shape
    columns = tile_n
    if isinstance(plan.config, Tiling):
        columns = plan.config.b_columns(rows_of_k=computed.layout[1] == "n")
    crossing = _crossing(plan, problem)
    down, across = of.cluster
    together = of.blocks_per_sm
    rows = tile_m / across, columns / down
    tiles = cluster_tiles(of, shape)
    whole = -(-(tiles - plan.spread) // plan.units)
    part = plan.spread * steps / plan.units
    sharers = max(2.0, plan.units / plan.spread) if plan.spread else 0.0
    tile_bytes = tile_m * tile_n * FLOAT_BYTES
    added = plan.units * down * across * tile_bytes if plan.added else 0
    sums = (1 + sharers * (not plan.added)) * tile_bytes if plan.spread else 0.0
    return Demand(
        sliced=False,
        waves=max(1.0, plan.units / (clusters_at_once(of) * together)),
        steps=whole * steps + math.ceil(part),
        shared_steps=0 if plan.added else math.ceil(part),
        together=together,
        tensor=tile_m * tile_n * BOX / FMA_PER_CYCLE,
        operands=tile_m / BOX * (BOX + tile_n) * LINE / SHARED_BYTES_PER_CYCLE,
        lines=sum(rows),
        crossing=sum(compress(rows, crossing[::-1] if plan.swapped else crossing)),
        arriving=tile_m + columns,
        stages=of.stages * tile_k // BOX,
        realigned=0.0,
        active=min(SMS, plan.units * down * across),
        ends=whole + math.ceil(part / steps),
        stored=tile_m * tile_n // (of.threads - 128) if of.threads > 128 else tile_n,
        odd=not problem.aligned[2],
        overlapped=of.ping_pong,
        blocks=plan.units * down * across,
        sums=sums,
        slices=1,
        groups=1,
        memory=_memory(problem),
        dram=dram,
        copied=_copied(plan, problem),
        added=added,
    )


def _split(plan: Plan, tiling: Tiling, counted: Demand) -> Demand:
    """Return the counts of split_k: its blocks hand over through shared memory, not a workspace."""
    tile_bytes = tiling.tile_m * tiling.tile_n * FLOAT_BYTES
    slices = plan.units // plan.spread
    return replace(counted, shared_steps=0, odd=False, sums=2.0 * tile_bytes, slices=slices)


def _sliced(plan: Plan, slicing: Slicing, problem: Problem, dram: float) -> Demand:
    m, n, k = problem.shape
    wide, few = (n, m) if slicing.few_rows else (m, n)
    crossing = _crossing(plan, problem)
    wide_crosses, few_crosses = crossing[::-1] if slicing.few_rows else crossing
    crosses = wide_crosses, few_crosses and not slicing.transposed
    apart = plan.apart(wide, slicing.wide)
    blocks = -(-wide // apart) * -(-few // slicing.narrow) * plan.units * plan.spread
    stage_bytes = (slicing.wide + slicing.narrow) * LINE
    room = SHARED_OF_SM // (slicing.stages * stage_bytes + 1024) if slicing.by_tma else 1
    together = min(max(1, room), -(-blocks // SMS))
    rows = apart, slicing.narrow
    tile_bytes = slicing.wide * slicing.narrow * FLOAT_BYTES
    parts = (1 + plan.spread) / plan.units if plan.spread > 1 else 0.0  # of tiles, of each group
    return Demand(
        sliced=True,
        waves=-(-blocks // (SMS * together)),
        steps=math.ceil(-(-k // BOX) / (plan.units * plan.spread)),
        shared_steps=0,
        together=together,
        tensor=slicing.wide * max(slicing.narrow, 32) * BOX / FMA_PER_CYCLE,
        operands=slicing.wide // BOX * (BOX + slicing.narrow) * LINE / SHARED_BYTES_PER_CYCLE,
        lines=sum(rows),
        crossing=sum(compress(rows, crosses)),
        arriving=sum(rows),
        stages=slicing.stages,
        realigned=sum(compress(rows, (not slicing.x_tma, not slicing.y_tma))),
        active=min(SMS, blocks),
        ends=1,
        stored=slicing.narrow // 2,
        odd=not problem.aligned[2],
        overlapped=False,
        blocks=blocks,
        sums=tile_bytes * (2.0 * (plan.units > 1) + parts),
        slices=plan.units,
        groups=plan.spread,
        memory=_memory(problem),
        dram=dram,
        copied=2 * ELEMENT_BYTES * few * k * slicing.transposed + _copied(plan, problem),
        added=0,
    )


def _dotted(plan: Plan, dots: Dots, problem: Problem, dram: float) -> Demand:
    """Return the counts of dots, in steps of 64 k of a block; its loads are those of all warps."""
    m, n, k = problem.shape
    of = plan.step(problem)
    wide, few = (n, m) if dots.few_rows else (m, n)
    crosses = _crossing(plan, problem)[:: -1 if dots.few_rows else 1]
    height = dots.rows * BLOCK_WARPS // plan.spread
    blocks = -(-wide // height) * -(-few // of.tile[1]) * plan.units
    together = min(of.blocks_per_sm, -(-blocks // SMS))
    rows = height, min(few, of.tile[1])
    step_bytes = height * LINE
    return Demand(
        sliced=True,
        waves=max(1.0, blocks / (SMS * together)),
        steps=math.ceil(-(-k // BOX) / plan.units),
        shared_steps=0,
        together=together,
        tensor=2 * height * of.tile[1] * BOX / FMA_PER_CYCLE,
        operands=0.0,
        lines=sum(rows),
        crossing=sum(compress(rows, crosses)),
        arriving=sum(rows),
        stages=max(1, of.threads * dots.loads * LOAD_BYTES // step_bytes),
        realigned=0.0,
        active=min(SMS, blocks),
        ends=1,
        stored=max(1, height * of.tile[1] // of.threads),
        odd=True,
        overlapped=False,
        blocks=blocks,
        sums=2.0 * BLOCK_WARPS * dots.rows * of.tile[1] * FLOAT_BYTES,
        slices=plan.units,
        groups=1,
        memory=_memory(problem),
        dram=dram,
        copied=0,
        added=0,
    )


def _crossing(plan: Plan, problem: Problem) -> tuple[bool, bool]:
    """Return whether rows of A's and of B's boxes lie in two lines of L2."""
    (_, a), (_, b), _ = problem.stored
    return bool(a % BOX and not plan.copied[0]), bool(b % BOX and not plan.copied[1])


def _memory(problem: Problem) -> int:
    return ELEMENT_BYTES * sum(rows * columns for rows, columns in problem.stored)


def _copied(plan: Plan, problem: Problem) -> int:
    """Return the bytes that copies read and write."""
    sizes = zip(problem.stored[:2], plan.copied, strict=True)
    return 2 * ELEMENT_BYTES * sum(rows * columns for (rows, columns), copy in sizes if copy)
