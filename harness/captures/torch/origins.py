"""What launched each GPU operation: the operator, the module and the node of autograd.

Nothing here goes by order or by a kernel's name. A GPU operation has the correlation of a host
call; the call stands in operators, Python's calls of modules and annotations that were open on its
thread. The backward pass runs on threads of autograd's own, where no module is open: a node of it
has the sequence number and the thread of the operator that made it (torch/csrc/autograd/function.h,
torch/csrc/autograd/record_function_ops.h), and that operator stood in a module.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from harness.captures.torch.columns import Strings
from harness.captures.torch.events import MODULE
from harness.captures.torch.launches import innermost
from harness.evidence.capture import IN_SCOPE, MARK_OF_TIME
from harness.evidence.tables import frame

_NODE = "autograd::engine::evaluate_function: "
_REGION = "Torch-Compiled Region"
"""What the operator begins with in which torch.compile runs what it compiled."""
_NODE_OF_2021 = re.compile(r"[A-Z]\w*Backward\d*|torch::autograd::\w+")
"""How torch 1.8 calls nodes (torch/csrc/autograd/function.h, Node::name)."""
_NODE_NUMBER = re.compile(r"backward\d*$")


@dataclass(frozen=True)
class HostActivity:
    """What the host did, with start_ns, duration_ns and thread; ``name`` counts in ``names``.

    ``operators`` have sequence and forward_thread, too, and inputs, which count in ``names``.
    """

    operators: pl.DataFrame
    modules: pl.DataFrame
    ranges: pl.DataFrame
    names: Strings


def origins(host: HostActivity, launched: pl.DataFrame) -> pl.DataFrame:
    """Return the table ``origins``: a row a correlation whose launch stood in anything.

    ``launched`` is of :func:`.launches.launches`. An operation of the backward pass has the scope
    of the operator that made its node, unless its own thread entered a scope within the node, as
    recomputation does.
    """
    places = launched.select("correlation", "thread", "at").unique("correlation", keep="first")
    scopes = _scopes(host)
    operators = innermost(
        host.operators.select("thread", "start_ns", "duration_ns", "name", "inputs"), places
    )
    nodes = innermost(_nodes(host, scopes), places)
    inside = innermost(scopes, places)
    launches = places
    for seen in (
        operators.select("correlation", "inputs", operator="name", called_ns="start_ns"),
        nodes.select("correlation", node="name", node_ns="start_ns", made="scope"),
        inside.select("correlation", scope="name", scope_ns="start_ns"),
    ):
        launches = launches.join(seen, on="correlation", how="left")
    outside = pl.col("scope_ns").is_null() | (pl.col("scope_ns") < pl.col("node_ns"))
    linked = pl.col("node").is_not_null() & outside & pl.col("made").is_not_null()
    rows = launches.with_columns(scope=pl.when(linked).then("made").otherwise("scope"))
    has_origin = pl.any_horizontal(pl.col("operator", "node", "scope").is_not_null())
    rows = rows.filter(has_origin).sort("correlation")
    texts = pl.Series(list(host.names), dtype=pl.String).cast(pl.Categorical)
    columns = {name: texts.gather(rows[name]) for name in ("operator", "node", "scope", "inputs")}
    began = rows.select(pl.when(pl.col("inputs").is_not_null()).then("called_ns")).to_series()
    columns["call"] = began.rank("dense")
    return frame("origins", {"correlation": rows["correlation"], **columns})


def node_names(names: Strings) -> dict[int, str]:
    """Return the names by which operators are calls of autograd's nodes, by their numbers."""
    return {number: name for number, name in enumerate(names) if name.startswith(_NODE)}


def backward_names(names: Strings) -> dict[int, str]:
    """Return the names of operators that only the backward pass calls, by their numbers.

    Torch before 1.9 records a node under its own name alone, such as MmBackward.
    """
    own = {number: name for number, name in enumerate(names) if _NODE_OF_2021.fullmatch(name)}
    return node_names(names) or own


def _nodes(host: HostActivity, scopes: pl.DataFrame) -> pl.DataFrame:
    """Return the calls of autograd's nodes as spans, with name and the scope it was made in.

    A node without a sequence number, such as the accumulation of a gradient, has no such scope.
    """
    short = {
        number: host.names.add(name.removeprefix(_NODE))
        for number, name in node_names(host.names).items()
    }
    calls = host.operators.filter(pl.col("name").is_in(list(short)))
    made = _made(host, calls)
    scoped = innermost(scopes, made).select("call", scope="name")
    return (
        calls.with_row_index("call")
        .join(scoped, on="call", how="left", maintain_order="left")
        .select(
            "thread",
            "start_ns",
            "duration_ns",
            pl.col("name").replace_strict(short, return_dtype=pl.UInt32),
            pl.col("scope").cast(pl.UInt32),
        )
    )


