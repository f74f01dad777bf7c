"""Attention as separate kernels: product, passes over all scores, product.

Between the product of queries and keys and that with the values, eager code scales, masks and
normalises a matrix of every query with every key, and reads and writes it in each kernel; so does
its backward pass. FlashAttention (Dao et al., 2022) never writes that matrix.
"""

import polars as pl

from harness.analysis import kernels

_SOFTMAX = "softmax"
_PRODUCTS = ("gemm", "gemv")
_PASSES = (_SOFTMAX, "elementwise", "cast/copy", "random")


def passes(ops: pl.DataFrame) -> pl.DataFrame:
    """Return the kernels that run between two products, of which one is a softmax.

    On one stream, in the order in which they run; cuBLAS clears its workspace beside them, which
    is no kernel. A softmax of a loss has no product behind it, and one that routes to experts is
    followed by a selection.
    """
    kernel = ops.filter(pl.col("kind") == "kernel").sort("stream", "start_ns")
    families = {name: kernels.family(name) for name in kernel["name"].unique()}
    if _SOFTMAX not in families.values():
        return ops.clear()
    rows = kernel.with_columns(family=pl.col("name").replace_strict(families))
    ends = ~pl.col("family").is_in(_PASSES)
    chains = rows.with_columns(ends=ends, chain=ends.cum_sum().over("stream"))
    begun = chains.filter(pl.col("family").is_in(_PRODUCTS)).select("stream", "chain")
    ended = begun.with_columns(pl.col("chain") - 1)
    inner = chains.filter(~pl.col("ends"))
    softmax = inner.filter(pl.col("family") == _SOFTMAX).select("stream", "chain").unique()
    for whole in (begun, ended, softmax):
        inner = inner.join(whole, on=["stream", "chain"], how="semi", nulls_equal=True)
    return inner.select(ops.columns)
