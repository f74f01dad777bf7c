"""One profiled launch as its report gives it: counters by name, and instructions."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Instruction:
    """One SASS instruction: its opcode without modifiers, and how often warps ran and waited."""

    opcode: str
    sass: str
    executed: int
    samples: int


@dataclass(frozen=True)
class Counted:
    """One profiled launch; ``share`` is its part of the subject's time, as a fraction.

    ``metrics``: values by Nsight Compute's name, in ns, bytes, bytes/s and percent. Without the
    section SourceCounters there are no ``instructions``.
    """

    name: str
    launch: int
    source: str
    share: float
    metrics: Mapping[str, float]
    instructions: tuple[Instruction, ...] = ()

    def get(self, *names: str) -> float | None:
        """Return the first of the metrics that the report holds."""
        for name in names:
            if name in self.metrics:
                return self.metrics[name]
        return None

    def total(self, *names: str) -> float | None:
        """Return the sum of the metrics, None if the report lacks one of them."""
        if any(name not in self.metrics for name in names):
            return None
        return sum(self.metrics[name] for name in names)

    @cached_property
    def by_opcode(self) -> Counter[str]:
        """Return how often warps executed instructions, by opcode."""
        counts = Counter[str]()
        for each in self.instructions:
            counts[each.opcode] += each.executed
        return counts

    @cached_property
    def executed(self) -> int:
        """Return how often warps executed instructions."""
        return self.by_opcode.total()
