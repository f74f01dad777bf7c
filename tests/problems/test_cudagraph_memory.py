"""Problem 3's arithmetic on planted numbers, and its manifest. Nothing here imports torch."""

import ctypes
import importlib
import sys
from collections import Counter
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.problem.manifest import find
from harness.problem.model import Problem
from harness.problem.plan import Selected, plan
from tests.support.manifests import bound_claims
from tests.support.paths import ROOT

PROBLEMS = ROOT / "problems"
MODULES = ("accounting", "recorder", "storages")
MIB = 1 << 20


@pytest.fixture(scope="module", autouse=True)
def _scripts() -> Iterator[None]:
    """The problem's scripts are found as they find each other: in their own folder."""
    folder = str(PROBLEMS / "3-cudagraph-memory")
    sys.path.insert(0, folder)
    yield
    sys.path.remove(folder)
    for name in MODULES:
        sys.modules.pop(name, None)


def module(name: str) -> ModuleType:
    return importlib.import_module(name)


@pytest.fixture(scope="module")
def problem() -> Problem:
    return find(PROBLEMS, "3")


def segment(pool: tuple[int, int], address: int, *blocks: tuple[int, bool]) -> dict[str, Any]:
    """A segment of blocks (size, in use), as a memory snapshot tells it."""
    states = {True: "active_allocated", False: "inactive"}
    return {
        "segment_pool_id": pool,
        "address": address,
        "total_size": sum(size for size, _ in blocks),
        "blocks": [{"size": size, "state": states[used]} for size, used in blocks],
    }


# Weights of 10 MiB in two blocks, 5 free; a tensor of 3, a workspace of 32; two graphs' pools.
WEIGHTS = [(0, 6 * MIB), (6 * MIB, 4 * MIB)]
SEGMENTS = [
    segment((0, 0), 0, (6 * MIB, True), (4 * MIB, True), (5 * MIB, False)),
    segment((0, 0), 100 * MIB, (3 * MIB, True), (32 * MIB, True)),
    segment((0, 1), 200 * MIB, (2 * MIB, True), (222 * MIB, False)),
    segment((0, 2), 600 * MIB, (8 * MIB, False)),
]
RESERVED = (15 + 35 + 224 + 8) * MIB


def test_the_pieces_are_what_was_planted_and_add_up() -> None:
    accounting = module("accounting")
    others = [(100 * MIB, 3 * MIB), (200 * MIB, 2 * MIB), WEIGHTS[0]]  # one in a graph's pool
    found = accounting.parts(SEGMENTS, WEIGHTS, others, 77 * MIB)
    planted = (10, 3, 32, 5, 232, 77)  # weights, other, unowned, slack, graphs, outside
    assert tuple(vars(found).values()) == tuple(size * MIB for size in planted)
    assert found.total == RESERVED + 77 * MIB
    assert accounting.identity_error(found, RESERVED + 77 * MIB) == 0
    assert accounting.identity_error(found, RESERVED + 70 * MIB) == 7 * MIB
    twice = [*WEIGHTS, (600 * MIB, 8 * MIB)]  # a weight that lies in a graph's pool
    for cut in (SEGMENTS[:-1], WEIGHTS), (SEGMENTS, twice):
        wrong = accounting.parts(*cut, [], 77 * MIB)
        assert accounting.identity_error(wrong, RESERVED + 77 * MIB) == 8 * MIB


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 9), st.booleans()), max_size=30))
def test_pools_hold_every_byte_once(blocks: list[tuple[int, int, bool]]) -> None:
    accounting = module("accounting")
    segments = [
        segment((0, pool), 100 * index, (size, used), (1, False))
        for index, (pool, size, used) in enumerate(blocks)
    ]
    pools = accounting.pools(segments)
    reserved = sum(pool.reserved for pool in pools.values())
    assert reserved == sum(size + 1 for _, size, _ in blocks)
    assert reserved - sum(pool.free for pool in pools.values()) == sum(b[1] for b in blocks if b[2])
    assert accounting.parts(segments, [], []).total == reserved


