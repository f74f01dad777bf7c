"""What the trees see of a plan: sizes, how operands lie, tile and cut, what it asks of the GPU."""

import math
from dataclasses import astuple, fields

from demand import Demand
from families import Slicing, Tiling
from ladder import BOX
from plans import Plan, Problem

NAMES = (
    *("log_us", "log_m", "log_n", "log_k", "m_rest", "n_rest", "k_rest"),
    *("a_aligned", "b_aligned", "c_aligned", "a_transposed", "b_transposed"),
    *("tiling", "slicing", "a_copied", "b_copied", "spread", "units", "added"),
    *("tile_m", "tile_n", "cluster_m", "cluster_n", "m_filled", "n_filled"),
    *(field.name for field in fields(Demand)),
)


def features(plan: Plan, problem: Problem, of: Demand, us: float) -> list[float]:
    """Return the numbers that ``NAMES`` names; ``us``: the time in µs that the counts predict."""
    read = plan.computed(problem)
    m, n, k = read.shape
    step = plan.step(problem)
    rows, columns = step.tile[:2]
    seen = [math.log(us), *map(math.log2, read.shape), m % BOX, n % BOX, k % BOX]
    seen += [*read.aligned, read.layout[0] == "t", read.layout[1] == "t"]
    seen += [isinstance(plan.config, Tiling), isinstance(plan.config, Slicing), *plan.copied]
    seen += [plan.spread, plan.units, plan.added, rows, columns, *step.cluster]
    seen += [m / (-(-m // rows) * rows), n / (-(-n // columns) * columns)]
    return [float(value) for value in (*seen, *astuple(of))]
