"""The roofline: the rate that a workload's bytes and operations let a GPU reach at most.

Williams, Waterman and Patterson, "Roofline", CACM 52(4), 2009.
"""

from dataclasses import dataclass
from operator import itemgetter

import polars as pl

from harness.analysis import counters, datasheets, flop
from harness.analysis.datasheets import Peaks
from harness.evidence.subject import Subject
from harness.evidence.tables import Tables, empty


@dataclass(frozen=True)
class Roof:
    """A bandwidth in GB/s and a rate in TFLOP/s, and where the two are from."""

    name: str
    gb_s: float
    tflop_s: float

    def least_time(self, moved_bytes: float, flop: float) -> tuple[float, str]:
        """Return the least time of a step in ms, and its limit: "memory" or "arithmetic"."""
        by_memory, by_arithmetic = moved_bytes / self.gb_s / 1e6, flop / self.tflop_s / 1e9
        return max((by_arithmetic, "arithmetic"), (by_memory, "memory"), key=itemgetter(0))


def best(tables: Tables) -> dict[str, float]:
    """Return the highest value of each ceiling over the GPUs of a run, by name."""
    highest: dict[str, float] = {}
    for name, value in tables["ceilings"].select("name", "value").iter_rows():
        highest[name] = max(value, highest.get(name, value))
    return highest


def bandwidth(ceilings: dict[str, float]) -> float:
    """Return the highest measured rate of device memory, in GB/s; 0 where none was measured."""
    return max(ceilings.get(name, 0.0) for name in ("dram_read", "dram_copy"))


def roofs(ceilings: dict[str, float], sheet: Peaks | None, kind: str) -> list[Roof]:
    """Return the roofs that are known: the one measured on this GPU, then the datasheet's.

    ``ceilings``: measured value by name, GB/s and TFLOP/s. ``kind``: "bf16", "fp8" …
    """
    measured = []
    if "dram_read" in ceilings and kind in ceilings:
        measured.append(Roof("measured on this GPU", bandwidth(ceilings), ceilings[kind]))
    rate = sheet.rate(kind) if sheet else None
    if sheet and rate:
        measured.append(Roof("datasheet", sheet.dram_gb_s, rate))
    return measured


@dataclass(frozen=True)
class Point:
    """A kernel under the roofline: operations, bytes of device memory and time of its launches.

    ``kind`` is the arithmetic of most of its operations, and ``flop`` counts that kind alone.
    """

    name: str
    kind: str
    launches: int
    flop: float
    moved_bytes: float
    time_ns: float

    @property
    def intensity(self) -> float:
        """Return the operations a byte of device memory."""
        return self.flop / self.moved_bytes

    @property
    def tflop_s(self) -> float:
        """Return the rate in TFLOP/s."""
        return self.flop / self.time_ns / 1e3

    def share(self, roof: Roof) -> tuple[float, str]:
        """Return the fraction of a roof that was reached, and the limit there."""
        least_ms, limit = roof.least_time(self.moved_bytes, self.flop)
        return least_ms * 1e6 / self.time_ns, limit


@dataclass(frozen=True)
class Roofline:
    """The kernels of one capture that have a point, the roofs by kind, and why others have none.

    ``missing``: a sentence by kernel's name.
    """

    points: tuple[Point, ...]
    roofs: dict[str, list[Roof]]
    missing: dict[str, str]


def of_subject(subject: Subject) -> Roofline:
    """Return the roofline of a subject's kernels; without a point if none was profiled."""
    for capture in subject.captures.values():
        tables = capture.tables
        if "counters" in tables and tables["counters"].height:
            return of_capture(tables, capture.conditions.get("GPU", ""))
    return Roofline((), {}, {})


def of_capture(tables: Tables, gpu: str = "") -> Roofline:
    """Return the roofline of the kernels whose counters a capture holds, the longest first.

    Operations are counted from executed instructions, bytes and times are Nsight Compute's.
    ``gpu``: its name where the tables hold none.
    """
    launches = counters.per_kernel(tables.get("counters", empty("counters")))
    done = flop.per_launch(tables.get("instructions", empty("instructions")))
    points, missing = [], {}
    for (name,), rows in launches.group_by("name", maintain_order=True):
        point = _point(str(name), rows, done)
        if isinstance(point, Point):
            points.append(point)
        else:
            missing[str(name)] = point
    points.sort(key=lambda point: -point.time_ns)
    devices = tables.get("devices", empty("devices"))
    sheet = datasheets.of(str(devices["name"][0]) if devices.height else gpu)
    ceilings = best(tables) if "ceilings" in tables else {}
    kinds = dict.fromkeys(point.kind for point in points)
    by_kind = {kind: roofs(ceilings, sheet, kind) for kind in kinds}
    return Roofline(tuple(points), by_kind, missing)


def _point(name: str, rows: pl.DataFrame, done: dict[int, dict[str, float]]) -> Point | str:
    """Return a kernel's point over all of its launches, or why it has none."""
    kinds: dict[str, float] = {}
    for launch in rows["launch"]:
        if launch not in done:
            return "No roofline point: how many operations it did was not recorded."
        for kind, count in done[launch].items():
            kinds[kind] = kinds.get(kind, 0.0) + count
    if rows["dram_bytes"].null_count() or rows["time_ns"].null_count():
        return "No roofline point: the bytes that it moved were not counted."
    moved, time_ns = float(rows["dram_bytes"].sum()), float(rows["time_ns"].sum())
    kind = max(kinds, key=lambda each: kinds[each], default="")
    if not kind or not kinds[kind]:
        return "No roofline point: it does no floating-point operation that is counted."
    if not moved or not time_ns:
        return "No roofline point: it moved no byte of device memory."
    return Point(name, kind, rows.height, kinds[kind], moved, time_ns)
