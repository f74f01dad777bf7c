"""The launches that a CUDA graph was captured from: they run nothing, each becomes a node.

Between ``cudaStreamBeginCapture`` and ``cudaStreamEndCapture`` (hip… on AMD) a launch has no GPU
operation of its own, and stands in the operators and modules that no replay of the graph shows.
Kineto's events of HIP's calls name the kernel (argument ``kernel``), those of CUDA's do not.
"""

import re
from collections.abc import Iterable

import polars as pl

from harness.captures.torch.origins import HostActivity, origins
from harness.evidence.tables import frame

_BEGIN = re.compile(r"(?:cuda|cu|hip)StreamBeginCapture")
_END = re.compile(r"(?:cuda|cu|hip)StreamEndCapture")
_NODES = {
    "kernel": re.compile(r"(?:cuda|cu|hip)\w*Launch(?:Cooperative)?Kernel"),
    "copy": re.compile(r"(?:cuda|cu|hip)Memcpy"),
    "memset": re.compile(r"(?:cuda|cu|hip)Memset"),
}
"""What a call puts into the graph that is being captured, by the call's name."""


def captured_launches(host: HostActivity, calls: pl.DataFrame, gpu: pl.DataFrame) -> pl.DataFrame:
    """Return the evidence's table ``captured_launches``; empty where no graph was captured.

    ``calls``: start_ns, duration_ns, thread, correlation, and name and kernel as numbers of
    ``host.names``. A launch of another thread counts, too, while a capture goes on: what it
    launches outside of the capture has a GPU operation.
    """
    kinds = {
        number: kind for kind, pattern in _NODES.items() for number in _numbers(host.names, pattern)
    }
    begins = _calls(calls, _numbers(host.names, _BEGIN)).with_row_index("graph")
    ends = _calls(calls, _numbers(host.names, _END)).select("thread", "start_ns", end="start_ns")
    graphs = begins.join_asof(
        ends, on="start_ns", by="thread", strategy="forward", check_sortedness=False
    ).drop_nulls("end")
    named = calls.filter(pl.col("name").is_in(list(kinds))) if graphs.height else calls.clear()
    launches = (
        named.drop_nulls(["correlation", "thread"])
        .join(gpu, on="correlation", how="anti")
        .unique("correlation", keep="first", maintain_order=True)
        .sort("start_ns")
        .join_asof(graphs.select("graph", "start_ns", "end"), on="start_ns", check_sortedness=False)
        .filter(pl.col("start_ns") < pl.col("end"))
    )
    of = origins(host, launches.select("correlation", "thread", at="start_ns"))
    rows = launches.drop("name").with_columns(
        kind=launches["name"].replace_strict(kinds, return_dtype=pl.String, default=None)
    )
    rows = rows.join(of, on="correlation", how="left", maintain_order="left")
    texts = pl.Series(list(host.names), dtype=pl.String).cast(pl.Categorical)
    columns = {
        key: rows[key] for key in ("graph", "kind", "operator", "node", "scope", "inputs", "call")
    }
    return frame("captured_launches", columns | {"name": texts.gather(rows["kernel"])})


def _numbers(names: Iterable[str], pattern: re.Pattern[str]) -> list[int]:
    return [number for number, name in enumerate(names) if pattern.match(name)]


def _calls(calls: pl.DataFrame, names: list[int]) -> pl.DataFrame:
    named = calls.filter(pl.col("name").is_in(names))
    return named.select("thread", "start_ns").drop_nulls().sort("start_ns")
