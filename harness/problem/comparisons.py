"""Which cells are compared with each other, and how they are dealt to GPUs; pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from harness.problem.model import Problem
from harness.problem.plan import Cell


@dataclass(frozen=True)
class Dealt:
    """A plan for several GPUs of one host: each GPU's cells, and those that follow ``in_turn``.

    ``in_turn``: comparisons with a cell that uses several GPUs, or that loads what GPUs share.
    """

    beside: tuple[tuple[Cell, ...], ...]
    in_turn: tuple[Cell, ...]


def comparisons(problem: Problem, cells: Sequence[Cell]) -> list[list[Cell]]:
    """Return the cells in groups, in the plan's order, that are to stay on one GPU.

    A group is a case with all its variants, captures and rounds, and the cases that a claim holds
    it against.
    """
    leader = {case: case for case in problem.cases}

    def lead(case: str) -> str:
        while leader[case] != case:
            case = leader[case]
        return case

    for claim in problem.claims:
        if claim.kind == "bound" and claim.over:
            first, second = (lead(case) for _, _, case in claim.sides)
            leader[second] = first
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(lead(cell.case), []).append(cell)
    return list(groups.values())


def parts(problem: Problem, cells: Sequence[Cell], count: int) -> list[list[Cell]]:
    """Return the plan in at most ``count`` parts of about as many cells, comparisons whole.

    A part keeps the plan's order.
    """
    order = {cell.id: place for place, cell in enumerate(cells)}
    made: list[list[Cell]] = [[] for _ in range(count)]
    for group in sorted(comparisons(problem, cells), key=len, reverse=True):
        min(made, key=len).extend(group)
    return [sorted(part, key=lambda cell: order[cell.id]) for part in made if part]


def jobs(problem: Problem, cells: Sequence[Cell], count: int) -> list[list[Cell]]:
    """Return the cells of each job of a cluster: comparisons whole, in at most ``count`` parts.

    Those that load what GPUs of a host share, or use several, follow in as many more at most.
    """
    split = dealt(problem, cells, 2)
    places = {cell.id for cell in split.in_turn}
    beside = [cell for cell in cells if cell.id not in places]
    return [*parts(problem, beside, count), *parts(problem, split.in_turn, count)]


def dealt(problem: Problem, cells: Sequence[Cell], gpus: int) -> Dealt:
    """Deal a plan to so many GPUs of one host; with one GPU all cells are its own."""
    if gpus < 2:
        return Dealt((tuple(cells),), ())
    whole = [
        group
        for group in comparisons(problem, cells)
        if any(cell.gpus > 1 or cell.loads_host for cell in group)
    ]
    in_turn = {cell.id for group in whole for cell in group}
    beside = parts(problem, [cell for cell in cells if cell.id not in in_turn], gpus)
    return Dealt(tuple(map(tuple, beside)), tuple(cell for cell in cells if cell.id in in_turn))