def _made(host: HostActivity, calls: pl.DataFrame) -> pl.DataFrame:
    """Return call, thread and at: where the operator began that made the node of each call.

    Of the operators with a node's sequence number, the last to begin before it made it: the others
    only enclose that one. Sequence numbers count by thread, and nodes name the thread by a number
    of torch's own: that thread is meant on which most operators are called as their nodes are.
    """
    operators = host.operators.filter(
        pl.col("sequence").is_not_null() & (pl.col("forward_thread").fill_null(0) == 0)
    )
    forward = operators.drop_nulls("thread").select(
        "sequence", "thread", "start_ns", at="start_ns", maker="name"
    )
    nodes = (
        calls.with_row_index("call")
        .drop_nulls(["sequence", "forward_thread"])
        .select("call", "sequence", "forward_thread", "start_ns", node="name")
        .sort("start_ns")
    )
    threads = forward["thread"].unique().sort()
    pairs = pl.concat(
        [
            nodes.join_asof(
                forward.filter(pl.col("thread") == thread).sort("start_ns"),
                on="start_ns",
                by="sequence",
                check_sortedness=False,
            ).drop_nulls("at")
            for thread in threads
        ]
        or [nodes.join(forward, on="sequence", how="inner")]
    )
    names = pairs.select("node", "maker").unique()
    alike = [_alike(host.names[node], host.names[maker]) for node, maker in names.iter_rows()]
    meant = (
        pairs.join(names.with_columns(alike=pl.Series(alike, dtype=pl.Boolean)), on=names.columns)
        .group_by("forward_thread", "thread")
        .agg(pl.col("alike").sum(), pl.len().alias("all"))
        .sort("alike", "all", "thread", descending=[True, True, False])
        .unique("forward_thread", keep="first", maintain_order=True)
    )
    keys = ["forward_thread", "thread"]
    return pairs.join(meant.select(keys), on=keys).select("call", "thread", "at")


def _alike(node: str, operator: str) -> bool:
    """Return whether a node and an operator are of one function, by their names."""
    function = _NODE_NUMBER.sub("", node.removeprefix(_NODE).lower()).replace("_", "")
    return function == operator.rpartition("::")[2].lower().replace("_", "")


def _scopes(host: HostActivity) -> pl.DataFrame:
    """Return modules, annotations and compiled regions as spans whose name is their whole path."""
    strings = list(host.names)
    regions = [number for number, name in enumerate(strings) if name.startswith(_REGION)]
    marks = [number for number, name in enumerate(strings) if re.match(MARK_OF_TIME, name)]
    spans = [
        rows.select("thread", "start_ns", "duration_ns", "name")
        for rows in (
            host.modules,
            host.ranges.filter(~pl.col("name").is_in(marks)),
            host.operators.filter(pl.col("name").is_in(regions)),
        )
    ]
    ended = pl.col("start_ns") + pl.col("duration_ns")
    rows = pl.concat(spans).drop_nulls().with_columns(end_ns=ended)
    rows = rows.sort("thread", "start_ns", "end_ns", descending=[False, False, True])
    paths = pl.Series(list(_paths(rows, host.names)), dtype=pl.UInt32)
    return rows.with_columns(name=paths).drop("end_ns")


def _paths(rows: pl.DataFrame, names: Strings) -> Iterator[int]:
    """Yield the number of the path of each span: the names of the spans around it and its own."""
    numbers: dict[tuple[int | None, int], int] = {}
    open_: list[tuple[int, int]] = []  # end and path
    before = None
    for thread, end, name in rows.select("thread", "end_ns", "name").iter_rows():
        if thread != before:
            before, open_ = thread, []
        while open_ and open_[-1][0] < end:
            open_.pop()
        key = (open_[-1][1] if open_ else None, name)
        if key not in numbers:
            own = names[name].removeprefix(MODULE)
            outer = names[key[0]] + IN_SCOPE if key[0] is not None else ""
            numbers[key] = names.add(f"{outer}{own}")
        open_.append((end, numbers[key]))
        yield numbers[key]
