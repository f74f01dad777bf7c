"""What part of the model and of the step each GPU operation belongs to."""

import re

import polars as pl

from harness.analysis import annotations, graph_replays
from harness.evidence.capture import IN_SCOPE

FORWARD, LOSS, BACKWARD, OPTIMIZER = "forward", "loss", "backward", "optimizer"
GRAPH = "CUDA graph"
"""The phase of kernels that a graph replays: their launch says which graph, not which operator."""
OUTSIDE = "outside"
"""The phase of what an operator launched outside of the program's modules and annotations, where
others are inside."""
UNATTRIBUTED = "unattributed"
PREFILL, DECODE, MIXED = "prefill", "decode", "mixed"
"""The phases of a serving engine's steps, by what its annotation says of the batch."""
PHASES = (FORWARD, PREFILL, DECODE, MIXED, LOSS, BACKWARD, OPTIMIZER, GRAPH, OUTSIDE, UNATTRIBUTED)

_OPTIMIZER = re.compile(
    r"(?:^| / )(?:Optimizer\.\w+#|[# ]*optimi[sz]er[# ]*(?: / |$))", re.IGNORECASE
)
"""torch's own annotations (torch/optim/optimizer.py), and a user's of that name."""
_UNASKED = re.compile(
    r"(?:Optimizer\.\w+|enumerate\(DataLoader\))#[^/]*|(?:nccl|NCCL|cu[A-Z]+)\w*(?::.*)?(?: / .*)?"
)
"""Annotations that torch and libraries make unasked: they say nothing of where the model is."""
_LOSS = re.compile(r"(?:^| / )(?:[# ]*loss[# ]*(?: / |$)|\w*Loss_\d+)", re.IGNORECASE)
_BACKWARD = re.compile(r"(?:^| / )[# ]*backward(?:-compute)?[# ]*(?: / |$)", re.IGNORECASE)
_LOSS_OPERATOR = re.compile(r"_loss|cross_entropy|log_softmax")
_COMPILED = re.compile(r"## Call CompiledFxGraph \w+ ##")
"""Inductor's annotation of a graph that it compiled, with its hash (torch/_inductor)."""
_NUMBER = re.compile(r"(?<=[._#])\d+(?=$|[. /]|_(?![A-Z]))")
"""A layer's number; one before a capital is a part of a class's name, as in Qwen2_5_VLMLP_0."""


def attributed(
    ops: pl.DataFrame, origins: pl.DataFrame, placed: pl.DataFrame | None = None
) -> pl.DataFrame:
    """Return operations with phase, path, operator, scope and ``batch``, by their launches.

    Where no launch has an operator, what is in no annotation is OUTSIDE.
    ``path``: the annotations and modules, layers' numbers as ``*``; without any, autograd's node or
    the operator. ``batch``: an engine's annotation around the launch, which is no part of a path.
    ``ops`` has correlation and in_graph. ``placed``: the origins of operations that graphs replay,
    as of harness.analysis.graph_replays; such an operation belongs where it was captured.
    """
    texts = origins.with_columns(pl.col("operator", "node", "scope", "inputs").cast(pl.String))
    first_calls = _without_batches(texts.unique("correlation", keep="first"))
    scoped = first_calls["operator"].is_null().all() or any(
        not _UNASKED.fullmatch(each) for each in first_calls["scope"].drop_nulls().unique()
    )
    scoped = scoped or first_calls["batch"].drop_nulls().len() > 0
    named = _named(first_calls, scoped=scoped)
    rows = ops.join(named, on="correlation", how="left", maintain_order="left")
    rows = graph_replays.with_places(rows)
    left = pl.col("in_graph") & ~pl.col("phase").is_in([OPTIMIZER]).fill_null(value=False)
    if placed is not None and placed.height:
        calls = first_calls.select("correlation", "batch")
        of_replays = placed.join(calls, on="correlation", how="left", maintain_order="left")
        rows = _replaced(rows, _named(of_replays, scoped=scoped))
        left &= ~pl.col("is_placed")
    return rows.with_columns(
        phase=pl.when(left).then(pl.lit(GRAPH)).otherwise(pl.col("phase").fill_null(UNATTRIBUTED)),
        path=pl.col("path").fill_null(""),
        operator=pl.coalesce("operator", "node", pl.lit("")),
    ).drop("is_placed", strict=False)


