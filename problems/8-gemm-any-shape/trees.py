"""Boosted regression trees, by which the model's time of a plan is corrected.

They were grown on measured plans (``fit.py``, by LightGBM), and are read without it.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from functools import cache
from pathlib import Path

from features import NAMES

GROWN = Path(__file__).parent / "trees.json"


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


def factor(trees: Sequence[Tree], seen: Sequence[float]) -> float:
    """Return by what to multiply the time that the counts predict; 1 without trees."""
    return math.exp(sum(tree.value(seen) for tree in trees))


@cache
def trees() -> list[Tree]:
    """Return the trees that were saved; none if there are none.

    Raises ValueError if they were grown on other features.
    """
    if not GROWN.exists():
        return []
    saved = json.loads(GROWN.read_text(encoding="utf-8"))
    if tuple(saved["features"]) != NAMES:
        raise ValueError(f"{GROWN} was grown on other features: run fit.py")
    return [Tree(*tree) for tree in saved["trees"]]


def save(grown: Sequence[Tree]) -> None:
    """Write what ``trees`` then returns."""
    saved = {"features": NAMES, "trees": [astuple(tree) for tree in grown]}
    GROWN.write_text(json.dumps(saved, separators=(",", ":")) + "\n", encoding="utf-8")
