"""The roofline: the rate that a workload's bytes and operations let a GPU reach at most.

Williams, Waterman and Patterson, "Roofline", CACM 52(4), 2009.
"""

from dataclasses import dataclass
from operator import itemgetter

from harness.analysis.datasheets import Peaks
from harness.evidence.tables import Tables


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


def roofs(ceilings: dict[str, float], sheet: Peaks | None, kind: str) -> list[Roof]:
    """Return the roofs that are known: the one measured on this GPU, then the datasheet's.

    ``ceilings``: measured value by name, GB/s and TFLOP/s. ``kind``: "bf16", "fp8" …
    """
    known = []
    if "dram_read" in ceilings and kind in ceilings:
        bandwidth = max(ceilings["dram_read"], ceilings.get("dram_copy", 0.0))
        known.append(Roof("measured on this GPU", bandwidth, ceilings[kind]))
    rate = sheet.rate(kind) if sheet else None
    if sheet and rate:
        known.append(Roof("datasheet", sheet.dram_gb_s, rate))
    return known
