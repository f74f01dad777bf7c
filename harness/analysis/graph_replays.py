"""What each operation of a CUDA graph's replay belongs to, by the launches it was captured from.

A replay has one launch, so its kernels share one origin. While the graph was captured each node had
a launch of its own, in an operator and in modules. Both are in order: a graph that is captured from
one stream is a chain, so the n-th operation of a replay is the n-th launch of the capture. That is
checked, not assumed: as many operations, of the same kinds, and of the same kernels where the
capture names them. A graph that fails is left as it was, with a sentence that says at what. Nsight
Systems numbers the nodes, and says when each was made: there nothing goes by order.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from harness.analysis.annotations import is_capture
from harness.analysis.units import counted
from harness.evidence.capture import IN_SCOPE, MODULE_NUMBER

_REPLAY = ("correlation", "device")
"""What operations of one replay have in common."""
_SHOWN = 60

_Operation = tuple[str, str | None]
"""Kind and name of an operation; None where the capture does not name it."""


@dataclass(frozen=True)
class Replays:
    """Replays and the captures that they are of.

    ``origins``: a row a placed operation: correlation, device, place (in its replay, from 0),
    operator, node and scope. ``placed`` of ``count`` replays are in it. ``by_name``: whether the
    capture names kernels, so that each was compared. ``refused``: why the others are not.
    """

    origins: pl.DataFrame
    count: int
    placed: int
    by_name: bool
    refused: tuple[str, ...]


_Key = tuple[int, int | None]
"""The launch of a replay and its device."""


@dataclass(frozen=True)
class _Captured:
    """One captured graph: its operations, and their operators and places without numbers."""

    number: int
    operations: tuple[_Operation, ...]
    roles: tuple[tuple[str | None, str], ...]


def replays(ops: pl.DataFrame, captured: pl.DataFrame) -> Replays:
    """Return where the operations of replays were launched when their graphs were captured.

    ``ops``: those that graphs replay, with correlation, device, start_ns, graph_node, kind, name
    and step. ``captured``: the evidence's table captured_launches.
    """
    launches = _without_capture(captured)
    graphs = _graphs(launches)
    chosen: list[tuple[int, int | None, int]] = []
    refused: Counter[str] = Counter()
    equal = _equal_replays(with_places(ops))
    for (_, operations), keys in equal.items():
        fitting = [each for each in graphs if _fits(each.operations, operations)]
        numbers = _assigned(fitting, len(keys))
        if numbers:
            chosen += [(*key, number) for key, number in zip(keys, numbers, strict=True)]
        else:
            refused[_why_not(graphs, fitting, operations)] += len(keys)
    schema = dict.fromkeys((*_REPLAY, "graph"), pl.Int64)
    assigned = pl.DataFrame(chosen, schema=schema, orient="row")
    places = launches.with_columns(place=pl.int_range(pl.len()).over("graph"))
    origins = assigned.join(places, on="graph", how="inner", maintain_order="left_right")
    return Replays(
        origins.select(*_REPLAY, "place", "operator", "node", "scope", "inputs", "call"),
        count=sum(map(len, equal.values())),
        placed=len(chosen),
        by_name=captured["name"].null_count() < captured.height,
        refused=tuple(f"{counted(times, 'replay')}: {why}" for why, times in refused.items()),
    )


def by_nodes(ops: pl.DataFrame, nodes: pl.DataFrame) -> Replays | None:
    """Return where replayed operations were captured by their nodes; None where none is known.

    ``ops``: as for :func:`replays`. ``nodes``: graph_node, operator, node and scope.
    """
    joined = with_places(ops).join(nodes, on="graph_node", how="inner", maintain_order="left")
    if joined.is_empty():
        return None
    return Replays(
        joined.select(*_REPLAY, "place", "operator", "node", "scope", "inputs", "call"),
        count=ops.select(_REPLAY).n_unique(),
        placed=joined.select(_REPLAY).n_unique(),
        by_name=True,
        refused=(),
    )


def with_places(ops: pl.DataFrame) -> pl.DataFrame:
    """Return operations with ``place``: their number within their replay, from 0.

    By the graph's nodes where the trace numbers them, which it does as they were captured, else by
    start.
    """
    order = ["graph_node", "start_ns"]
    by_place = pl.int_range(pl.len()).over(*_REPLAY, order_by=order)
    return ops.with_columns(place=by_place.cast(pl.Int64))


def _without_capture(captured: pl.DataFrame) -> pl.DataFrame:
    """Return launches whose scopes lack the engine's annotation of a capture."""
    rows = captured.with_columns(
        pl.col("kind", "name", "operator", "node", "scope", "inputs").cast(pl.String)
    )
    scopes = {
        scope: IN_SCOPE.join(part for part in scope.split(IN_SCOPE) if not is_capture(part))
        for scope in rows["scope"].drop_nulls().unique()
    }
    kept = pl.col("scope").replace_strict(scopes, default=None, return_dtype=pl.String)
    return rows.with_columns(scope=pl.when(kept != "").then(kept))


