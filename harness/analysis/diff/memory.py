"""Two memory captures: which pools grew, and at whose peaks which allocation sites."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from harness.evidence.tables import GRAPH_POOL, Tables

_LINE = re.compile(r":\d+(?= |$)")


@dataclass(frozen=True)
class Pool:
    """A pool of the caching allocator at the time of the snapshots, in bytes, A and B."""

    pool: str
    reserved: tuple[int, int]
    allocated: tuple[int, int]


@dataclass(frozen=True)
class Site:
    """Bytes held at the peak of a phase by what one line of the program asked for, A and B.

    In place of a phase there can be a graph's pool; its blocks count as the allocator rounds them.
    """

    phase: str
    site: str
    bytes: tuple[int, int]
    count: tuple[int, int]

    @property
    def delta(self) -> int:
        """Return B less A."""
        return self.bytes[1] - self.bytes[0]


@dataclass(frozen=True)
class MemoryDiff:
    """Pools and sites on both sides; within a phase the sites' differences sum to the peak's.

    ``before``: bytes, A and B, that were allocated before a history began, which are of no site.
    ``only_a`` and ``only_b``: phases that the other side lacks, which have no sites here.
    """

    pools: tuple[Pool, ...]
    sites: tuple[Site, ...]
    before: tuple[int, int] = (0, 0)
    only_a: tuple[str, ...] = ()
    only_b: tuple[str, ...] = ()

    def peak(self, phase: str) -> tuple[int, int]:
        """Return the bytes asked for that were held at a phase's peak, without those before."""
        sizes = [site.bytes for site in self.sites if site.phase == phase]
        return sum(a for a, _ in sizes), sum(b for _, b in sizes)

    @property
    def phases(self) -> tuple[str, ...]:
        """Return the common phases in the order of the first capture, then the graphs' pools."""
        return tuple(dict.fromkeys(site.phase for site in self.sites))


def compare(a: Tables, b: Tables) -> MemoryDiff:
    """Return pools by name, and sites by common phase and graph's pool, the largest change first.

    Sites are matched by file, line and function, then without the line: code above may have moved.
    """
    pools = [_pools(tables) for tables in (a, b)]
    both = [
        Pool(name, *zip(*(side.get(name, (0, 0)) for side in pools), strict=True))
        for name in dict.fromkeys([*pools[0], *pools[1]])
    ]
    sites = [_held(tables["memory_sites"], "phase", "peak_bytes") for tables in (a, b)]
    graphs = [_held(_of_graphs(tables), "pool", "bytes") for tables in (a, b)]
    phases = [dict.fromkeys(phase for phase, _ in side) for side in sites]
    filled = dict.fromkeys(pool for side in graphs for pool, _ in side)
    changes = [_phase(phase, *sites) for phase in phases[0] if phase in phases[1]]
    changes += [_phase(pool, *graphs) for pool in filled]
    return MemoryDiff(
        tuple(both),
        tuple(site for of_phase in changes for site in of_phase),
        (_before(a), _before(b)),
        tuple(phase for phase in phases[0] if phase not in phases[1]),
        tuple(phase for phase in phases[1] if phase not in phases[0]),
    )


Sites = dict[tuple[str, str], tuple[int, int]]


def _pools(tables: Tables) -> dict[str, tuple[int, int]]:
    rows = tables["memory_pools"].select("pool", "reserved_bytes", "allocated_bytes")
    return {pool: (reserved or 0, allocated or 0) for pool, reserved, allocated in rows.iter_rows()}


def _before(tables: Tables) -> int:
    start = tables["memory_by_pool"].filter(pl.col("index") < 0)
    return int(start["allocated_bytes"].sum())


def _of_graphs(tables: Tables) -> pl.DataFrame:
    return tables["memory_pool_peaks"].filter(pl.col("pool").str.starts_with(GRAPH_POOL))


def _held(rows: pl.DataFrame, where: str, size: str) -> Sites:
    grouped = rows.group_by(where, "site", maintain_order=True)
    summed = grouped.agg(pl.col(size).sum(), pl.col("count").sum())
    return {(place or "", site): (held, count) for place, site, held, count in summed.iter_rows()}


def _phase(phase: str, a: Sites, b: Sites) -> list[Site]:
    before = {site: value for (where, site), value in a.items() if where == phase}
    after = {site: value for (where, site), value in b.items() if where == phase}
    changes = [
        _site(phase, site, before.pop(site), after.pop(site)) for site in [*before] if site in after
    ]
    moved = _by_function(after)
    for function, sites in _by_function(before).items():
        for site, site_of_b in zip(sites, moved.get(function, []), strict=False):
            changes.append(_site(phase, site_of_b, before.pop(site), after.pop(site_of_b)))
    changes += [_site(phase, site, value, (0, 0)) for site, value in before.items()]
    changes += [_site(phase, site, (0, 0), value) for site, value in after.items()]
    return sorted(changes, key=lambda change: -abs(change.delta))


def _by_function(sites: Mapping[str, object]) -> dict[str, list[str]]:
    grouped: dict[str, list[str]] = {}
    for site in sites:
        grouped.setdefault(_LINE.sub("", site), []).append(site)
    return grouped


def _site(phase: str, site: str, a: tuple[int, int], b: tuple[int, int]) -> Site:
    return Site(phase, site, (a[0], b[0]), (a[1], b[1]))
