"""The operations of steps with what each belongs to: also those that graphs replay."""

from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from harness.analysis import annotations, floors, graph_replays
from harness.analysis.audit import attribution, batches, by_ranges, layers, step_ops
from harness.analysis.audit.batches import Batches
from harness.analysis.audit.layers import Layers
from harness.analysis.graph_replays import Replays
from harness.analysis.idle import host_calls
from harness.evidence.tables import Tables


@dataclass(frozen=True)
class StepsTold:
    """A serving engine's steps by mode, the layers of a step, and what is not known of them."""

    batches: tuple[Batches, ...] = ()
    layers: Layers | None = None
    unplaced: tuple[str, ...] = ()


def told(tables: Tables, captured: pl.DataFrame) -> StepsTold:
    """Return what engines' annotations and the capture of graphs say of a timeline's steps.

    Nothing is joined where it has neither. ``captured``: the table captured_launches.
    """
    if captured.is_empty() and not annotations.batches(tables["ranges"]["name"]):
        return StepsTold()
    origins = tables["origins"]
    launched = step_ops.launched(tables)
    if launched.ops.is_empty():
        return StepsTold()
    told_of = tables | {"origins": by_ranges.origins(tables) if origins.is_empty() else origins}
    ops, replays = placed(launched.ops, told_of, captured)
    ops = floors.with_floors(ops, floors.rates(tables, ops["device"][0]), "own_ns")
    return StepsTold(
        batches.by_mode(ops, launched.lengths_ns),
        layers.folded(ops),
        tuple(unplaced(replays)) if replays else (),
    )


def placed(
    ops: pl.DataFrame, tables: Tables, captured: pl.DataFrame
) -> tuple[pl.DataFrame, Replays | None]:
    """Return steps' operations attributed, and what replays are; None where nothing tells it.

    ``tables``: the timeline's, with origins. ``captured``: the table captured_launches; without it
    a replay is told by its nodes, where an export has them.
    """
    is_graph = pl.col("kind").cast(pl.String) == "graph"
    replayed = ops.filter("in_graph", ~is_graph).drop_nulls("correlation")
    replays = None
    if captured.height and replayed.height:
        replays = graph_replays.replays(replayed, captured)
    elif tables["graph_nodes"].height and replayed.height:
        replays = graph_replays.by_nodes(replayed, by_ranges.of_nodes(tables))
    placed_ones = replays.origins if replays else None
    return attribution.attributed(ops, tables["origins"], placed_ones), replays


def belongings(tables: Tables, captured: pl.DataFrame) -> pl.DataFrame | None:
    """Return correlation, device, place and ``belongs`` of a timeline's replayed operations.

    ``belongs``: the modules and the operator in which an operation was captured, as text. None
    where no capture tells any. ``place``: see harness.analysis.graph_replays.with_places.
    """
    calls = tables["api_calls"].drop_nulls("correlation")
    launches = calls.filter(host_calls.launches_graph(pl.col("name")))
    timed = tables["gpu_ops"].drop_nulls(["start_ns", "duration_ns", "correlation"])
    replayed = timed.join(launches, on="correlation", how="semi", maintain_order="left")
    if captured.is_empty() or replayed.is_empty():
        return None
    origins = graph_replays.replays(replayed.with_columns(step=0), captured).origins
    parts = [pl.col("scope"), pl.coalesce("operator", "node")]
    belongs = pl.concat_str(parts, separator=": ", ignore_nulls=True)
    return origins.select("correlation", "device", "place", belongs=belongs)


def unplaced(replays: Replays) -> Iterator[str]:
    """Yield what the capture does not say of the replays."""
    for why in replays.refused:
        yield f"Not attributed by the capture of the graphs, {why}."
    if replays.placed and not replays.by_name:
        yield (
            "The capture of the graphs names no kernels: their operations were compared with it by"
            " number, order and kind alone."
        )
