"""What each operation that communicates does: a kernel's own name says it, or the calls behind it.

NCCL runs an all-to-all, a send, a receive and several of them at once by kernels of one name,
SendRecv. What a launch of it does say the collective that torch notes on the kernel, and the calls
of NCCL that its thread made since the launch before: NCCL's NVTX ranges (``NCCL:ncclSend``), or
torch's annotations (``nccl:send 0->1``). An all-to-all sends to every rank and receives from every
rank, the rank itself included, as torch and XLA call it. A pipeline's step between two
micro-batches sends and receives, too, but with one neighbour.
"""

import re

import polars as pl

from harness.analysis import communication
from harness.analysis.kernels import bare
from harness.evidence.capture import Tables

ALL_TO_ALL, SEND, RECEIVE = "all-to-all", "send", "receive"
BOTH, EITHER = "send and receive", "send or receive"
"""Of one launch: both, as calls say; or any of the three, where nothing but the name is known."""
PEER_COPY = "copy between GPUs"
OTHER = "collective"

_KINDS = {
    ALL_TO_ALL: r"all_?to_?all",
    "all-reduce": r"all_?reduce|cross_device_reduce|(one|two)_shot",
    "reduce-scatter": r"reduce_?scatter",
    "all-gather": r"all_?gather",
    "broadcast": r"broadcast",
    EITHER: r"send_?recv",
    SEND: r"send",
    RECEIVE: r"recv",
    "reduce": r"reduce",
    "gather": r"gather",
    "scatter": r"scatter",
}
"""The kinds, and what the names of kernels, calls and torch's collectives have in lower case."""
_OF_NCCL, _OF_TORCH = "NCCL:nccl", "nccl:"
CALL_OF_NCCL = f"^(?:{_OF_NCCL}|{_OF_TORCH})"
"""Names of the ranges of such calls: a regular expression."""


def communicating(ops: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of communication.timed_work that communicate, with ``made``, their kind.

    ``calls`` are what :func:`by_calls` says of their capture.
    """
    rows = ops.filter(pl.col("work") == communication.COMMUNICATE)
    texts = {name: _kind(bare(name)[0]) for name in rows["name"].unique()}
    by_name = _replaced("name", texts)
    is_told = pl.when(by_name != EITHER).then(by_name)
    said = rows["collective"].unique().cast(pl.String).drop_nulls()
    noted = _replaced("collective", {name: _kind(name) for name in said})
    kinds = pl.coalesce(is_told, noted, "called", by_name, pl.lit(OTHER))
    made = pl.when(pl.col("kind") == "copy").then(pl.lit(PEER_COPY)).otherwise(kinds)
    joined = rows.join(calls, on="correlation", how="left", maintain_order="left")
    return joined.with_columns(made=made).drop("called")


def _kind(name: str) -> str | None:
    """Return the kind that a name says, None where it says none."""
    return next((kind for kind, words in _KINDS.items() if re.search(words, name.lower())), None)


def by_calls(tables: Tables, ranks: int) -> pl.DataFrame:
    """Return correlation and called: what the launches of collectives do by the calls before them.

    ``ranks``: how many devices take part. Calls belong to the next launch of their thread, and to
    those that follow it without a call between, as one thread launches a group's kernels of several
    devices.
    """
    calls = _calls(tables["ranges"])
    launched = (
        _launched(tables)
        .join_asof(calls.drop("call"), on="start_ns", by="thread", check_sortedness=False)
        .drop_nulls("turn")
    )
    groups = launched.group_by("thread", "turn").len("launches").sort("turn")
    of_groups = calls.sort("turn").join_asof(
        groups.with_columns(group="turn"),
        on="turn",
        by="thread",
        strategy="forward",
        check_sortedness=False,
    )
    sends, receives = ((pl.col("call") == each).sum() for each in (SEND, RECEIVE))
    least = pl.min_horizontal("sends", "receives")
    single = pl.when(pl.col("sends") > 0).then(pl.lit(SEND)).otherwise(pl.lit(RECEIVE))
    exchanged = pl.when(least >= ranks * pl.col("launches")).then(pl.lit(ALL_TO_ALL))
    by_count = pl.when(least > 0).then(exchanged.otherwise(pl.lit(BOTH))).otherwise(single)
    whole = pl.col("call").filter(~pl.col("call").is_in([SEND, RECEIVE])).last()
    called = (
        of_groups.group_by("thread", "group", "launches")
        .agg(sends=sends, receives=receives, whole=whole)
        .select("thread", turn="group", called=pl.coalesce("whole", by_count))
    )
    return launched.join(called, on=["thread", "turn"]).select("correlation", "called")


def _calls(ranges: pl.DataFrame) -> pl.DataFrame:
    """Return thread, start_ns, call (its kind) and turn, its place on its thread; by start.

    Where NCCL's own ranges were recorded, torch's annotations around them do not count again.
    """
    names = ranges["name"].unique().cast(pl.String).drop_nulls().to_list()
    own = _OF_NCCL if any(name.startswith(_OF_NCCL) for name in names) else _OF_TORCH
    kinds = {name: _kind(name.removeprefix(own)) for name in names if name.startswith(own)}
    said = _replaced("name", kinds)
    rows = ranges.drop_nulls("thread").select("thread", "start_ns", call=said).drop_nulls("call")
    turn = pl.int_range(pl.len(), dtype=pl.Int64).over("thread")
    return rows.sort("start_ns", maintain_order=True).with_columns(turn=turn)


def _launched(tables: Tables) -> pl.DataFrame:
    """Return correlation, thread and start_ns of the calls that launched collectives, by start.

    A graph's replay launches what was captured before, so its nodes have none.
    """
    ops = tables["gpu_ops"].filter(pl.col("graph_node").is_null(), pl.col("kind") == "kernel")
    names = [
        each for each in ops["name"].unique().cast(pl.String) if communication.communicates(each)
    ]
    collectives = ops.filter(pl.col("name").cast(pl.String).is_in(names))
    calls = tables["api_calls"].drop_nulls(["correlation", "thread", "start_ns"])
    launching = calls.join(collectives, on="correlation", how="semi").sort("start_ns")
    first = launching.unique("correlation", keep="first", maintain_order=True)
    return first.select("correlation", "thread", "start_ns")


def _replaced(column: str, texts: dict[str, str | None]) -> pl.Expr:
    text = pl.col(column).cast(pl.String)
    return text.replace_strict(texts, default=None, return_dtype=pl.String)
