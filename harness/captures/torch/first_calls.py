"""Calls of an operator in which its library makes ready for a new shape.

With torch.backends.cudnn.benchmark, a convolution's first call for a shape runs each algorithm
between two events, waits for the second, and takes the fastest (aten/src/ATen/native/cudnn/
Conv_v8.cpp, by cudnn_frontend::time_sorted_plan). No other convolution waits for an event. cuDNN's
attention builds a graph for each shape, of which torch keeps the built ones (cudnn/MHA.cpp).
"""

import re

import polars as pl

from harness.captures.torch.columns import Strings
from harness.captures.torch.launches import innermost
from harness.evidence.capture import BENCHMARK, BUILD, EVENT_WAIT

_CONVOLUTION = re.compile(r"aten::((cudnn|miopen)_convolution|convolution_backward)")
_LEAST = 3
"""Waits within one call: one or two may be a debugging tool's."""
_ATTENTION = re.compile(r"aten::_cudnn_attention_(forward|backward)$")
_BUILD_NS = 5_000_000
"""A call that builds takes 60 ms, one that finds its graph built 0.1 ms (H200, cuDNN of torch
2.11)."""


def first_calls(operators: pl.DataFrame, calls: pl.DataFrame, names: Strings) -> pl.DataFrame:
    """Return such calls as rows of ``ranges``, named BENCHMARK or BUILD and their operator.

    ``operators`` and ``calls`` have name, start_ns, duration_ns and thread; ``name`` counts in
    ``names``.
    """
    attends = [number for number, text in enumerate(names) if _ATTENTION.match(text)]
    built = operators.filter(
        pl.col("name").is_in(attends), pl.col("duration_ns") >= _BUILD_NS
    ).select("name", "start_ns", "duration_ns", "thread")
    tried = _trying(operators, calls, names)
    return pl.concat([_named(built, BUILD, names), _named(tried, BENCHMARK, names)])


def _named(rows: pl.DataFrame, begin: str, names: Strings) -> pl.DataFrame:
    told = {number: names.add(begin + names[number]) for number in rows["name"].unique()}
    return rows.with_columns(pl.col("name").replace_strict(told, return_dtype=pl.UInt32))


def _trying(operators: pl.DataFrame, calls: pl.DataFrame, names: Strings) -> pl.DataFrame:
    """Return the convolutions that wait for the events of trials."""
    texts = list(enumerate(names))
    called = [number for number, text in texts if _CONVOLUTION.match(text)]
    waits = [number for number, text in texts if re.search(EVENT_WAIT, text)]
    rows = operators.filter(pl.col("name").is_in(called))
    rows = rows.select("name", "start_ns", "duration_ns", "thread")
    places = calls.filter(pl.col("name").is_in(waits)).select("thread", at="start_ns")
    inside = innermost(rows, places.drop_nulls()).group_by("thread", "start_ns").len()
    tried = inside.filter(pl.col("len") >= _LEAST)
    return rows.join(tried, on=["thread", "start_ns"], how="semi")
