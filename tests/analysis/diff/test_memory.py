"""Memory captures: what grew, by pool and by the line that asked for it."""

from collections.abc import Sequence

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.analysis.diff import memory
from harness.analysis.diff.memory import MemoryDiff, Pool
from harness.evidence.tables import FREED_POOL, Tables
from harness.extract import door
from tests.support.paths import DATA
from tests.support.timelines import rows

DATA = DATA / "memory"
Held = tuple[str | None, str, int, int]


def capture(
    *sites: Held,
    pools: dict[str, tuple[int, int]] | None = None,
    filled: Sequence[tuple[str, str, int, int | None]] = (),
) -> Tables:
    """Return tables of sites (phase, site, peak bytes, count) and pools (reserved, allocated).

    ``filled`` are pools' blocks at their peaks: pool, site, bytes, count.
    """
    names = ("phase", "site", "peak_bytes", "count")
    filling = ("pool", "site", "bytes", "count")
    held = ("reserved_bytes", "allocated_bytes")
    given_pools = (pools or {}).items()
    return {
        "memory_sites": rows(
            "memory_sites", [dict(zip(names, values, strict=True)) for values in sites]
        ),
        "memory_pools": rows(
            "memory_pools",
            [{"pool": name, **dict(zip(held, sizes, strict=True))} for name, sizes in given_pools],
        ),
        "memory_pool_peaks": rows(
            "memory_pool_peaks", [dict(zip(filling, values, strict=True)) for values in filled]
        ),
        "memory_by_pool": rows("memory_by_pool", []),
    }


def changed(difference: MemoryDiff) -> dict[tuple[str, str], int]:
    return {(site.phase, site.site): site.delta for site in difference.sites if site.delta}


def test_the_same_twice_does_not_differ() -> None:
    snapshot = capture(("p", "a.py:1 f", 5, 1), (None, "b.py:2 g", 7, 2), pools={"default": (8, 4)})
    difference = memory.compare(snapshot, snapshot)
    assert changed(difference) == {}
    assert difference.pools == (Pool("default", (8, 8), (4, 4)),)
    assert difference.phases == ("p", "")
    assert difference.peak("p") == (5, 5)


def test_a_leaked_block_is_at_the_line_that_asked_for_it() -> None:
    a = capture(("", "run.py:10 step", 100, 3), ("", "run.py:20 other", 50, 1))
    b = capture(
        ("", "run.py:10 step", 100, 3), ("", "run.py:20 other", 50, 1), ("", "leak.py:7 f", 48, 1)
    )
    difference = memory.compare(a, b)
    assert changed(difference) == {("", "leak.py:7 f"): 48}
    assert difference.sites[0].site == "leak.py:7 f"
    assert difference.peak("") == (150, 198)
    assert changed(memory.compare(b, a)) == {("", "leak.py:7 f"): -48}


def test_a_line_that_moved_is_the_same_site() -> None:
    a = capture(("", "run.py:10 step", 100, 3), ("", "run.py:10 other", 30, 1))
    b = capture(("", "run.py:12 step", 100, 3), ("", "run.py:14 other", 40, 1))
    difference = memory.compare(a, b)
    assert changed(difference) == {("", "run.py:14 other"): 10}
    assert len(difference.sites) == 2


def test_an_unmoved_line_is_not_taken_for_a_moved_one() -> None:
    a = capture(("", "run.py:10 step", 100, 1), ("", "run.py:20 step", 30, 1))
    b = capture(("", "run.py:20 step", 30, 1))
    assert changed(memory.compare(a, b)) == {("", "run.py:10 step"): -100}


def test_another_function_or_file_is_another_site() -> None:
    a = capture(("", "run.py:10 step", 100, 1))
    for other in ("run.py:10 stop", "ran.py:10 step"):
        difference = memory.compare(a, capture(("", other, 100, 1)))
        assert changed(difference) == {("", "run.py:10 step"): -100, ("", other): 100}