def test_every_byte_of_the_graphs_pools_has_one_role() -> None:
    accounting = module("accounting")
    segments = [
        segment((0, 0), 0, (64 * MIB, True)),
        segment((0, 1), 100 * MIB, (2 * MIB, True), (30 * MIB, False)),
        segment((0, 2), 200 * MIB, (40 * MIB, False)),
    ]
    copies = [(110 * MIB, 100), (1 * MIB, MIB)]  # the second is a weight, outside
    outputs = [(100 * MIB, 2 * MIB), (220 * MIB, 3 * MIB)]
    # A workspace of the first graph reaches over the copy, one of the second is of 32 MiB.
    recorded = [(220 * MIB, 3 * MIB), (108 * MIB, 4 * MIB), (200 * MIB, 8 * MIB)]
    recorded += [(900 * MIB, MIB)]  # in a pool that is gone
    found = accounting.graph_parts(segments, recorded, copies, outputs)
    assert (found.inputs, found.outputs) == (512, 5 * MIB)
    assert found.workspaces == 12 * MIB - 512
    assert found.inputs + found.outputs + found.workspaces + found.dead == 72 * MIB


STRETCHES = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 9)), max_size=6)


@given(STRETCHES, STRETCHES, STRETCHES)
def test_roles_are_those_of_a_count_byte_by_byte(
    inputs: list[tuple[int, int]], outputs: list[tuple[int, int]], held: list[tuple[int, int]]
) -> None:
    accounting = module("accounting")
    pieces = [segment((0, 1), 5 * 512, (20 * 512, False)), segment((0, 1), 40 * 512, (512, False))]
    scaled = [[(at * 512, size * 512) for at, size in role] for role in (held, inputs, outputs)]
    found = accounting.graph_parts(pieces, *scaled)
    counted: Counter[int] = Counter()
    for at in [*range(5, 25), 40]:
        roles = [any(s <= at < s + n for s, n in role) for role in (inputs, outputs, held)]
        counted[roles.index(True) if any(roles) else 3] += 512
    assert tuple(vars(found).values()) == tuple(counted[role] for role in range(4))


# Functions that should be graphed, recordings, what Inductor says it skipped, and what is told: the
# third was never recorded and nobody said so, the last was recorded in parts.
GRAPHED = [(1, 1, 0, 0), (0, 0, 0, 0), (1, 0, 0, 1), (4, 3, 0, 1), (1, 1, 2, 2), (1, 3, 0, 0)]


@pytest.mark.parametrize(("expected", "recorded", "skips", "told"), GRAPHED)
def test_what_runs_ungraphed_is_told(expected: int, recorded: int, skips: int, told: int) -> None:
    assert module("accounting").ungraphed(expected, recorded, skips) == told


def tensor(address: int, size: int) -> Any:
    storage = SimpleNamespace(data_ptr=lambda: address, nbytes=lambda: size)
    return SimpleNamespace(untyped_storage=lambda: storage)


def subclass(data: Any, scale: Any) -> Any:
    parts = (["data", "scale"], None)
    return SimpleNamespace(data=data, scale=scale, __tensor_flatten__=lambda: parts)


def test_a_storage_counts_once_and_a_subclass_is_what_it_is_made_of() -> None:
    storages = module("storages")
    tied, scale = tensor(1000, 64), tensor(2000, 8)
    quantised = subclass(subclass(tied, scale), tensor(3000, 4))
    found = [tied, tensor(1000, 64), quantised, tensor(0, 0)]
    assert storages.distinct(found) == [(1000, 64), (2000, 8), (3000, 4)]
    assert storages.total(found) == 76


RECORDED = [([0, 12, 30], 2, 42), ([0], 0, 0), ([], 0, 0), ([12, None], None, None)]


