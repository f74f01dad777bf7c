"""The GPUs that an export describes, and the numbers by which its operations name them.

``TARGET_INFO_GPU`` numbers the GPUs of the machine; an operation's ``deviceId`` is the number by
which its process knows the GPU. ``TARGET_INFO_CUDA_DEVICE`` links the two for each process.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.captures.formats.sqlite_file import Columns, SqliteFile
from harness.evidence.tables import empty, frame

if TYPE_CHECKING:
    import polars as pl

_GPUS, _NUMBERS = "TARGET_INFO_GPU", "TARGET_INFO_CUDA_DEVICE"
# Columns of TARGET_INFO_GPU, which older versions of nsys lack in part: sizes in bytes, bandwidth
# in bytes per second, clock in Hz; 0 where nsys could not tell.
_PROPERTIES = ("l2CacheSize", "totalMemory", "memoryBandwidth", "clockRate", "smCount")
_CAPABILITY = ("computeMajor", "computeMinor")
_HZ_OF_MHZ = 1e6


@dataclass(frozen=True)
class Devices:
    """The evidence's table ``devices``, and how an operation's GPU is found in it.

    ``numbers`` has a row a process and its number of a GPU: process, deviceId, device. It is None
    where each number stands for the same GPU in all processes; then that number is the device.
    """

    table: "pl.DataFrame"
    numbers: "pl.DataFrame | None"


def devices(file: SqliteFile) -> Devices:
    """Return the GPUs of an export.

    Where two processes give one number to different GPUs, as ranks do that see a GPU each, GPUs
    have the machine's numbers. GPUs that differ are left out where nothing links their numbers.
    """
    import polars as pl

    gpus = _gpus(file)
    wanted = ("gpuId", "cudaId", "pid")
    if set(wanted) <= file.columns(_NUMBERS):
        links = file.fetch(_NUMBERS, dict.fromkeys(wanted, "INTEGER")).drop_nulls().unique()
    else:
        links = pl.DataFrame(schema=dict.fromkeys(wanted, pl.Int64))
    if links.is_empty():
        alike = gpus.drop("id").unique().height == 1
        return Devices(_table(gpus.with_columns(device="id")) if alike else empty("devices"), None)
    pairs = links.select("gpuId", device="cudaId").unique()
    if pairs["gpuId"].is_unique().all() and pairs["device"].is_unique().all():
        return Devices(_table(gpus.join(pairs, left_on="id", right_on="gpuId")), None)
    numbers = links.select(process="pid", deviceId="cudaId", device="gpuId")
    return Devices(_table(gpus.with_columns(device="id")), numbers.unique(["process", "deviceId"]))


def _gpus(file: SqliteFile) -> "pl.DataFrame":
    """Return id, name and all properties of the GPUs; null where the export does not know one."""
    import polars as pl

    present = file.columns(_GPUS)
    numbers = ("id", *_PROPERTIES, *_CAPABILITY)
    columns: Columns = {"name": "TEXT"} | dict.fromkeys(numbers, "INTEGER")
    schema = {name: pl.String if kind == "TEXT" else pl.Int64 for name, kind in columns.items()}
    if "id" not in present:
        return pl.DataFrame(schema=schema)
    rows = file.fetch(_GPUS, {name: kind for name, kind in columns.items() if name in present})
    absent = [pl.lit(None, schema[name]).alias(name) for name in columns if name not in present]
    known_size = pl.col(_PROPERTIES).replace(0, None)
    return rows.drop_nulls("id").with_columns(absent).with_columns(known_size).select(*columns)


def _table(gpus: "pl.DataFrame") -> "pl.DataFrame":
    import polars as pl

    capability = pl.concat_str(*_CAPABILITY, separator=".")
    rows = gpus.unique("device").sort("device").with_columns(compute_capability=capability)
    return frame(
        "devices",
        {
            "device": rows["device"],
            "name": rows["name"],
            "vendor": ["NVIDIA"] * rows.height,
            "compute_capability": rows["compute_capability"],
            "multiprocessors": rows["smCount"],
            "sm_mhz": rows["clockRate"] / _HZ_OF_MHZ,
            "memory_bytes": rows["totalMemory"],
            "bandwidth": rows["memoryBandwidth"],
            "l2_bytes": rows["l2CacheSize"],
        },
    )