def test_phases_are_apart_and_one_that_a_side_lacks_is_named_and_not_compared() -> None:
    a = capture(("load", "a:1 f", 10, 1), ("run", "a:1 f", 20, 1))
    b = capture(("run", "a:1 f", 25, 1), ("end", "a:1 f", 5, 1))
    difference = memory.compare(a, b)
    assert (difference.only_a, difference.only_b) == (("load",), ("end",))
    assert (difference.phases, difference.peak("run")) == (("run",), (20, 25))
    assert changed(difference) == {("run", "a:1 f"): 5}


def test_pools_of_one_side_hold_nothing_on_the_other() -> None:
    a = capture(pools={"default": (8, 4), "graph": (2, 1)})
    b = capture(pools={"default": (9, 4), "private": (7, 6)})
    assert memory.compare(a, b).pools == (
        Pool("default", (8, 9), (4, 4)),
        Pool("graph", (2, 0), (1, 0)),
        Pool("private", (0, 7), (0, 6)),
    )


def test_sites_that_fill_a_graphs_pool_are_compared_at_its_peak() -> None:
    graph, site = "graph pool (0, 1)", "model.py:7 forward"
    unknown = "unknown (no stack recorded)"
    a = capture(
        ("p", site, 5, 1),
        filled=[(graph, site, 512, 1), (graph, site, 1024, 2), ("default", site, 512, 1)],
    )
    b = capture(
        ("p", site, 5, 1),
        filled=[
            (graph, site, 9216, 4),
            (graph, unknown, 100, None),
            (FREED_POOL, site, 2048, 1),
        ],
    )
    difference = memory.compare(a, b)
    assert difference.phases == ("p", graph)
    assert changed(difference) == {(graph, site): 9216 - 1536, (graph, unknown): 100}
    assert difference.peak(graph) == (1536, 9316)
    assert [held.count for held in difference.sites if held.phase == graph] == [(3, 4), (0, 0)]


sites = st.lists(
    st.tuples(
        st.sampled_from([None, "load", "run"]),
        st.builds(
            "{}:{} {}".format, st.sampled_from("ab"), st.integers(1, 4), st.sampled_from("fg")
        ),
        st.integers(0, 1000),
        st.integers(1, 5),
    ),
    max_size=12,
)


@given(sites, sites)
def test_sites_sum_to_the_peak_of_each_phase(a: list[Held], b: list[Held]) -> None:
    difference = memory.compare(capture(*a), capture(*b))
    phases = [{phase or "" for phase, *_ in side} for side in (a, b)]
    assert set(difference.phases) == phases[0] & phases[1]
    assert set(difference.only_a) | set(difference.only_b) == phases[0] ^ phases[1]
    for phase in difference.phases:
        peaks = [
            sum(held for where, _, held, _ in side if (where or "") == phase) for side in (a, b)
        ]
        assert difference.peak(phase) == tuple(peaks)
        sites_of_phase = [site for site in difference.sites if site.phase == phase]
        assert sum(site.delta for site in sites_of_phase) == peaks[1] - peaks[0]
        assert [abs(site.delta) for site in sites_of_phase] == sorted(
            (abs(x.delta) for x in sites_of_phase), reverse=True
        )


@pytest.mark.parametrize("name", ["graph.pickle.zst", "stack_013_eager.json.gz"])
def test_real_captures_against_themselves_and_against_nothing(name: str) -> None:
    snapshot = door.capture(DATA / name).captures["memory"].tables
    assert changed(memory.compare(snapshot, snapshot)) == {}
    difference = memory.compare(capture(), snapshot)
    assert (
        sum(pool.reserved[1] for pool in difference.pools)
        == snapshot["memory_pools"]["reserved_bytes"].sum()
    )
    graphs = {
        pool for pool in snapshot["memory_pool_peaks"]["pool"] if pool.startswith("graph pool")
    }
    assert set(difference.only_b) == set(snapshot["memory_sites"]["phase"].fill_null(""))
    assert set(difference.phases) == graphs
    for pool in graphs:
        levels = snapshot["memory_by_pool"].filter(pl.col("pool").cast(pl.String) == pool)
        assert difference.peak(pool) == (0, levels["allocated_bytes"].max())
