"""The SASS instructions of one kernel: where its warps waited, and which opcodes it ran."""

from typing import NamedTuple

import polars as pl

from harness.analysis.metrics import Metrics


class KernelInstructions(NamedTuple):
    """A kernel's name and its instructions of one launch, in the order of their addresses.

    Columns of ``rows``: those of the evidence table ``instructions``, and share, the part of the
    launch's warp samples that an instruction holds (0 to 1).
    """

    name: str
    rows: pl.DataFrame


def of_kernel(metrics: Metrics, variant: str, case: str, kernel: str) -> KernelInstructions | None:
    """Return the launch with most warp samples whose name holds ``kernel``; None without one."""
    tables = metrics.capture_with("instructions", variant, case)
    if tables is None:
        return None
    rows = tables["instructions"].with_columns(pl.col("name").cast(pl.String))
    rows = rows.filter(pl.col("name").str.contains(kernel, literal=True))
    if rows.is_empty():
        return None
    sampled = rows.group_by("launch", maintain_order=True).agg(pl.col("samples").sum())
    launch = sampled.sort("samples", descending=True, maintain_order=True)["launch"][0]
    rows = rows.filter(pl.col("launch") == launch).sort("index")
    share = pl.col("samples") / pl.max_horizontal(pl.col("samples").sum(), 1)
    return KernelInstructions(rows["name"][0], rows.with_columns(share.alias("share")))


def opcodes(kernel: KernelInstructions) -> pl.DataFrame:
    """Return opcode, executed (by warps) and share of all executed, most executed first.

    An opcode is an instruction's first word after its predicate, without modifiers: ``LDG`` of
    ``@P0 LDG.E.128 R4, desc[UR4][R2.64]``.
    """
    opcode = pl.col("sass").str.extract(r"^\s*(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_]*)")
    return (
        kernel.rows.group_by(opcode.alias("opcode"))
        .agg(pl.col("executed").sum())
        .with_columns((pl.col("executed") / pl.col("executed").sum()).alias("share"))
        .sort(["executed", "opcode"], descending=[True, False])
    )
