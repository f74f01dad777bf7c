"""What launched each GPU operation where a capture has no operators: the ranges around it.

Nsight Systems records host calls and NVTX ranges. A launch belongs to the ranges that were open on
its thread; one of autograd's threads to those that were open on the thread it serves, which waits
in ``backward()``. torch's own ranges (``torch.autograd.profiler.emit_nvtx``) name operators.
"""

import polars as pl

from harness.analysis.diff.paths import with_paths
from harness.analysis.repeats import OPERATOR
from harness.evidence.capture import IN_SCOPE, MARK_OF_TIME
from harness.evidence.tables import Tables, frame

_BACKWARD = "autograd"
"""The node of what autograd's threads launched: which one it was, no range says."""


def origins(tables: Tables) -> pl.DataFrame:
    """Return the evidence's table ``origins`` by ranges: a row a host call that launched work."""
    calls = tables["api_calls"].drop_nulls(["correlation", "thread", "start_ns"])
    launches = tables["gpu_ops"].select("correlation").drop_nulls().unique()
    calls = calls.join(launches, on="correlation", how="semi").sort("start_ns")
    return _of_calls(calls.unique("correlation", keep="first", maintain_order=True), tables)


def of_nodes(tables: Tables) -> pl.DataFrame:
    """Return graph_node, operator, node and scope of graphs' nodes, by the ranges of their capture.

    A node whose capture stood in no range has no row.
    """
    calls = tables["graph_nodes"].rename({"graph_node": "correlation"}).sort("start_ns")
    told = _of_calls(calls, tables).rename({"correlation": "graph_node"})
    rows = told.with_columns(pl.col("operator", "node", "scope").cast(pl.String))
    return rows.filter(pl.any_horizontal(pl.col("operator", "scope").is_not_null()))


def _of_calls(calls: pl.DataFrame, tables: Tables) -> pl.DataFrame:
    """Return what calls stood in; ``calls``: correlation, once each, thread and start_ns."""
    ranges = tables["ranges"].drop_nulls().cast({"name": pl.String})
    operator = pl.col("name").str.contains(OPERATOR)
    named = ranges.filter(operator).with_columns(pl.col("name").str.replace(OPERATOR, ""))
    places = _whole(ranges.filter(~operator, ~pl.col("name").str.contains(MARK_OF_TIME)))
    engine = tables["autograd_threads"]
    attributed = with_paths(calls, calls, named).rename({"path": "operator"})
    scopes = with_paths(calls, _callers(calls, engine), places).select("correlation", scope="path")
    attributed = attributed.join(scopes, on="correlation", how="left", maintain_order="left")
    backward = pl.col("thread").is_in(engine["thread"].unique().implode())
    attributed = attributed.with_columns(node=pl.when(backward).then(pl.lit(_BACKWARD)))
    columns = ("correlation", "operator", "node", "scope")
    return frame("origins", {name: attributed[name] for name in columns})


def _callers(calls: pl.DataFrame, engine: pl.DataFrame) -> pl.DataFrame:
    """Return calls with the thread that waits for them, where autograd serves one alone."""
    one = engine.group_by("thread").agg(pl.col("serves").first(), pl.len().alias("served"))
    one = one.filter(pl.col("served") == 1).select("thread", "serves")
    served = calls.join(one, on="thread", how="left", maintain_order="left")
    return served.with_columns(thread=pl.coalesce("serves", "thread")).drop("serves")


def _whole(ranges: pl.DataFrame) -> pl.DataFrame:
    """Return ranges whose names are those of the ranges around them and their own."""
    end = pl.col("start_ns") + pl.col("duration_ns")
    rows = ranges.with_columns(end_ns=end).sort(
        "thread", "start_ns", "end_ns", descending=[False, False, True]
    )
    names: list[str] = []
    open_: list[tuple[int, int, str]] = []
    for thread, start, end_ns, name in rows.select(
        "thread", "start_ns", "end_ns", "name"
    ).iter_rows():
        while open_ and (open_[-1][0] != thread or open_[-1][1] <= start):
            open_.pop()
        whole = IN_SCOPE.join((*(part for _, _, part in open_[-1:]), name))
        open_.append((thread, end_ns, whole))
        names.append(whole)
    return rows.with_columns(name=pl.Series(names, dtype=pl.String)).drop("end_ns")