@pytest.mark.parametrize(("nodes", "graphs", "total"), RECORDED)
def test_graphs_and_nodes_are_counted_as_recordings_end(
    nodes: list[int | None], graphs: int | None, total: int | None
) -> None:
    ended, answers = [], iter(nodes)
    kind: Any = type("Graph", (), {"capture_end": lambda self: ended.append(self)})
    recorder = module("recorder").Recorder(lambda stream: next(answers) if stream == 7 else -1)
    recorder.install(kind, lambda: 7, lambda: [(len(ended), 512)])
    for _ in nodes:
        kind().capture_end()
    assert recorder.held == [(index, 512) for index in range(len(nodes))]
    recorder.forget()
    assert recorder.held == []
    assert (recorder.graphs, recorder.nodes, len(ended)) == (graphs, total, len(nodes))


class Driver:
    """The two calls of the driver's library, which answer as its header says."""

    def __init__(self, status: int, failed: int = 0) -> None:
        self.status, self.failed = status, failed

    def cuStreamGetCaptureInfo_v3(self, stream: Any, status: Any, *rest: Any) -> int:  # noqa: N802
        assert (stream.value, len(rest)) == (7, 5)
        status._obj.value = self.status
        rest[1]._obj.value = 99
        return self.failed

    def cuGraphGetNodes(self, graph: Any, nodes: None, count: Any) -> int:  # noqa: N802
        assert (graph.value, nodes) == (99, None)
        assert isinstance(count._obj, ctypes.c_size_t)
        count._obj.value = 31
        return 0


DRIVERS = [(Driver(1), 31), (Driver(0), None), (Driver(1, failed=900), None), (object(), None)]


@pytest.mark.parametrize(("library", "nodes"), DRIVERS)
def test_the_driver_is_asked_for_the_nodes_so_far(library: Any, nodes: int | None) -> None:
    assert module("recorder").captured_nodes(library, 7) == nodes


def test_the_plan_on_both_devices(problem: Problem) -> None:
    gpu = plan(problem, Selected(), "cuda")
    assert Counter(cell.capture for cell in gpu) == {"timing": 80, "memory": 5}
    cpu = plan(problem, Selected(), "cpu")
    anywhere = {name for name, case in problem.cases.items() if case.needs is None}
    assert {cell.case for cell in cpu} == anywhere
    assert all(cell.params["mode"] in ("default", "graphs") for cell in cpu)


ALONE = ("used", "outside", "identity_error", "record_outside", "driver_bytes_per_node")
"""Metrics that need the driver's count, which is of the whole device."""


def test_what_the_driver_counts_is_claimed_of_processes_that_are_alone(problem: Problem) -> None:
    cells = plan(problem, Selected(), "cuda")
    alone = {(cell.variant, cell.case, cell.capture) for cell in cells if cell.alone}
    assert all(cell.round == 0 for cell in cells if cell.alone)
    places = {
        (claim.of.variant, claim.of.case, problem.metric(claim.metric).capture)
        for claim in bound_claims(problem)
        if claim.metric.partition("@")[0] in ALONE
    }
    assert places == alone


def test_times_that_claims_rest_on_are_of_three_processes(problem: Problem) -> None:
    cells = plan(problem, Selected(captures=("timing",)), "cuda")
    rounds = Counter((cell.variant, cell.case) for cell in cells)
    timed = [claim for claim in bound_claims(problem) if claim.metric.startswith("wall_time")]
    assert timed
    for claim in timed:
        for variant in (claim.of.variant, (claim.over or claim.of).variant):
            assert rounds[str(variant), str(claim.of.case)] >= 3


def test_claims_name_phases_that_are_stated(problem: Problem) -> None:
    sides = [side for claim in bound_claims(problem) for side in (claim.of, claim.over) if side]
    names = [claim.metric for claim in problem.claims] + [side.metric or "" for side in sides]
    regions = {name.partition("@")[2] for name in names}
    assert regions == {"", "decode", "replay", "shape", "n16384"}
    longest = max(problem.cases["chains"].params["chains"])
    assert f"n{longest}" in regions
    assert 12 <= len(bound_claims(problem)) <= 25