def _graphs(launches: pl.DataFrame) -> list[_Captured]:
    """Return the captured graphs in the order of their capture."""
    rows: dict[int, list[tuple[str, str | None, str | None, str | None]]] = {}
    columns = ("graph", "kind", "name", "operator", "scope")
    for graph, *row in launches.select(columns).iter_rows():
        rows.setdefault(graph, []).append(tuple(row))
    return [
        _Captured(
            graph,
            tuple((kind, name) for kind, name, _, _ in of_graph),
            tuple((operator, _role(scope or "")) for _, _, operator, scope in of_graph),
        )
        for graph, of_graph in sorted(rows.items())
    ]


def _role(scope: str) -> str:
    return IN_SCOPE.join(re.sub(MODULE_NUMBER, "", part) for part in scope.split(IN_SCOPE))


def _equal_replays(ops: pl.DataFrame) -> dict[tuple[int, tuple[_Operation, ...]], list[_Key]]:
    """Return replays by their step and operations, in the order of their launches."""
    texts = ops.with_columns(pl.col("kind", "name").cast(pl.String)).sort("correlation", "place")
    equal: dict[tuple[int, tuple[_Operation, ...]], list[_Key]] = {}
    for (correlation, device), rows in texts.group_by(*_REPLAY, maintain_order=True):
        operations = tuple(rows.select("kind", "name").rows())
        equal.setdefault((rows["step"][0], operations), []).append((correlation, device))
    return equal


def _fits(captured: Sequence[_Operation], replayed: Sequence[_Operation]) -> bool:
    return len(captured) == len(replayed) and _first_difference(captured, replayed) is None


def _first_difference(captured: Sequence[_Operation], replayed: Sequence[_Operation]) -> int | None:
    """Return the place of the first operation of another kind or name, None without one."""
    for place, (mine, its) in enumerate(zip(captured, replayed, strict=False)):
        if mine[0] != its[0] or (mine[1] is not None and mine[1] != its[1]):
            return place
    return None


def _assigned(fitting: Sequence[_Captured], count: int) -> list[int] | None:
    """Return the captured graph of each of ``count`` equal replays of a step, None if not known.

    Where a model is captured in pieces, as many graphs fit as are replayed, one after another.
    Otherwise all that fit must say the same, but for the numbers of layers.
    """
    if not fitting:
        return None
    if len(fitting) == count:
        return [each.number for each in fitting]
    if len({each.roles for each in fitting}) == 1:
        return [fitting[0].number] * count
    return None


def _why_not(
    graphs: Sequence[_Captured], fitting: Sequence[_Captured], replayed: Sequence[_Operation]
) -> str:
    """Return why a replay belongs to none of the captured graphs."""
    if fitting:
        return f"{len(fitting)} captured graphs fit, and place its operations differently"
    as_long = [each for each in graphs if len(each.operations) == len(replayed)]
    if not as_long:
        held = ", ".join(sorted({f"{len(each.operations):,}" for each in graphs}, key=len)[:5])
        return f"it has {len(replayed):,} operations, the captured graphs have {held or 'none'}"
    differences = [_first_difference(each.operations, replayed) or 0 for each in as_long]
    furthest = max(differences)
    captured = as_long[differences.index(furthest)].operations[furthest]
    mine, its = (str(each[1] or each[0])[:_SHOWN] for each in (captured, replayed[furthest]))
    return f"its operation {furthest + 1:,} of {len(replayed):,} is {its}, captured was {mine}"
