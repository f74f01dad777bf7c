"""When the nodes of CUDA graphs were captured, by an export that traced graphs node by node."""

from typing import TYPE_CHECKING

from harness.captures.formats.sqlite_file import SqliteFile
from harness.captures.nsys.rows import process_id
from harness.evidence.tables import empty, frame

if TYPE_CHECKING:
    import polars as pl

EVENTS = "CUDA_GRAPH_NODE_EVENTS"
_NODE, _ORIGINAL = "graphNodeId", "originalGraphNodeId"
_COLUMNS = ("start", "globalTid", _NODE, _ORIGINAL)
_DEEPEST = 8
"""A node of an instantiated graph is a copy of one of the graph, which may be a child's copy."""


def graph_nodes(file: SqliteFile) -> "pl.DataFrame":
    """Return the evidence's table ``graph_nodes``; empty of several processes, whose ids collide.

    A copy of a node was captured when its original was.
    """
    import polars as pl

    if not file.columns(EVENTS).issuperset(_COLUMNS):
        return empty("graph_nodes")
    rows = file.fetch(EVENTS, dict.fromkeys(_COLUMNS, "INTEGER")).drop_nulls(["start", _NODE])
    if rows.select(process_id("globalTid").n_unique()).item() != 1:
        return empty("graph_nodes")
    made = rows.sort("start").unique(_NODE, keep="first", maintain_order=True)
    copies = rows.drop_nulls(_ORIGINAL).unique(_NODE, keep="first", maintain_order=True)
    original = copies.select(_NODE, first=_ORIGINAL)
    nodes = made.select(_NODE, root=_NODE)
    for _ in range(_DEEPEST):
        nodes = nodes.join(original, left_on="root", right_on=_NODE, how="left")
        nodes = nodes.select(_NODE, root=pl.coalesce("first", "root"))
    captured = made.select("start", "globalTid", root=_NODE)
    known = nodes.join(captured, on="root", how="inner").sort("start", _NODE)
    return frame(
        "graph_nodes",
        {"graph_node": known[_NODE], "thread": known["globalTid"], "start_ns": known["start"]},
    )
