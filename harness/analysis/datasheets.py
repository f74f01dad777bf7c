"""A GPU's peak rates, as its maker prints them: the rates a measured one is a share of.

The figures, their sources and what they assume are in ``datasheets.toml`` beside this file.
"""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

DATASHEETS = Path(__file__).with_suffix(".toml")


@dataclass(frozen=True)
class Peaks:
    """The peaks of one GPU: memory in GB/s, arithmetic in TFLOP/s, None where no unit does it.

    ``name`` is the GPU's as NVML or ROCm reports it. ``fp32`` is that of NVIDIA's vector units, the
    others are of the matrix units. ``multiprocessors`` are AMD's compute units, too. ``memory_gib``
    stands where ROCm may leave the name out.
    """

    name: str
    source: str
    dram_gb_s: float
    bf16: float | None = None
    fp16: float | None = None
    fp8: float | None = None
    tf32: float | None = None
    fp32: float | None = None
    multiprocessors: int | None = None
    memory_gib: int | None = None

    def rate(self, key: str) -> float | None:
        """Return the peak of "dram" in GB/s, or of "bf16" and its like in TFLOP/s."""
        rates = {
            "dram": self.dram_gb_s,
            "bf16": self.bf16,
            "fp16": self.fp16,
            "fp8": self.fp8,
            "tf32": self.tf32,
            "fp32": self.fp32,
        }
        return rates[key]


def of(name: str) -> Peaks | None:
    """Return the peaks of the GPU of that name, None where they are not known here.

    A virtual function of an AMD GPU (SR-IOV) is the whole GPU; ROCm writes "VF" behind its name.
    """
    return known().get(name.removesuffix(" VF"))


_WHOLE = 0.95
"""Of a GPU's memory at least this part is a program's: 192 GiB of an MI300X are 191.98 to it."""


def of_size(multiprocessors: int | None, memory_bytes: int | None) -> Peaks | None:
    """Return the peaks of the one GPU with as many multiprocessors and as much memory, else None.

    ROCm's driver leaves the name empty where it lacks the list of products.
    """
    found = [
        each
        for each in known().values()
        if each.memory_gib
        and each.multiprocessors == multiprocessors
        and memory_bytes
        and _WHOLE <= memory_bytes / (each.memory_gib << 30) <= 1
    ]
    return found[0] if len(found) == 1 else None


@cache
def known() -> dict[str, Peaks]:
    """Return the peaks of every GPU whose datasheet was read, by name."""
    sheets = tomllib.loads(DATASHEETS.read_text(encoding="utf-8"))
    return {name: Peaks(name=name, **rates) for name, rates in sheets.items()}