def _without_batches(origins: pl.DataFrame) -> pl.DataFrame:
    """Return origins with ``batch``: the innermost engine's annotation, which their scopes lack.

    One that states lengths tells most: an engine may write another one inside that does not.
    """
    scopes = {scope: scope.split(IN_SCOPE) for scope in origins["scope"].drop_nulls().unique()}
    every = {part for parts in scopes.values() for part in parts}
    said = annotations.batches(pl.Series(list(every), dtype=pl.String))
    rows = []
    for scope, parts in scopes.items():
        inner = [part for part in reversed(parts) if part in said]
        batch = next((part for part in inner if annotations.lengths(part)), next(iter(inner), None))
        rows.append((scope, IN_SCOPE.join(part for part in parts if part not in said), batch))
    schema = dict.fromkeys(("scope", "kept", "batch"), pl.String)
    known = pl.DataFrame(rows, schema=schema, orient="row")
    joined = origins.join(known, on="scope", how="left", maintain_order="left")
    return joined.with_columns(scope=pl.when(pl.col("kept") != "").then("kept")).drop("kept")


def _named(origins: pl.DataFrame, *, scoped: bool) -> pl.DataFrame:
    """Return origins with phase and path."""
    keys = ["operator", "node", "scope", "batch"]
    kinds = origins.select(keys).unique()
    phases = [_phase(*row, scoped=scoped) for row in kinds.iter_rows()]
    paths = [_path(*row[:3]) for row in kinds.iter_rows()]
    kinds = kinds.with_columns(
        phase=pl.Series(phases, dtype=pl.String), path=pl.Series(paths, dtype=pl.String)
    )
    return origins.join(kinds, on=keys, nulls_equal=True, maintain_order="left")


def _replaced(rows: pl.DataFrame, of_replays: pl.DataFrame) -> pl.DataFrame:
    """Return operations of which the placed ones have what their replay says, with is_placed."""
    keys = ["correlation", "device", "place"]
    told = ("operator", "node", "scope", "inputs", "call", "phase", "path")
    origins = of_replays.select(*keys, *told, is_placed=pl.lit(value=True))
    joined = rows.join(
        origins, on=keys, how="left", suffix="_captured", nulls_equal=True, maintain_order="left"
    )
    is_placed = pl.col("is_placed").fill_null(value=False) & pl.col("in_graph")
    own = {
        name: pl.when(is_placed).then(f"{name}_captured").otherwise(name).alias(name)
        for name in told
    }
    columns = [*own.values(), is_placed.alias("is_placed")]
    return joined.with_columns(columns).select(*rows.columns, "is_placed")


def _phase(
    operator: str | None, node: str | None, scope: str | None, batch: str | None, *, scoped: bool
) -> str:
    """Return the phase of a launch; ``scoped``: whether the trace has modules or annotations."""
    where = scope or ""
    if batch and (said := annotations.batch(batch)):
        return said.mode
    if node is not None:
        return BACKWARD
    if _OPTIMIZER.search(where):
        return OPTIMIZER
    if _LOSS.search(where) or (operator and _LOSS_OPERATOR.search(operator)):
        return LOSS
    if _BACKWARD.search(where):
        return BACKWARD
    return OUTSIDE if scoped and not where else FORWARD


def _path(operator: str | None, node: str | None, scope: str | None) -> str:
    place = _COMPILED.sub("compiled graph", scope or node or operator or "")
    return _NUMBER.sub("*", place)
