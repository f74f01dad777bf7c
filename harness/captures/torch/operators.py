"""GPU time of torch's operators, by the host calls that launched each GPU operation."""

import polars as pl

from harness.captures.torch.launches import innermost
from harness.evidence.tables import frame

UNATTRIBUTED = "unattributed"
"""The last row: GPU operations that no operator launched, such as the kernels of CUDA graphs."""


def by_name(
    operators: pl.DataFrame, launched: pl.DataFrame, gpu: pl.DataFrame, names: list[str]
) -> pl.DataFrame:
    """Return the table ``operators``: name, count, total_ns and device_ns, each name once.

    A GPU operation belongs to the innermost operator that ran on the launching thread as the launch
    began. GPU time is null for all operators where no GPU operation has a launch, and for a name
    that has operators without a thread. All times then sum to the GPU operations' durations.

    ``operators`` has start_ns, duration_ns and thread; ``launched`` is of
    :func:`.launches.launches`; ``name`` counts in ``names``.
    """
    owned = innermost(
        operators.select("thread", "name", "start_ns", "duration_ns"),
        launched.select("thread", "at", work_ns="duration_ns"),
    )
    by_owner = owned.group_by("name").agg(pl.col("work_ns").sum())
    unclear = operators.filter(pl.col("thread").is_null())["name"].unique()
    clear = ~pl.col("name").is_in(unclear.implode()) & (launched.height > 0)
    rows = (
        operators.group_by("name", maintain_order=True)
        .agg(pl.len().alias("count"), pl.col("duration_ns").sum().alias("total_ns"))
        .join(by_owner, on="name", how="left", maintain_order="left")
        .with_columns(pl.when(clear).then(pl.col("work_ns").fill_null(0)).alias("device_ns"))
    )
    columns: dict[str, list[object]] = {
        "name": [names[number] for number in rows["name"]],
        **{key: rows[key].to_list() for key in ("count", "total_ns", "device_ns")},
    }
    if gpu.height:
        rest = gpu.height - owned.height
        for key, value in (("name", UNATTRIBUTED), ("count", rest), ("total_ns", None)):
            columns[key].append(value)
        columns["device_ns"].append(int(gpu["duration_ns"].sum()) - int(owned["work_ns"].sum()))
    return frame("operators", columns)
