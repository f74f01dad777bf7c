"""Time products whose rows are no multiples of 8 beside cuBLAS on padded rows.

The cells of the case ``unaligned`` run it. Its shapes are those of the reported set of which a row
of A, B or C is no multiple of 8 elements long, in the layout of ``nn.Linear``. The contenders are
those of the GPT-2 heads (real_layers.py): the rival keeps its weights padded, pads A on the way
where K needs it, and returns a view of padded rows.
"""

from collections.abc import Sequence
from statistics import geometric_mean
from typing import Any

from plans import Problem, describe
from pooled import Regime
from real_layers import ALL, LAYOUT, Row, Timing, moved, padded, series
from shape_sets import reported

FEW, MANY = "up to 64 rows", "more than 64 rows"
FEW_ROWS = 64
RIVALS = {"over_view": "view_us", "over_torch": "torch_us"}


def shapes() -> list[tuple[int, int, int]]:
    """Return the shapes with a row of A, B or C that is no multiple of 8 elements long."""
    return [shape for shape in reported() if not all(Problem(shape, LAYOUT).aligned)]


def ratios(row: Row) -> dict[str, list[float]]:
    """Return the rivals' times over the operator's, a value a round: above 1 it is faster."""
    times = series(row["finals"], moved(row["shape"]))
    ours = times["operator_us"]
    return {
        name: [theirs / us for theirs, us in zip(times[rival], ours, strict=True)]
        for name, rival in RIVALS.items()
    }


def keep(cell: Any, rows: Sequence[Row]) -> None:
    """State the ratios and times of each shape, and the ratios' means over shapes and by time."""
    each = {row["shape"]: ratios(row) for row in rows}
    groups = {name: [shape for shape in each if _rows(shape) == name] for name in (FEW, MANY)}
    for name, members in (groups | {ALL: list(each)}).items():
        for metric in RIVALS:
            turns = zip(*(each[shape][metric] for shape in members), strict=True)
            cell.sample(name, metric, "×", [geometric_mean(turn) for turn in turns])
    for row in rows:
        region = describe(Problem(row["shape"], LAYOUT))
        times = series(row["finals"], moved(row["shape"]))
        for metric in ("operator_us", "view_us", "copied_us", "torch_us", "lt_us"):
            if metric in times:
                cell.sample(region, metric, "µs", times[metric])
        for metric, values in each[row["shape"]].items():
            cell.sample(region, metric, "×", values)
        cell.fact(f"rows.{region}", _rows(row["shape"]))
        cell.fact(f"plan.{region}", row["plan"])
        cell.fact(f"padded.{region}", "N = {}, K = {}".format(*padded(row["shape"])))
    for metric, rival in RIVALS.items():
        cell.sample("by time", metric, "×", _by_time(rows, rival))
    cell.fact("shapes", len(rows), "problems")


def _by_time(rows: Sequence[Row], rival: str) -> list[float]:
    """Return the rival's time for all shapes together over the operator's, a value a round."""
    times = [series(row["finals"], moved(row["shape"])) for row in rows]
    theirs = [sum(turn) for turn in zip(*(each[rival] for each in times), strict=True)]
    ours = [sum(turn) for turn in zip(*(each["operator_us"] for each in times), strict=True)]
    return [one / other for one, other in zip(theirs, ours, strict=True)]


def _rows(shape: tuple[int, int, int]) -> str:
    return FEW if shape[0] <= FEW_ROWS else MANY


def main() -> None:
    """Run the cell that the environment names."""
    import torch

    from harness.probe.cell import Cell

    cell = Cell.load()
    if torch.cuda.get_device_capability() != (9, 0):
        raise SystemExit("the kernels are built for sm_90a: this needs a Hopper GPU (H100, H200)")
    torch.manual_seed(0)
    params = cell.params
    with cell.exclusively():
        timing = Timing(params["element"], Regime(params["batch_ms"], rounds=params["finals"]))
        rows = [timing.row(shape) for shape in shapes()]
    keep(cell, rows)
    cell.finish()


if __name__ == "__main__":
    main()
