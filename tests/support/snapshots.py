"""Memory snapshots: the real ones that tests read, and planted ones."""

import json
import pickle
from collections import defaultdict
from pathlib import Path
from typing import Any

from harness.captures import sniff
from harness.captures.memory import read as memory
from tests.support.paths import DATA
from tests.support.reports import COMMITTED, KEPT

PICKLES = [DATA / "memory/graph.pickle.zst", *sorted((DATA / "differences").glob("*.pickle"))]
JSONS = [
    DATA / "memory/stack_013_eager.json.gz",
    *sorted(
        path for folder in (KEPT, *COMMITTED) for path in folder.glob("captures/*.memory.json.gz")
    ),
]
A, B = 1 << 20, 1 << 30
"""Addresses of two segments that are far apart."""


def written(tmp_path: Path, snapshot: Any, kind: str = "json") -> Path:
    """Write a snapshot as JSON or as a pickle, as torch does."""
    path = tmp_path / f"memory.{kind}"
    data = json.dumps(snapshot).encode() if kind == "json" else pickle.dumps(snapshot)
    path.write_bytes(data)
    return path


def tables_of(path: Path) -> Any:
    """Return the tables of a real snapshot, packed or not."""
    with sniff.opened(path) as plain:
        return memory.read(plain)


def frames(*files: str) -> list[dict[str, Any]]:
    """Return a stack with a frame a file, the innermost first; lines count from 1."""
    return [{"filename": file, "line": 1 + at, "name": "f"} for at, file in enumerate(files)]


def standing(address: int | None, total: int, allocated: int, pool: Any, **more: Any) -> Any:
    """Return a segment of the snapshot; the address is left out if it is None."""
    segment = {"total_size": total, "allocated_size": allocated, "segment_pool_id": list(pool)}
    return segment | ({} if address is None else {"address": address}) | more


def levels(tables: Any, column: str = "reserved_bytes") -> dict[int, dict[str, int]]:
    """Return the level of every pool by event, filled forward from the rows' changes."""
    by_event = defaultdict(list)
    for index, pool, allocated, reserved in tables["memory_by_pool"].rows():
        by_event[index].append((pool, {"allocated_bytes": allocated, "reserved_bytes": reserved}))
    level: dict[str, int] = {}
    by_index = {}
    for index in range(-1, tables["memory_timeline"].height):
        level |= {pool: both[column] for pool, both in by_event[index]}
        by_index[index] = dict(level)
    return by_index


def adds_up(tables: Any) -> None:
    """Check at each event that the pools are the whole, and at the end that they are the pools."""
    for column in ("allocated_bytes", "reserved_bytes"):
        by_index = levels(tables, column)
        for index, whole in enumerate(tables["memory_timeline"][column]):
            assert sum(by_index[index].values()) == whole
            assert min(by_index[index].values()) >= 0
        last = by_index[max(by_index)]
        for pool, _, reserved, allocated in tables["memory_pools"].rows():
            assert last.pop(pool, 0) == (reserved if column == "reserved_bytes" else allocated)
        assert not any(last.values())  # a freed segment leaves nothing in its pool
