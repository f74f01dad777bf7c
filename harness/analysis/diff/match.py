"""Pairs the kernels of two captures: by name, then by stem, then by place in the step."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from harness.analysis.diff.names import stem
from harness.analysis.kernels import family

_TELLING = ("gemm", "gemv", "attention", "convolution", "communication", "softmax", "norm")
"""Families of which a step's kernels do the same operators, whatever library they are from."""


@dataclass(frozen=True)
class LaunchedKernel:
    """A kernel of a step: how often it is launched, when first (0 is the first launch), and where.

    ``count`` is over all steps that are compared. ``paths`` are the innermost ranges around its
    launches.
    """

    name: str
    count: int
    order: float
    paths: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Match:
    """Kernels that stand for each other: one on each side, or several where work was cut anew.

    One side empty: added or removed.
    """

    a: tuple[LaunchedKernel, ...]
    b: tuple[LaunchedKernel, ...]


def matches(a: Sequence[LaunchedKernel], b: Sequence[LaunchedKernel]) -> list[Match]:
    """Return every kernel of both sides in exactly one match, in the order of launch.

    First equal names, then equal stems. The others are matched between the same neighbours: a
    kernel with a kernel that is launched as often or is of its family; one kernel with several that
    are launched as often is split, the reverse merged. The rest of a telling family on one side
    stands for the rest on the other: another library's kernels for the same operators.
    """
    matched = [Match((kernel,), (candidate,)) for kernel, candidate in _equal(a, b)]
    matched += _by_stem(*_left(a, b, matched))
    windows = _windows(*_left(a, b, matched), matched)
    for before, after in windows:
        matched += _between(before, after)
    matched = _by_family(matched)
    return sorted(matched, key=lambda match: min(kernel.order for kernel in (*match.a, *match.b)))


def _equal(
    a: Iterable[LaunchedKernel], b: Iterable[LaunchedKernel]
) -> Iterator[tuple[LaunchedKernel, LaunchedKernel]]:
    by_name = {kernel.name: kernel for kernel in b}
    return ((kernel, by_name[kernel.name]) for kernel in a if kernel.name in by_name)


def _left(
    a: Iterable[LaunchedKernel], b: Iterable[LaunchedKernel], matched: Iterable[Match]
) -> tuple[list[LaunchedKernel], list[LaunchedKernel]]:
    """Return the kernels that no match holds yet, in order of launch."""
    so_far = list(matched)
    taken_a = {kernel.name for match in so_far for kernel in match.a}
    taken_b = {kernel.name for match in so_far for kernel in match.b}
    order = lambda kernel: kernel.order  # noqa: E731 - a key
    return (
        sorted((kernel for kernel in a if kernel.name not in taken_a), key=order),
        sorted((kernel for kernel in b if kernel.name not in taken_b), key=order),
    )


def _by_stem(a: Sequence[LaunchedKernel], b: Sequence[LaunchedKernel]) -> list[Match]:
    matched = []
    for shared in dict.fromkeys(stem(kernel.name) for kernel in a):
        of_a = [kernel for kernel in a if stem(kernel.name) == shared]
        of_b = [kernel for kernel in b if stem(kernel.name) == shared]
        matched += _closest(of_a, of_b)
    return matched


def _closest(a: Sequence[LaunchedKernel], b: Sequence[LaunchedKernel]) -> list[Match]:
    """Match kernels in pairs: by shared ranges first, then equal counts, then the order."""
    told_by_range = any(kernel.paths & candidate.paths for kernel in a for candidate in b)
    if not told_by_range and [kernel.count for kernel in a] == [kernel.count for kernel in b]:
        return [Match((kernel,), (candidate,)) for kernel, candidate in zip(a, b, strict=True)]
    matched, free = [], list(b)
    for kernel in a:
        if free:
            candidate = min(free, key=lambda candidate: _distance(kernel, candidate))
            free.remove(candidate)
            matched.append(Match((kernel,), (candidate,)))
    return matched


def _distance(kernel: LaunchedKernel, candidate: LaunchedKernel) -> tuple[bool, bool, float]:
    return (
        not kernel.paths & candidate.paths,
        kernel.count != candidate.count,
        abs(kernel.order - candidate.order),
    )


def _windows(
    a: Sequence[LaunchedKernel], b: Sequence[LaunchedKernel], matched: Sequence[Match]
) -> list[tuple[list[LaunchedKernel], list[LaunchedKernel]]]:
    """Return the unmatched kernels, grouped by the match that comes before them on their side."""
    grouped: dict[int, tuple[list[LaunchedKernel], list[LaunchedKernel]]] = {}
    for kernel in a:
        before = _latest(
            [max(neighbour.order for neighbour in match.a) for match in matched], kernel.order
        )
        grouped.setdefault(before, ([], []))[0].append(kernel)
    for kernel in b:
        before = _latest(
            [max(neighbour.order for neighbour in match.b) for match in matched], kernel.order
        )
        grouped.setdefault(before, ([], []))[1].append(kernel)
    return list(grouped.values())


def _latest(orders: Sequence[float], order: float) -> int:
    """Return the index of the greatest of ``orders`` below ``order``, -1 without one."""
    below = [(value, number) for number, value in enumerate(orders) if value < order]
    return max(below)[1] if below else -1


def _between(a: Sequence[LaunchedKernel], b: Sequence[LaunchedKernel]) -> list[Match]:
    """Match the kernels that stand between the same neighbours."""
    if a and b and 1 in (len(a), len(b)) and len({kernel.count for kernel in (*a, *b)}) == 1:
        return [Match(tuple(a), tuple(b))]  # replaced, split or merged
    matched: list[Match] = []
    free = list(b)
    for kernel in a:
        alike = [candidate for candidate in free if _alike(kernel, candidate)]
        if alike:
            candidate = min(alike, key=lambda candidate: _distance(kernel, candidate))
            free.remove(candidate)
            matched.append(Match((kernel,), (candidate,)))
    rest = [kernel for kernel in a if not any(kernel in match.a for match in matched)]
    if matched and rest and free and len(rest) != len(free):
        return matched + _between(rest, free)
    return (
        matched
        + [Match((kernel,), ()) for kernel in rest]
        + [Match((), (kernel,)) for kernel in free]
    )


def _by_family(matched: Sequence[Match]) -> list[Match]:
    """Return the matches with those that lack a side joined where both sides have a family."""
    kept = [match for match in matched if match.a and match.b]
    added = [kernel for match in matched if not match.a for kernel in match.b]
    removed = [kernel for match in matched if not match.b for kernel in match.a]
    for kind in dict.fromkeys(family(kernel.name) for kernel in (*removed, *added)):
        of_a, of_b = (
            tuple(kernel for kernel in side if family(kernel.name) == kind)
            for side in (removed, added)
        )
        if kind in _TELLING and of_a and of_b:
            # One with one in order of launch; the last of the shorter side with all that remain.
            paired = min(len(of_a), len(of_b)) - 1
            kept += [Match((of_a[at],), (of_b[at],)) for at in range(paired)]
            kept.append(Match(of_a[paired:], of_b[paired:]))
        else:
            kept += [Match((kernel,), ()) for kernel in of_a]
            kept += [Match((), (kernel,)) for kernel in of_b]
    return kept


def _alike(kernel: LaunchedKernel, candidate: LaunchedKernel) -> bool:
    kind = family(kernel.name)
    return kind != "other" and kind == family(candidate.name)
