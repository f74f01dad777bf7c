"""Keep what the diagnosis reads of a cell's export by nsys, for tests.

    python tests/data/keep_pipeline.py EXPORT KEPT

``pipeline`` here was cut from the cell train.1f1b of study 12, on two H200: the operations on the
GPUs, the calls that launched them, and the ranges, among them those of NCCL.
"""

import sys
from pathlib import Path

import polars as pl

from harness.extract import door

UNUSED = ("block", "registers", "shared_bytes", "bytes", "graph_node")


def kept(export: Path) -> dict[str, pl.DataFrame]:
    """Return the tables by name."""
    tables = door.capture(export).captures["nsys"].tables
    ops, calls = tables["gpu_ops"], tables["api_calls"]
    launching = calls.join(ops, on="correlation", how="semi", maintain_order="left")
    return {"gpu_ops": ops.drop(UNUSED), "api_calls": launching, "ranges": tables["ranges"]}


if __name__ == "__main__":
    folder = Path(sys.argv[2])
    folder.mkdir(exist_ok=True)
    for name, rows in kept(Path(sys.argv[1])).items():
        texts = rows.cast({pl.Categorical: pl.String})
        texts.write_parquet(folder / f"{name}.parquet", compression_level=19)
