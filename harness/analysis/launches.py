"""Which step each host call was made for: by its own thread, or by autograd's while that one waits.

``backward()`` returns when torch's autograd engine has run its nodes, and the engine runs those of
a GPU on a thread of its own (torch/csrc/autograd/engine.cpp). Other threads launch for themselves:
what a second worker or a data loader launches while a step is open is no part of that step.
"""

from typing import NamedTuple

import polars as pl


class Owners(NamedTuple):
    """``calls``: correlation and step, a row a correlation.

    ``doubtful``: steps for which autograd may have launched more than ``calls`` has.
    """

    calls: pl.DataFrame
    doubtful: tuple[int, ...]


def owners(api_calls: pl.DataFrame, steps: pl.DataFrame, serving: pl.DataFrame) -> Owners:
    """Return the step for which each host call was made.

    ``steps``: step, thread, start_ns, end_ns, disjoint on one thread. ``serving``: the evidence's
    ``autograd_threads``. A call of a thread of autograd is for the step that is open on a thread
    that the engine serves. If several are open, or the step's thread is inside a call of its own
    and so does not wait, nobody can say whose the call is: those steps are doubtful, and have no
    call of autograd's threads at all.
    """
    calls = (
        api_calls.select("correlation", "thread", "start_ns", "duration_ns")
        .drop_nulls(["correlation", "thread", "start_ns"])
        .sort("start_ns")
    )
    own = _open(calls, steps).unique("correlation", keep="first", maintain_order=True)
    threads = steps["thread"].unique()
    serving = serving.filter(pl.col("serves").is_in(threads.implode())).unique()
    if serving.is_empty():
        return Owners(own.select("correlation", "step"), ())
    others = calls.join(own, on="correlation", how="anti").join(serving, on="thread")
    of_served = others.with_columns(thread="serves").sort("start_ns")
    theirs = _busy(_open(of_served, steps), calls)
    shared = pl.len().over("correlation") > 1
    doubtful = theirs.filter(shared | pl.col("busy"))["step"].unique().sort()
    sure = theirs.filter(~pl.col("step").is_in(doubtful.implode()))
    owned = pl.concat([own, sure.select(own.columns)]).select("correlation", "step")
    return Owners(owned, tuple(doubtful))


def _open(calls: pl.DataFrame, steps: pl.DataFrame) -> pl.DataFrame:
    """Return the calls that began while a step was open on their thread, each once a step."""
    return (
        calls.select("correlation", "thread", "start_ns")
        .join_asof(
            steps, on="start_ns", by="thread", strategy="backward", check_sortedness=False
        )  # both sides are sorted
        .filter(pl.col("start_ns") < pl.col("end_ns"))
        .unique(["correlation", "thread"], keep="first", maintain_order=True)
        .drop("end_ns")
    )


def _busy(served: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    """Return calls with ``busy``: whether the served thread was inside a call of its own."""
    end = pl.col("start_ns") + pl.col("duration_ns").fill_null(0)
    own = calls.select("thread", "start_ns", busy_ns=end.cum_max().over("thread"))
    before = served.join_asof(own, on="start_ns", by="thread", check_sortedness=False)
    busy = (pl.col("busy_ns") > pl.col("start_ns")).fill_null(value=False)
    return before.with_columns(busy=busy).drop("busy_ns")
