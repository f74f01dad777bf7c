"""Problem 4: its folder, the text of its kernels, and a cell that keeps what a workload states."""

import contextlib
import math
import re
from collections.abc import Callable, Iterator
from typing import Any

from tests.support.paths import ROOT

FOLDER = ROOT / "problems/4-custom-hgemm"


def source(name: str) -> str:
    """Return a kernel's source without comments, in it the files of kernels/ that it includes."""
    included: set[str] = set()

    def read(name: str) -> str:
        if name in included:
            return ""
        included.add(name)
        text = re.sub(r"//.*", "", (FOLDER / "kernels" / name).read_text(encoding="utf-8"))
        return re.sub(r'^#include "(.+)"$', lambda line: read(line[1]), text, flags=re.MULTILINE)

    return read(name)


TURNS = 21
COUNTED, TOLD = 1900.0, 1755.0
"""MHz: as the multiprocessors counted, as NVML told."""


class Cell:
    """What a workload sees of its cell, kept."""

    def __init__(self, params: dict[str, Any]) -> None:
        self.params = params
        self.facts: dict[str, float | str] = {}
        self.samples: dict[tuple[str, str], list[float]] = {}
        self.measured: list[str] = []
        self.alone = 0

    def fact(self, name: str, value: float | str, unit: str = "") -> None:
        assert name not in self.facts
        assert isinstance(unit, str)
        self.facts[name] = value

    def sample(self, name: str, metric: str, unit: str, values: list[float]) -> None:
        assert unit
        assert all(map(math.isfinite, values))
        assert (name, metric) not in self.samples
        self.samples[name, metric] = values

    @contextlib.contextmanager
    def exclusively(self) -> Iterator[None]:
        self.alone += 1
        yield
        self.alone -= 1

    def measure(self, name: str, step: Callable[[], object]) -> None:
        step()
        self.measured.append(name)
