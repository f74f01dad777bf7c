"""What a cell states of many measured shapes: a region a problem, and regions of several.

A ratio is of times of the same round. "choice" is the plan that the dispatcher takes without a
sweep, "best" the fastest of all plans, as ``tune.py`` would find it; both are held against the
fastest of ``torch.mm`` and every candidate of cuBLASLt.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from statistics import geometric_mean, median, quantiles
from typing import Any

from copies import Copies
from families import LAYOUTS, Tiling
from ladder import ELEMENT_BYTES
from plans import Plan, Problem, as_read, plans, understood
from shape_sets import multiple_of
from slicings import Slicing
from summary import BESIDE, PRODUCTS, is_library, ours_us, regret, side_beside, timed_us

Row = dict[str, Any]
Series = list[float]

FEW_ROWS = 64
"""Rows of A up to which a product is a pass over the weights."""
LEAST_BYTES = 32 << 20
"""Operands above which that pass is through memory and much longer than a launch."""
FEW = "few rows"
"""The group of these products."""
FEW_PARTS = {True: "few rows, weights by TMA", False: "few rows, weights shifted"}
"""Names of that group's parts, by whether TMA reads B as it lies."""
ALIGNED = {
    256: "rows multiples of 256",
    8: "rows multiples of 8, not 256",
    1: "a row no multiple of 8",
}
"""Names of the groups by what the rows of A, B and C are multiples of, in elements."""
UNITS = {
    "choice": "%",
    "best": "%",
    "cold": "%",
    "waiting": "%",
    "regret": "%",
    "tflops": "TFLOP/s",
    "of_bandwidth": "%",
    "of_copy": "%",
    "over_triton": "%",
    "over_cutlass": "%",
    "products": "%",
    "mhz": "MHz",
    "library_mhz": "MHz",
}
"""The unit of each sampled metric."""
KINDS: dict[str, Callable[[Plan, Problem], bool]] = {
    "cut": lambda plan, _: parts(plan) > 1,
    "copied": lambda plan, problem: any(_copies(plan, problem, tma=False)),
    "lined": lambda plan, problem: any(_copies(plan, problem, tma=True)),
    "split": lambda plan, _: plan.kernel.startswith("split"),
    "sliced": lambda plan, _: plan.kernel.startswith("sliced"),
    "dots": lambda plan, _: plan.kernel.startswith("dots"),
    "shared": lambda plan, _: (
        isinstance(plan.config, Tiling) and math.prod(plan.config.cluster) >= 4
    ),
    "swapped": lambda plan, _: plan.swapped,
    "fine": lambda plan, _: isinstance(plan.config, Tiling) and plan.config.fine,
    "transposed": lambda plan, _: isinstance(plan.config, Slicing) and plan.config.transposed,
}
"""Kinds of plans whose gain over all others is stated. Of copies: of what TMA does not read as it
lies, and of what it does."""


def _copies(plan: Plan, problem: Problem, *, tma: bool) -> Iterator[bool]:
    """Yield for A and B whether it is copied; those alone that TMA reads as they lie, or not."""
    aligned = as_read(problem).aligned[:2]
    return (copy and reads == tma for copy, reads in zip(plan.copied, aligned, strict=True))


def parts(plan: Plan) -> int:
    """Return into how many parts K is cut, for stream-K 2."""
    if plan.kernel.startswith("sliced"):
        return plan.units * plan.spread
    if plan.kernel.startswith("dots"):
        return plan.units
    return 2 if plan.spread else 1


def keep(cell: Any, rows: Sequence[Row], copies: Copies) -> None:
    """State samples and facts of all rows; ``copies``: what a pass through memory takes."""
    each = {row["problem"]: series(row, copies) for row in rows}
    found = {"worst decile": worst_decile(list(each.values()))}
    for name, members in groups(rows).items():
        found[name] = of_group([each[row["problem"]] for row in members])
        cell.fact(f"members.{name}", len(members), "problems")
    found |= each
    for region, metrics in found.items():
        for metric, values in metrics.items():
            cell.sample(region, metric, UNITS[metric], values)
    for fact in facts(rows):
        cell.fact(*fact)


def measured(rows: Sequence[Row]) -> list[Row]:
    """Return the rows in which the library, our choice and its further columns were timed."""
    return [
        row
        for row in rows
        if row.get("choice") in row.get("finals", {}) and "waiting" in row and row.get("cold")
    ]


def series(row: Row, copies: Copies) -> dict[str, Series]:
    """Return a problem's metrics, a value a round; ``copies``: what a pass through memory takes."""
    m, n, k = row["shape"]
    finals, library = row["finals"], row["library"]
    choice = finals[row["choice"]]
    best = finals[ours_us(row)[1]]
    moved = ELEMENT_BYTES * (m * k + k * n + m * n)
    waiting, cold = row["waiting"], row["cold"]
    others = {
        side: [us for name, us in finals.items() if side_beside(name) == side] for side in BESIDE
    }
    fastest = {side: min(times, key=median) for side, times in others.items() if times}
    products = fastest.pop(PRODUCTS, None)
    found = {f"over_{side}": _percent(times, choice) for side, times in fastest.items()}
    if products:
        found[PRODUCTS] = _percent(finals[library], products)
    if mhz := row.get("mhz"):
        found |= {"mhz": mhz[row["choice"]], "library_mhz": mhz[library]}
    return found | {
        "choice": _percent(finals[library], choice),
        "best": _percent(finals[library], best),
        "cold": _percent(cold[library], cold[waiting["plan"]]),
        "waiting": _percent(waiting["library"], waiting["us"]),
        "regret": [100 * (ours - least) / least for ours, least in zip(choice, best, strict=True)],
        "tflops": [2e-6 * m * n * k / us for us in choice],
        "of_bandwidth": [100 * moved / copies.bandwidth / us for us in choice],
        "of_copy": [100 * copies.us(moved) / us for us in choice],
    }


