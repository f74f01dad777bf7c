"""Calls of a convolution in which cuDNN or MIOpen tries its algorithms (benchmark mode).

With torch.backends.cudnn.benchmark, the first call for a shape runs each algorithm between two
events, waits for the second, and takes the fastest (aten/src/ATen/native/cudnn/Conv_v8.cpp,
by cudnn_frontend::time_sorted_plan). No other convolution waits for an event.
"""

import re

import polars as pl

from harness.captures.torch.columns import Strings
from harness.captures.torch.launches import innermost
from harness.evidence.capture import BENCHMARK, EVENT_WAIT

_CONVOLUTION = re.compile(r"aten::((cudnn|miopen)_convolution|convolution_backward)")
_LEAST = 3
"""Waits within one call: one or two may be a debugging tool's."""


def benchmark_ranges(operators: pl.DataFrame, calls: pl.DataFrame, names: Strings) -> pl.DataFrame:
    """Return such calls as rows of ``ranges``, named BENCHMARK and their operator.

    ``operators`` and ``calls`` have name, start_ns, duration_ns and thread; ``name`` counts in
    ``names``.
    """
    texts = list(enumerate(names))
    called = [number for number, text in texts if _CONVOLUTION.match(text)]
    waits = [number for number, text in texts if re.search(EVENT_WAIT, text)]
    rows = operators.filter(pl.col("name").is_in(called))
    rows = rows.select("name", "start_ns", "duration_ns", "thread")
    places = calls.filter(pl.col("name").is_in(waits)).select("thread", at="start_ns")
    inside = innermost(rows, places.drop_nulls()).group_by("thread", "start_ns").len()
    tried = inside.filter(pl.col("len") >= _LEAST)
    rows = rows.join(tried, on=["thread", "start_ns"], how="semi")
    told = {number: names.add(BENCHMARK + names[number]) for number in rows["name"].unique()}
    return rows.with_columns(pl.col("name").replace_strict(told, return_dtype=pl.UInt32))
