"""Predict a plan's time by waves, tiles, L2 and memory, and choose without measuring."""

import json
import math
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path

from families import Slicing
from ladder import BOX, ELEMENT_BYTES, SMS
from plans import Plan, Problem, cluster_tiles, clusters_at_once, plans

FITTED = Path(__file__).parent / "constants.json"
FMA_PER_CYCLE = 2048
"""Dense 16-bit multiply-adds per cycle of a multiprocessor's tensor cores."""
SHARED_BYTES_PER_CYCLE = 128
"""Bytes per cycle that wgmma reads from a multiprocessor's shared memory."""
LINE = 128
"""Bytes of a line of L2: a row of a TMA box, where rows begin at multiples of it."""
SHARED_OF_SM = 233_472


@dataclass(frozen=True)
class Constants:
    """What the model cannot count; ``fit.py`` fits them to times of the tuning set.

    Times of a launch, of a tile's end, of one with ping-pong consumers, of a shared tile, of adding
    slices, of adding groups of them, and of a step of realigning loads are in cycles. ``apart``:
    the cost of a step where units are at different K, in ordinary steps. ``l2``, ``feed``: bytes
    per cycle that a multiprocessor gets in stream_k, in sliced. ``crossing``: the cost of a row of
    a box that crosses a line, in aligned rows. ``dram``, ``copy``: bytes per µs.
    """

    mhz: float = 1650.0
    start: float = 4500.0
    tile: float = 1000.0
    turn: float = 500.0
    shared_tile: float = 5000.0
    slices: float = 2000.0
    group: float = 3000.0
    apart: float = 1.1
    l2: float = 56.0
    feed: float = 30.0
    crossing: float = 1.7
    realign: float = 600.0
    dram: float = 4.0e6
    copy: float = 3.6e6
    copy_start: float = 3000.0


@cache
def constants() -> Constants:
    """Return the fitted constants, or the first guesses."""
    if not FITTED.exists():
        return Constants()
    known = {field.name for field in fields(Constants)}
    values = json.loads(FITTED.read_text(encoding="utf-8"))
    return Constants(**{name: value for name, value in values.items() if name in known})


def save(fitted: Constants) -> None:
    """Write the constants that ``constants`` then returns."""
    FITTED.write_text(json.dumps(asdict(fitted), indent=1) + "\n", encoding="utf-8")


def choose(problem: Problem, sms: int = SMS) -> Plan:
    """Return the plan that the model predicts to be fastest."""
    return ranked(problem, sms)[0]


def ranked(problem: Problem, sms: int = SMS) -> list[Plan]:
    """Return all plans, the fastest by prediction first."""
    return sorted(plans(problem, sms), key=lambda plan: us(plan, problem, constants(), sms))


def us(plan: Plan, problem: Problem, by: Constants, sms: int = SMS) -> float:
    """Predict a plan's time in µs."""
    m, n, k = problem.shape
    if isinstance(plan.config, Slicing):
        cycles = _sliced(plan, plan.config, problem, by, sms)
    else:
        cycles = _persistent(plan, problem, by, sms)
    memory = ELEMENT_BYTES * (m * k + k * n + m * n) / by.dram
    launch = by.start / by.mhz
    copied = sum(
        rows * columns
        for (rows, columns), copy in zip(problem.stored, plan.copied, strict=False)
        if copy
    )
    copying = (2 * ELEMENT_BYTES * copied / by.copy + by.copy_start / by.mhz) * bool(copied)
    return launch + max(cycles / by.mhz, memory) + copying


def _persistent(plan: Plan, problem: Problem, by: Constants, sms: int) -> float:
    """Return the cycles of the unit of stream_k, or of a kernel of the ladder, with most work."""
    of = plan.step(problem)
    tile_m, tile_n, steps = of.tile[0], of.tile[1], -(-problem.shape[2] // BOX)
    down, across = of.cluster
    together = of.blocks_per_sm
    rows_a, rows_b = tile_m / across, tile_n / down
    step = max(
        tile_m * tile_n * BOX / FMA_PER_CYCLE,
        tile_m / BOX * (BOX + tile_n) * LINE / SHARED_BYTES_PER_CYCLE,
        LINE
        * (rows_a * _cost(plan, problem, 0, by) + rows_b * _cost(plan, problem, 1, by))
        / by.l2,
    )
    tiles = cluster_tiles(of, problem.shape)
    waves = max(1, plan.units / (clusters_at_once(of, sms) * together))
    whole = -(-(tiles - plan.spread) // plan.units)
    part = math.ceil(plan.spread * steps / plan.units)
    ends = whole + (math.ceil(part / steps) if part else 0)
    fix = by.shared_tile * (plan.spread > 0) * (1 + plan.units / max(plan.spread, 1) / 8)
    between = by.turn if of.ping_pong else by.tile
    computed = (whole * steps + part * by.apart) * step * together
    return waves * (computed + (ends - 1) * between + by.tile + fix)


def _sliced(plan: Plan, slicing: Slicing, problem: Problem, by: Constants, sms: int) -> float:
    m, n, k = problem.shape
    wide, narrow = (n, m) if slicing.few_rows else (m, n)
    first, second = (1, 0) if slicing.few_rows else (0, 1)
    steps = math.ceil(-(-k // BOX) / (plan.units * plan.spread))
    blocks = -(-wide // 128) * -(-narrow // slicing.narrow) * plan.units * plan.spread
    together = SHARED_OF_SM // (slicing.stages * (128 + slicing.narrow) * LINE + 1024)
    if not (slicing.x_tma and slicing.y_tma):
        together = 1  # loading threads need registers
    each = min(max(1, together), math.ceil(blocks / sms))
    lines = 128 * _cost(plan, problem, first, by) + slicing.narrow * _cost(
        plan, problem, second, by
    )
    step = max(
        128 * max(slicing.narrow, 32) * BOX / FMA_PER_CYCLE * each,
        2 * (BOX + slicing.narrow) * LINE / SHARED_BYTES_PER_CYCLE * each,
        lines * LINE / by.feed * each,
        0.0 if slicing.x_tma else by.realign * each,
        0.0 if slicing.y_tma else by.realign * slicing.narrow / 128 * each,
    )
    waves = math.ceil(blocks / (sms * each))
    adding = by.slices * (plan.units > 1) + by.group * (plan.spread > 1)
    return waves * (steps * step + adding + by.tile)


def _cost(plan: Plan, problem: Problem, operand: int, by: Constants) -> float:
    """Return what a row of 128 bytes of an operand costs, in rows that begin with a line."""
    _, columns = problem.stored[operand]
    return 1.0 if plan.copied[operand] or columns % 64 == 0 else by.crossing
