"""What the trees see of a plan: sizes, how operands lie, tile and cut, what it asks of the GPU."""

import math
from dataclasses import astuple, fields

from demand import FMA_PER_CYCLE, LINE, Demand
from families import Tiling
from ladder import BOX, SMS
from plans import Plan, Problem
from slicings import Slicing

NAMES = (
    *("log_us", "log_m", "log_n", "log_k", "m_rest", "n_rest", "k_rest"),
    *("a_aligned", "b_aligned", "c_aligned", "a_transposed", "b_transposed"),
    *("tiling", "slicing", "a_copied", "b_copied", "spread", "units", "added"),
    *("tile_m", "tile_n", "cluster_m", "cluster_n", "m_filled", "n_filled"),
    *("a_twos", "b_twos", "c_twos", "threads", "group", "split", "waves_of_tiles", "last_wave"),
    *("m_tiles", "n_tiles", "used", "loaded", "multiplied", "waited", "ended"),
    *(field.name for field in fields(Demand)),
)
"""``a_twos``: how often two divides the length of A's rows. ``waves_of_tiles``: whole and in part;
``last_wave``: its share, of as many whole ones. ``used``: the share of multiply-adds that C needs,
of those that all tensor cores do while the longest unit multiplies. Logarithms: ``loaded``, bytes
of all blocks; ``multiplied``, that unit's cycles; ``waited``, its steps by stages; ``ended``, its
accumulators.
"""
MOST_TWOS = 7
"""Twos of rows that begin at multiples of 256 bytes."""


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
    seen += [_twos(length) for _, length in read.stored]
    config = plan.config
    split = isinstance(config, Tiling) and config.kernel == "split_k"
    seen += [step.threads, getattr(config, "group", 0), split]
    down, across = m / rows, n / columns
    waves = math.ceil(down) * math.ceil(across) / (SMS * step.blocks_per_sm)
    seen += [waves, waves / math.ceil(waves), down, across]
    steps = of.steps * of.waves
    multiplied = of.tensor * steps * of.together
    seen += [m * n * k / (SMS * FMA_PER_CYCLE * multiplied)]
    bytes_loaded = of.lines * LINE * of.steps * of.blocks
    logarithms = bytes_loaded, multiplied, steps / of.stages, of.stored * of.ends * of.waves
    seen += [math.log2(value) for value in logarithms]
    return [float(value) for value in (*seen, *astuple(of))]


def _twos(length: int) -> int:
    """Return how often two divides a length, at most ``MOST_TWOS`` times."""
    return next((power for power in range(MOST_TWOS) if length >> power & 1), MOST_TWOS)
