"""Nonlinear least squares without a package: Levenberg and Marquardt's method.

The fit has some twenty unknowns and a few thousand residuals, and the dispatcher's machine need
not have SciPy.
"""

from collections.abc import Callable, Sequence

STEP = 1e-4
"""By what an unknown is moved for a derivative."""
ITERATIONS = 25
ENOUGH = 1e-4
"""A relative gain below which the search ends."""


def minimised(
    residuals: Callable[[Sequence[float]], list[float]], first: Sequence[float]
) -> list[float]:
    """Return unknowns near ``first`` of least squared residuals.

    A local minimum; each step solves (J'J + damping diag(J'J)) step = -J'r (Marquardt 1963).
    """
    at, damping = list(first), 1e-2
    now = residuals(at)
    for _ in range(ITERATIONS):
        before = _squares(now)
        columns = [_derivative(residuals, at, now, index) for index in range(len(at))]
        matrix = [[_dot(a, b) for b in columns] for a in columns]
        slope = [-_dot(column, now) for column in columns]
        while damping < 1e6:
            damped = [
                [value + (damping * value + 1e-12) * (i == j) for j, value in enumerate(row)]
                for i, row in enumerate(matrix)
            ]
            tried = [x + dx for x, dx in zip(at, solved(damped, slope), strict=True)]
            found = residuals(tried)
            if _squares(found) < before:
                at, now, damping = tried, found, damping / 4
                break
            damping *= 4
        if before - _squares(now) <= ENOUGH * before:
            break
    return at


def solved(matrix: Sequence[Sequence[float]], right: Sequence[float]) -> list[float]:
    """Solve a linear system by elimination with row exchanges."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    size = len(rows)
    for column in range(size):
        pivot = max(range(column, size), key=lambda row: abs(rows[row][column]))
        rows[column], rows[pivot] = rows[pivot], rows[column]
        for row in range(column + 1, size):
            factor = rows[row][column] / rows[column][column]
            rows[row] = [a - factor * b for a, b in zip(rows[row], rows[column], strict=True)]
    found = [0.0] * size
    for row in reversed(range(size)):
        rest = sum(rows[row][column] * found[column] for column in range(row + 1, size))
        found[row] = (rows[row][size] - rest) / rows[row][row]
    return found


def _derivative(
    residuals: Callable[[Sequence[float]], list[float]],
    at: Sequence[float],
    now: Sequence[float],
    index: int,
) -> list[float]:
    moved = [value + STEP * (place == index) for place, value in enumerate(at)]
    return [(b - a) / STEP for a, b in zip(now, residuals(moved), strict=True)]


def _dot(a: Sequence[float], b: Sequence[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


def _squares(values: Sequence[float]) -> float:
    return _dot(values, values)
