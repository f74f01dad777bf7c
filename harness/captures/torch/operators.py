"""GPU time of torch's operators, by the host calls that launched each GPU operation."""

import polars as pl

from harness.errors import CaptureError
from harness.evidence.tables import frame

UNATTRIBUTED = "unattributed"
"""The last row: GPU operations that no operator launched, such as the kernels of CUDA graphs."""

_DEEPEST = 1000
"""Operators within operators; Python itself calls no deeper."""


def by_name(
    operators: pl.DataFrame, calls: pl.DataFrame, gpu: pl.DataFrame, names: list[str]
) -> pl.DataFrame:
    """Return the table ``operators``: name, count, total_ns and device_ns, each name once.

    A GPU operation belongs to the innermost operator that ran on the launching thread as the launch
    began. The launch is the host call of the same correlation, the first if there are several. GPU
    time is null for all operators where no GPU operation has a launch, and for a name that has
    operators without a thread. All times then sum to the GPU operations' durations.

    ``operators`` and ``calls`` have start_ns, duration_ns and thread, ``calls`` and ``gpu`` also
    correlation; ``name`` counts in ``names``.
    """
    launches = (  # of one correlation the first comes last, where join_asof takes it
        calls.drop_nulls(["correlation", "thread"])
        .reverse()
        .sort("correlation", "start_ns", descending=[False, True], maintain_order=True)
    )
    work = gpu.select("correlation", "duration_ns")
    launched = work.drop_nulls("correlation").sort("correlation")
    launched = launched.join_asof(
        launches.select("correlation", at="start_ns", thread="thread"),
        on="correlation",
        tolerance=0,
    ).drop_nulls("at")
    owned = _innermost(operators, launched)
    by_owner = owned.group_by("name").agg(pl.col("duration_ns").sum())
    unclear = operators.filter(pl.col("thread").is_null())["name"].unique()
    clear = ~pl.col("name").is_in(unclear.implode()) & (launched.height > 0)
    rows = (
        operators.group_by("name", maintain_order=True)
        .agg(pl.len().alias("count"), pl.col("duration_ns").sum().alias("total_ns"))
        .join(by_owner, on="name", how="left", maintain_order="left")
        .with_columns(pl.when(clear).then(pl.col("duration_ns").fill_null(0)).alias("device_ns"))
    )
    columns: dict[str, list[object]] = {
        "name": [names[number] for number in rows["name"]],
        **{key: rows[key].to_list() for key in ("count", "total_ns", "device_ns")},
    }
    if gpu.height:
        rest = gpu.height - owned.height
        for key, value in (("name", UNATTRIBUTED), ("count", rest), ("total_ns", None)):
            columns[key].append(value)
        columns["device_ns"].append(_sum(gpu) - _sum(owned))
    return frame("operators", columns)


def _sum(rows: pl.DataFrame) -> int:
    return int(rows["duration_ns"].sum())


def _innermost(operators: pl.DataFrame, launched: pl.DataFrame) -> pl.DataFrame:
    """Return name and duration_ns of the launched operations that an operator encloses.

    Each round looks at the operator that began last before a launch, and then drops the operators
    that ended before the next began: none of them encloses a launch that is still open.
    """
    end = pl.col("start_ns") + pl.col("duration_ns")
    live = (
        operators.drop_nulls("thread")
        .select("thread", "name", "start_ns", end.alias("end_ns"))
        .sort("thread", "start_ns", "end_ns", descending=[False, False, True], maintain_order=True)
    )
    open_, found = launched.sort("thread", "at"), []
    for _ in range(_DEEPEST):
        if open_.is_empty() or live.is_empty():
            break
        seen = open_.join_asof(
            live, left_on="at", right_on="start_ns", by="thread", check_sortedness=False
        )
        inside = pl.col("end_ns") >= pl.col("at")
        found.append(seen.filter(inside).select("name", "duration_ns"))
        begun = pl.col("end_ns").is_not_null()
        open_ = seen.filter(begun & ~inside).select(open_.columns)
        next_start = pl.col("start_ns").shift(-1).over("thread")
        live = live.filter(pl.col("end_ns") >= next_start)
    else:
        raise CaptureError(f"operators nested more than {_DEEPEST} deep")
    empty = launched.select(name=pl.lit(0, pl.UInt32), duration_ns="duration_ns").clear()
    return pl.concat([empty, *found])
