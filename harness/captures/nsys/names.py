"""Names in an export of nsys: strings by id, copy kinds, NVTX domains, launch shapes."""

from pathlib import Path
from typing import TYPE_CHECKING

from harness.ground.errors import CaptureError
from harness.probe.names import NVTX_DOMAIN

if TYPE_CHECKING:
    import polars as pl

# ENUM_CUDA_MEMCPY_OPER as nsys 2025.3 exports it, for exports without that table. The numbers are
# CUpti_ActivityMemcpyKind's (cupti_activity.h); those above 10 are Nsight's own.
COPY_KINDS = {
    0: "Unknown",
    1: "Host-to-Device",
    2: "Device-to-Host",
    3: "Host-to-Array",
    4: "Array-to-Host",
    5: "Array-to-Array",
    6: "Array-to-Device",
    7: "Device-to-Array",
    8: "Device-to-Device",
    9: "Host-to-Host",
    10: "Peer-to-Peer",
    11: "Unified Host-to-Device",
    12: "Unified Device-to-Host",
    13: "Unified Device-to-Device",
}
# ENUM_CUDA_MEM_KIND likewise: what kind of memory a copy reads and writes.
MEMORY_KINDS = {
    0: "Pageable",
    1: "Pinned",
    2: "Device",
    3: "Array",
    4: "Managed",
    5: "Device Static",
    6: "Managed Static",
    7: "Unknown",
}
DOMAIN_TYPE = 75
_MOST_X, _MOST_YZ = (1 << 31) - 1, (1 << 16) - 1


def in_domains(rows: "pl.DataFrame") -> "pl.DataFrame":
    """Put the domain before each range's name, as nsys does: ``cuBLAS:cublasSgemm``.

    The probe's own ranges keep the names that torch's trace shows them by.
    """
    import polars as pl

    rows = rows.with_columns(process=pl.col("globalTid") // (1 << 24))
    domains = (
        rows.filter(pl.col("eventType") == DOMAIN_TYPE, pl.col("name") != NVTX_DOMAIN)
        .select("process", "domainId", domain="name")
        .unique(["process", "domainId"], keep="last")
    )
    whole = pl.coalesce(pl.col("domain") + ":" + pl.col("name"), "name")
    keys = ["process", "domainId"]
    return rows.join(domains, on=keys, how="left", maintain_order="left").with_columns(name=whole)


def named(ids: "pl.Series", names: "pl.DataFrame", what: str = "string") -> "pl.Series":
    """Return the name of each id as a category; an id that leads nowhere is shown as such."""
    import polars as pl

    distinct = names.drop_nulls().unique("id", keep="first")
    used = ids.unique().drop_nulls().to_frame("id").join(distinct, on="id", how="left")
    missing = f"[{what} " + pl.col("id").cast(pl.String) + " is missing]"
    texts = used.select(pl.col("value").fill_null(missing).cast(pl.Categorical)).to_series()
    return ids.replace_strict(used["id"], texts, default=None, return_dtype=pl.Categorical)


def shape(rows: "pl.DataFrame", columns: tuple[str, ...], where: Path) -> "pl.Series":
    """Return "x,y,z", made once for each triple that there is.

    No launch exceeds 31, 16 and 16 bits (CUDA C++ Programming Guide, Technical Specifications per
    Compute Capability), so that a triple is one number; CaptureError for one that does.
    """
    import polars as pl

    x, y, z = (pl.col(name) for name in columns)
    legal = x.is_between(0, _MOST_X) & y.is_between(0, _MOST_YZ) & z.is_between(0, _MOST_YZ)
    if not rows.select(legal.all()).item():
        what = f"a launch has a shape that no GPU takes, in {', '.join(columns)}"
        raise CaptureError(what, where=where)
    keys = rows.select((x * (1 << 32) + y * (1 << 16) + z).alias("id")).to_series()
    key, low = pl.col("id"), 1 << 16
    text = pl.concat_str(key // (1 << 32), key // low % low, key % low, separator=",")
    return named(keys, keys.unique().to_frame().with_columns(text.alias("value")))
