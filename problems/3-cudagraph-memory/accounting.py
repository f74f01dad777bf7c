"""Break a device's used memory into its parts: arithmetic on plain numbers, without torch.

The parts come from independent sources. The driver reports what is used, the allocator's counters
what it reserved, its snapshot which blocks are in use in which pool, and Python which tensors lie
in them. The sum of the parts is checked against what is used.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

DEFAULT = (0, 0)
"""The pool of everything that is allocated outside a graph."""

Storage = tuple[int, int]
"""Address and size in bytes."""

_IN_USE = ("active_allocated", "active_awaiting_free")
_BLOCK = 512
"""Bytes; what the allocator rounds to (c10/cuda/CUDACachingAllocator.h, kMinBlockSize)."""


@dataclass(frozen=True)
class Pool:
    """Bytes that a pool holds from the driver, and those of them that are allocated.

    What a recorded graph writes between its inputs and its outputs counts as free: its addresses
    are kept for the graph, yet no tensor owns them.
    """

    reserved: int = 0
    live: int = 0

    @property
    def free(self) -> int:
        """Return the bytes that no tensor owns."""
        return self.reserved - self.live


@dataclass(frozen=True)
class Parts:
    """The pieces of a device's used bytes; ``outside`` is None if the driver was not asked.

    unowned: allocated in the default pool, yet no tensor that Python knows lies there, such as the
    workspace of cuBLAS. graphs: all pools of graphs. outside: what no pool of torch holds, such as
    kernels and graphs.
    """

    weights: int
    other: int
    unowned: int
    slack: int
    graphs: int
    outside: int | None = None

    @property
    def total(self) -> int:
        """Return the sum."""
        inside = self.weights + self.other + self.unowned + self.slack
        return inside + self.graphs + (self.outside or 0)


@dataclass(frozen=True)
class GraphParts:
    """The uses of the graphs' reserved bytes; the four add up to them.

    Each replay reads its inputs' copies and writes its outputs and workspaces where the recording
    put them. ``dead`` is the rest: what the recording wrote and freed, with rounding, and what was
    never written.
    """

    inputs: int
    outputs: int
    workspaces: int
    dead: int


def pools(segments: Iterable[Mapping[str, Any]]) -> dict[tuple[int, int], Pool]:
    """Return the pools of a memory snapshot by their id."""
    by_id: dict[tuple[int, int], Pool] = {}
    for segment in segments:
        name = pool_of(segment)
        before = by_id.get(name, Pool())
        live = sum(block["size"] for block in segment["blocks"] if block["state"] in _IN_USE)
        by_id[name] = Pool(before.reserved + segment["total_size"], before.live + live)
    return by_id


def graph_pools(by_id: Mapping[tuple[int, int], Pool]) -> Pool:
    """Return the sum of all pools but the default one."""
    graphs = [pool for name, pool in by_id.items() if name != DEFAULT]
    return Pool(sum(pool.reserved for pool in graphs), sum(pool.live for pool in graphs))


def parts(
    segments: Sequence[Mapping[str, Any]],
    weights: Iterable[Storage],
    others: Iterable[Storage],
    outside: int | None = None,
) -> Parts:
    """Return the parts; a storage among ``weights`` counts once, as a weight."""
    by_id = pools(segments)
    default = by_id.get(DEFAULT, Pool())
    ours = dict(weights)
    in_default = (segment for segment in segments if pool_of(segment) == DEFAULT)
    blocks = [block for block in _blocks(in_default) if block[2]]
    starts = [start for start, _, _ in blocks]
    theirs = {address: size for address, size in others if address not in ours}
    inside = {address: _block(blocks, starts, address) for address in (*ours, *theirs)}
    owned = {start for start in inside.values() if start is not None}
    return Parts(
        weights=sum(ours.values()),
        other=sum(size for address, size in theirs.items() if inside[address] is not None),
        unowned=sum(size for start, size, _ in blocks if start not in owned),
        slack=default.free,
        graphs=graph_pools(by_id).reserved,
        outside=outside,
    )


def graph_parts(
    segments: Sequence[Mapping[str, Any]],
    recorded: Iterable[Storage],
    inputs: Iterable[Storage],
    outputs: Iterable[Storage],
) -> GraphParts:
    """Return the parts of all graphs' pools.

    recorded: blocks that were allocated in them as a recording ended; with what is allocated now
    they are what replays keep using. Those where no input and no output begins are workspaces,
    which no tensor owns. A place that one graph uses for an input and another for its workspace
    counts once, as the earlier of inputs, outputs, workspaces.
    """
    roles = [list(inputs), list(outputs), [*recorded, *live_in_graphs(segments)]]
    pieces = [
        (segment["address"], segment["address"] + segment["total_size"])
        for segment in segments
        if pool_of(segment) != DEFAULT
    ]
    stretches: list[tuple[int, int]] = []
    covered = []
    for role in roles:
        stretches += [(address, address + -(-size // _BLOCK) * _BLOCK) for address, size in role]
        covered.append(_overlap(pieces, stretches))
    return GraphParts(
        inputs=covered[0],
        outputs=covered[1] - covered[0],
        workspaces=covered[2] - covered[1],
        dead=sum(end - start for start, end in pieces) - covered[2],
    )


def live_in_graphs(segments: Iterable[Mapping[str, Any]]) -> list[Storage]:
    """Return the blocks in use of all pools but the default one."""
    in_graphs = (segment for segment in segments if pool_of(segment) != DEFAULT)
    return [(address, size) for address, size, used in _blocks(in_graphs) if used]


def identity_error(pieces: Parts, used: int) -> int:
    """Return the difference of the parts' sum and the driver's used bytes."""
    return abs(pieces.total - used)


def ungraphed(expected: int, recorded: int, skips: int) -> int:
    """Return the number of functions that run without their expected graph.

    Inductor counts only the functions it skipped on purpose, so the recordings are counted as
    well.
    """
    return max(skips, expected - recorded, 0)


def pool_of(segment: Mapping[str, Any]) -> tuple[int, int]:
    """Return the id of a segment's pool."""
    first, second = segment["segment_pool_id"]
    return int(first), int(second)


def _blocks(segments: Iterable[Mapping[str, Any]]) -> list[tuple[int, int, bool]]:
    """Return (address, size, in use) of blocks in the order of addresses."""
    blocks = []
    for segment in segments:
        address = segment["address"]
        for block in segment["blocks"]:
            blocks.append((address, block["size"], block["state"] in _IN_USE))
            address += block["size"]
    return sorted(blocks)


def _block(blocks: list[tuple[int, int, bool]], starts: list[int], address: int) -> int | None:
    """Return where the block that holds an address begins, None if none does."""
    index = bisect_right(starts, address) - 1
    if index < 0:
        return None
    start, size, _ = blocks[index]
    return start if address < start + size else None


def _overlap(pieces: list[tuple[int, int]], stretches: list[tuple[int, int]]) -> int:
    """Return how many bytes of ``pieces``, which do not overlap, any of ``stretches`` covers."""
    joined: list[list[int]] = []
    for start, end in sorted(stretches):
        if joined and start <= joined[-1][1]:
            joined[-1][1] = max(joined[-1][1], end)
        else:
            joined.append([start, end])
    return sum(
        max(0, min(end, last) - max(start, first))
        for start, end in pieces
        for first, last in joined
    )
