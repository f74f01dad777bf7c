"""The roofline: what a workload's bytes and operations let a GPU reach at most.

Williams, Waterman and Patterson, "Roofline", CACM 52(4), 2009.
"""

from dataclasses import dataclass

from harness.analysis.datasheets import Peaks
from harness.analysis.metrics import Metrics
from harness.evidence.tables import Tables


@dataclass(frozen=True)
class Roof:
    """A bandwidth in GB/s and a rate in TFLOP/s, and where the two are from."""

    name: str
    gb_s: float
    tflop_s: float

    def at(self, intensity: float) -> float:
        """Return the most TFLOP/s at ``intensity`` FLOP a byte."""
        return min(self.gb_s * intensity / 1e3, self.tflop_s)

    @property
    def ridge(self) -> float:
        """Return the intensity in FLOP a byte from which the rate is the limit, not the memory."""
        return 1e3 * self.tflop_s / self.gb_s


@dataclass(frozen=True)
class Point:
    """What a variant reached: FLOP a byte of device memory, and TFLOP/s."""

    variant: str
    intensity: float
    tflop_s: float


def best(tables: Tables) -> dict[str, float]:
    """Return the highest value of each ceiling over the GPUs of a run, by name."""
    found: dict[str, float] = {}
    for name, value in tables["ceilings"].select("name", "value").iter_rows():
        found[name] = max(value, found.get(name, value))
    return found


def roofs(ceilings: dict[str, float], sheet: Peaks | None, kind: str) -> list[Roof]:
    """Return the roof measured on this GPU and the datasheet's, those that are known.

    ``ceilings``: measured value by name, GB/s and TFLOP/s. ``kind``: "bf16", "fp8" …
    """
    found = []
    if "dram_read" in ceilings and kind in ceilings:
        best = max(ceilings["dram_read"], ceilings.get("dram_copy", 0.0))
        found.append(Roof("measured on this GPU", best, ceilings[kind]))
    rate = sheet.rate(kind) if sheet else None
    if sheet and rate:
        found.append(Roof("datasheet", sheet.dram_gb_s, rate))
    return found


def point(
    metrics: Metrics,
    variant: str,
    case: str,
    time: str,
    bytes_moved: str,
    flop: float,
    within: str | None = None,
) -> Point | None:
    """Return where a variant lies, None if its time (ms) or its bytes were not measured.

    ``flop``: operations of a step. ``bytes_moved``: a metric of a step's bytes of device memory.
    ``within``: the variant that timed all of them in turn, each as a region of its own.
    """
    timed = (f"{time}@{variant}", within) if within else (time, variant)
    took, moved = metrics.get(*timed, case), metrics.get(bytes_moved, variant, case)
    if not took.value or not moved.value:
        return None
    return Point(variant, flop / moved.value, flop / took.value / 1e9)
