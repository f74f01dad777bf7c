"""Boosted regression trees, by which the model's time of a plan is corrected.

They were grown on measured plans (``fit.py``, by LightGBM), and are read without it.
"""

import json
import lzma
import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from functools import cache
from pathlib import Path

from features import NAMES

GROWN = Path(__file__).parent / "trees.json.xz"
UNTIMED = 10.0
"""By how much a kernel has to be predicted faster, if others were timed and it was not."""


@dataclass(frozen=True)
class Tree:
    """A tree: ``feature[i]`` up to ``threshold[i]`` leads from node i to ``left[i]``, else right.

    A negative child is a leaf: -1 is the first of ``values``.
    """

    feature: list[int]
    threshold: list[float]
    left: list[int]
    right: list[int]
    values: list[float]

    def value(self, seen: Sequence[float]) -> float:
        """Return the value of the leaf to which these features lead."""
        node = 0 if self.feature else -1
        while node >= 0:
            below = seen[self.feature[node]] <= self.threshold[node]
            node = self.left[node] if below else self.right[node]
        return self.values[-1 - node]


@dataclass(frozen=True)
class Forest:
    """The trees, and the kernels of the plans that they were grown on, as ``Plan.kernel`` names."""

    trees: Sequence[Tree] = ()
    kernels: frozenset[str] = frozenset()

    def knows(self, kernel: str) -> bool:
        """Return whether it was grown on the kernel's plans, or on none at all."""
        return not self.kernels or kernel in self.kernels

    def factor(self, kernel: str, seen: Sequence[float]) -> float:
        """Return by what to multiply the time that the counts predict; 1 without trees."""
        if not self.knows(kernel):
            return UNTIMED
        return math.exp(sum(tree.value(seen) for tree in self.trees))


@cache
def forest() -> Forest:
    """Return the forest that was saved; an empty one if there is none.

    Raises ValueError if it was grown on other features.
    """
    if not GROWN.exists():
        return Forest()
    saved = json.loads(lzma.decompress(GROWN.read_bytes()))
    if tuple(saved["features"]) != NAMES:
        raise ValueError(f"{GROWN} was grown on other features: run fit.py")
    return Forest([Tree(*tree) for tree in saved["trees"]], frozenset(saved["kernels"]))


def save(grown: Forest) -> None:
    """Write what ``forest`` then returns."""
    saved = {
        "features": NAMES,
        "kernels": sorted(grown.kernels),
        "trees": [astuple(tree) for tree in grown.trees],
    }
    GROWN.write_bytes(lzma.compress(json.dumps(saved, separators=(",", ":")).encode()))
