"""Which kernels of one capture are which of another's: by name, then by stem, then by place."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from harness.analysis.diff.names import stem
from harness.analysis.kernels import family


@dataclass(frozen=True)
class Launched:
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

    a: tuple[Launched, ...]
    b: tuple[Launched, ...]


def matches(a: Sequence[Launched], b: Sequence[Launched]) -> list[Match]:
    """Return every kernel of both sides in exactly one match, in the order of launch.

    First equal names, then equal stems. What is left is matched between the same neighbours: one
    with one that is launched as often or is of its family; one with several that are launched as
    often is split, the reverse merged.
    """
    found = [Match((one,), (other,)) for one, other in _equal(a, b)]
    found += _by_stem(*_left(a, b, found))
    windows = _windows(*_left(a, b, found), found)
    for before, after in windows:
        found += _between(before, after)
    return sorted(found, key=lambda match: min(one.order for one in (*match.a, *match.b)))


def _equal(a: Iterable[Launched], b: Iterable[Launched]) -> Iterator[tuple[Launched, Launched]]:
    there = {one.name: one for one in b}
    return ((one, there[one.name]) for one in a if one.name in there)


def _left(
    a: Iterable[Launched], b: Iterable[Launched], found: Iterable[Match]
) -> tuple[list[Launched], list[Launched]]:
    """Return what no match holds yet, in order of launch."""
    known = list(found)
    taken_a = {one.name for match in known for one in match.a}
    taken_b = {one.name for match in known for one in match.b}
    order = lambda one: one.order  # noqa: E731 - a key
    return (
        sorted((one for one in a if one.name not in taken_a), key=order),
        sorted((one for one in b if one.name not in taken_b), key=order),
    )


def _by_stem(a: Sequence[Launched], b: Sequence[Launched]) -> list[Match]:
    found = []
    for shared in dict.fromkeys(stem(one.name) for one in a):
        mine = [one for one in a if stem(one.name) == shared]
        theirs = [one for one in b if stem(one.name) == shared]
        found += _closest(mine, theirs)
    return found


def _closest(a: Sequence[Launched], b: Sequence[Launched]) -> list[Match]:
    """Match one with one as far as they go: shared ranges first, equal counts, then the order."""
    told_by_range = any(one.paths & other.paths for one in a for other in b)
    if not told_by_range and [one.count for one in a] == [one.count for one in b]:
        return [Match((one,), (other,)) for one, other in zip(a, b, strict=True)]
    found, free = [], list(b)
    for one in a:
        if free:
            other = min(free, key=lambda other: _distance(one, other))
            free.remove(other)
            found.append(Match((one,), (other,)))
    return found


def _distance(one: Launched, other: Launched) -> tuple[bool, bool, float]:
    return (
        not one.paths & other.paths,
        one.count != other.count,
        abs(one.order - other.order),
    )


def _windows(
    a: Sequence[Launched], b: Sequence[Launched], found: Sequence[Match]
) -> list[tuple[list[Launched], list[Launched]]]:
    """Return what is left, grouped by the match that comes before it on its own side."""
    grouped: dict[int, tuple[list[Launched], list[Launched]]] = {}
    for one in a:
        before = _latest([max(other.order for other in match.a) for match in found], one.order)
        grouped.setdefault(before, ([], []))[0].append(one)
    for one in b:
        before = _latest([max(other.order for other in match.b) for match in found], one.order)
        grouped.setdefault(before, ([], []))[1].append(one)
    return list(grouped.values())


def _latest(orders: Sequence[float], order: float) -> int:
    """Return which of ``orders`` is the greatest below ``order``, -1 if none is."""
    below = [(value, number) for number, value in enumerate(orders) if value < order]
    return max(below)[1] if below else -1


def _between(a: Sequence[Launched], b: Sequence[Launched]) -> list[Match]:
    """Match what stands between the same neighbours."""
    if a and b and 1 in (len(a), len(b)) and len({one.count for one in (*a, *b)}) == 1:
        return [Match(tuple(a), tuple(b))]  # replaced, split or merged
    found: list[Match] = []
    free = list(b)
    for one in a:
        alike = [other for other in free if _alike(one, other)]
        if alike:
            other = min(alike, key=lambda other: _distance(one, other))
            free.remove(other)
            found.append(Match((one,), (other,)))
    rest = [one for one in a if not any(one in match.a for match in found)]
    if found and rest and free and len(rest) != len(free):
        return found + _between(rest, free)
    return found + [Match((one,), ()) for one in rest] + [Match((), (one,)) for one in free]


def _alike(one: Launched, other: Launched) -> bool:
    kind = family(one.name)
    return kind != "other" and kind == family(other.name)
