"""What part of the model and of the step each GPU operation belongs to."""

import re

import polars as pl

FORWARD, LOSS, BACKWARD, OPTIMIZER = "forward", "loss", "backward", "optimizer"
GRAPH = "CUDA graph"
"""The phase of kernels that a graph replays: their launch says which graph, not which operator."""
OUTSIDE = "outside"
"""The phase of what an operator launched outside of the program's modules and annotations, where
others are inside."""
UNATTRIBUTED = "unattributed"
PHASES = (FORWARD, LOSS, BACKWARD, OPTIMIZER, GRAPH, OUTSIDE, UNATTRIBUTED)

_OPTIMIZER = re.compile(
    r"(?:^| / )(?:Optimizer\.\w+#|[# ]*optimi[sz]er[# ]*(?: / |$))", re.IGNORECASE
)
"""torch's own annotations (torch/optim/optimizer.py), and a user's of that name."""
_UNASKED = re.compile(
    r"(?:Optimizer\.\w+|enumerate\(DataLoader\))#[^/]*|(?:nccl|NCCL|cu[A-Z]+)\w*(?::.*)?(?: / .*)?"
)
"""Annotations that torch and libraries make unasked: they say nothing of where the model is."""
_LOSS = re.compile(r"(?:^| / )(?:[# ]*loss[# ]*(?: / |$)|\w*Loss_\d+)", re.IGNORECASE)
_BACKWARD = re.compile(r"(?:^| / )[# ]*backward[# ]*(?: / |$)", re.IGNORECASE)
_LOSS_OPERATOR = re.compile(r"_loss|cross_entropy|log_softmax")
_COMPILED = re.compile(r"## Call CompiledFxGraph \w+ ##")
"""Inductor's annotation of a graph that it compiled, with its hash (torch/_inductor)."""
_NUMBER = re.compile(r"(?<=[._#])\d+(?=$|[._ /])")


def attributed(ops: pl.DataFrame, origins: pl.DataFrame) -> pl.DataFrame:
    """Return operations with phase, path and operator, by what their launch stood in.

    Where no launch has an operator, what is in no annotation is OUTSIDE.
    ``path``: the annotations and modules, layers' numbers as ``*``; without any, autograd's node or
    the operator. ``ops`` has correlation and in_graph.
    """
    texts = origins.with_columns(pl.col("operator", "node", "scope").cast(pl.String))
    first_calls = texts.unique("correlation", keep="first")
    scoped = first_calls["operator"].is_null().all() or any(
        not _UNASKED.fullmatch(each) for each in first_calls["scope"].drop_nulls().unique()
    )
    kinds = first_calls.select("operator", "node", "scope").unique()
    phases = [_phase(*row, scoped=scoped) for row in kinds.iter_rows()]
    paths = [_path(*row) for row in kinds.iter_rows()]
    kinds = kinds.with_columns(
        phase=pl.Series(phases, dtype=pl.String), path=pl.Series(paths, dtype=pl.String)
    )
    named = first_calls.join(kinds, on=["operator", "node", "scope"], nulls_equal=True)
    rows = ops.join(named, on="correlation", how="left", maintain_order="left")
    graph = pl.col("in_graph") & ~pl.col("phase").is_in([OPTIMIZER]).fill_null(value=False)
    return rows.with_columns(
        phase=pl.when(graph).then(pl.lit(GRAPH)).otherwise(pl.col("phase").fill_null(UNATTRIBUTED)),
        path=pl.col("path").fill_null(""),
        operator=pl.coalesce("operator", "node", pl.lit("")),
    )


def _phase(operator: str | None, node: str | None, scope: str | None, *, scoped: bool) -> str:
    """Return the phase of a launch; ``scoped``: whether the trace has modules or annotations."""
    where = scope or ""
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