def groups(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Return the regions of several problems: all, by multiples, by layouts, of few rows."""
    found: dict[str, list[Row]] = {"all": list(rows)}
    found |= {name: [] for name in (*ALIGNED.values(), *(layout.upper() for layout in LAYOUTS))}
    found |= {name: [] for name in (FEW, *FEW_PARTS.values())}
    for row in rows:
        m, n, k = row["shape"]
        problem = understood(row["problem"])
        found[ALIGNED[multiple_of(problem)]].append(row)
        found[row["layout"].upper()].append(row)
        if m <= FEW_ROWS and ELEMENT_BYTES * n * k >= LEAST_BYTES:
            found[FEW].append(row)
            found[FEW_PARTS[as_read(problem).aligned[1]]].append(row)
    return {name: members for name, members in found.items() if members}


def of_group(each: Sequence[dict[str, Series]]) -> dict[str, Series]:
    """Return a group's metrics by round: geometric means of ratios, the mean of regrets."""
    found = {}
    beside = (side if side == PRODUCTS else f"over_{side}" for side in BESIDE)
    ratios = ("choice", "best", "cold", "waiting", "of_bandwidth", "of_copy", *beside)
    for metric in (name for name in ratios if all(name in metrics for metrics in each)):
        turns = zip(*(metrics[metric] for metrics in each), strict=True)
        found[metric] = [geometric_mean(turn) for turn in turns]
    turns = zip(*(metrics["regret"] for metrics in each), strict=True)
    return found | {"regret": [sum(turn) / len(turn) for turn in turns]}


def worst_decile(each: Sequence[dict[str, Series]]) -> dict[str, Series]:
    """Return by round the ratio that a tenth of the problems stay under."""
    if len(each) < 2:
        return {}
    return {
        metric: [quantiles(turn, n=10)[0] for turn in zip(*(m[metric] for m in each), strict=True)]
        for metric in ("choice", "best", "cold", "waiting")
    }


def facts(rows: Sequence[Row]) -> Iterator[tuple[str, float | str, str]]:
    """Yield what is stated once: counts, the worst problems, gains."""
    yield "shapes", len(rows), "problems"
    for row in rows:
        m, n, k = row["shape"]
        yield f"flop.{row['problem']}", 2.0 * m * n * k, "FLOP"
        yield f"kind.{row['problem']}", ALIGNED[multiple_of(understood(row["problem"]))], ""
        yield f"plan.{row['problem']}", row["choice"], ""
    ratios = {row["problem"]: _of_library(row) for row in rows}
    lost = {row["problem"]: 100 * (regret(row) or 0.0) for row in rows}
    for name, values, most in (("worst_choice", ratios, False), ("worst_regret", lost, True)):
        place = (max if most else min)(values, key=lambda problem: values[problem])
        yield name, values[place], "%"
        yield f"{name}_shape", place, ""
    yield "median_candidates", median(row["candidates"] for row in rows), "candidates"
    yield "median_plans", median(row["plans"] for row in rows), "plans"
    yield from gains(rows)


def gains(rows: Sequence[Row]) -> Iterator[tuple[str, float, str]]:
    """Yield for each kind of plan: how many problems it is fastest for, and its gain there.

    The gain is the geometric mean of the fastest plan of other kinds over the fastest of all.
    """
    timed = [_timed(row) for row in rows]
    for kind, belongs in KINDS.items():
        won = []
        for problem, us_of_plans in timed:
            times: dict[bool, list[float]] = {True: [], False: []}
            for plan, us in us_of_plans:
                times[belongs(plan, problem)].append(us)
            if times[True] and times[False] and min(times[True]) < min(times[False]):
                won.append(min(times[False]) / min(times[True]))
        yield f"won.{kind}", len(won), "shapes"
        if won:
            yield f"gain.{kind}", geometric_mean(won), "×"


def _timed(row: Row) -> tuple[Problem, list[tuple[Plan, float]]]:
    """Return a row's problem, and the µs of its plans."""
    named, problem = timed_us(row), understood(row["problem"])
    return problem, [(plan, named[plan.name]) for plan in plans(problem) if plan.name in named]


def _of_library(row: Row) -> float:
    """Return the choice's rate in % of the library's, by medians of the finals."""
    library = min(median(us) for name, us in row["finals"].items() if is_library(name))
    return 100 * library / median(row["finals"][row["choice"]])


def _percent(theirs: Sequence[float], ours: Sequence[float]) -> Series:
    return [100 * their / our for their, our in zip(theirs, ours, strict=True)]
