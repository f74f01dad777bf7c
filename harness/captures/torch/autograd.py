"""Threads of torch's autograd engine, by what runs on them."""

import polars as pl

from harness.captures.torch.launches import innermost
from harness.captures.torch.origins import Host, node_names
from harness.evidence.tables import frame


def autograd_threads(host: Host) -> pl.DataFrame:
    """Return the evidence's table ``autograd_threads``.

    The engine's threads run operators within autograd's nodes alone, but for nodes that began
    before the trace; a thread that calls backward() runs other operators, too, and some nodes if
    they are the CPU's. Served are the other threads that have annotations.
    """
    operators = host.operators.select("thread", "start_ns", "duration_ns", "name")
    nodes = operators.filter(pl.col("name").is_in(list(node_names(host.names))))
    places = operators.drop_nulls("thread").select(
        "thread", at="start_ns", operator=pl.int_range(pl.len())
    )
    of_threads = places.join(nodes, on="thread", how="semi")
    inside = innermost(nodes.drop("name"), of_threads)
    counts = (
        of_threads.join(inside, on="operator", how="anti")
        .group_by("thread")
        .agg(pl.len().alias("outside"))
    )
    engine = (
        nodes.drop_nulls("thread")
        .group_by("thread")
        .agg(pl.len().alias("nodes"))
        .join(counts, on="thread", how="left")
        .filter(pl.col("outside").fill_null(0) < pl.col("nodes"))
        .select("thread")
    )
    served = host.ranges.select(serves="thread").drop_nulls().unique()
    served = served.join(engine, left_on="serves", right_on="thread", how="anti")
    pairs = engine.join(served, how="cross").sort("thread", "serves")
    return frame("autograd_threads", {key: pairs[key] for key in ("thread", "serves")})
