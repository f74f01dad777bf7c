"""The layers that a model repeats, folded into one: how often, how long each, and its parts.

Python's frames number the modules of one class (``Qwen3DecoderLayer_0``, …): the outermost class of
which several stand in one place is the layer. A compiled model has no modules inside. There the
operators say it: those of a layer follow each other in the same order again and again.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import polars as pl

from harness.analysis.repeats import LEAST
from harness.evidence.capture import IN_SCOPE

_NUMBERED = re.compile(r"(?P<name>\w+)_(?P<number>\d{1,9})")
_REGION = re.compile(r"(?:## Call CompiledFxGraph \w+ ##|GraphModule_\d+)")
"""What torch.compile puts around the code that it generated: no module of the model's."""

_MOST = 0.5
"""Of the busy time: what repeats in less of it is a part of layers, or beside them."""


@dataclass(frozen=True)
class Part:
    """Operations of one place and operator in a layer; launches and ms are of one layer.

    ``floor_ms``: the least that those with a floor take, which took ``known_ms``; None without.
    """

    place: str
    operator: str
    launches: float
    ms: float
    floor_ms: float | None = None
    known_ms: float = 0.0

    @property
    def reached(self) -> float | None:
        """Return the fraction of the limit that the operations with a floor reached."""
        return (
            self.floor_ms / self.known_ms if self.floor_ms is not None and self.known_ms else None
        )


@dataclass(frozen=True)
class Layers:
    """``count`` layers a step that take ``ms`` together; ``share``: of the steps' busy time.

    ``name``: the modules' class; of a compiled model "", and ``begins`` with its operator each
    repetition does. ``parts`` are those of one layer, by their time.
    """

    name: str
    begins: str
    count: int
    ms: float
    share: float
    parts: tuple[Part, ...]

    @property
    def each_ms(self) -> float:
        """Return how long one layer takes."""
        return self.ms / self.count


def folded(ops: pl.DataFrame) -> Layers | None:
    """Return the layers of the steps' operations; None where none hold most of the time.

    Each step has as many of them, LEAST or more.

    ``ops``: those of :func:`.attribution.attributed`, with step, own_ns and floor_ns.
    """
    rows = ops.sort("step", "launched_ns", "place", nulls_last=True)
    scopes = rows["scope"].cast(pl.String)
    name, of_scope = _modules(rows.select("own_ns", scope=scopes))
    begins = ""
    if name:
        numbers, places = zip(*(of_scope.get(scope, (None, "")) for scope in scopes), strict=True)
    else:
        begins, numbers = _repetitions(rows)
        places = tuple(_place(scope or "") for scope in scopes)
    if not begins and not name:
        return None
    placed = rows.select("step", "operator", "own_ns", "floor_ns").with_columns(
        layer=pl.Series(numbers, dtype=pl.Int64), place=pl.Series(places, dtype=pl.String)
    )
    return _folded(placed, name, begins)


def _folded(placed: pl.DataFrame, name: str, begins: str) -> Layers | None:
    steps, busy = placed["step"].n_unique(), float(placed["own_ns"].sum())
    inside = placed.drop_nulls("layer")
    layers = inside.select("step", "layer").n_unique()
    of_steps = inside.group_by("step").agg(pl.col("layer").n_unique())["layer"]
    if len(of_steps) < steps or of_steps.n_unique() > 1:
        return None
    if inside["place"].n_unique() == 1:  # a compiled model's, which says nothing of a part
        inside = inside.with_columns(place=pl.lit(""))
    of_layer = 1e6 * layers
    own_ms, known = pl.col("own_ns").sum() / of_layer, pl.col("floor_ns").is_not_null()
    least_ms = pl.min_horizontal("floor_ns", "own_ns").filter(known).sum() / of_layer
    parts = (
        inside.group_by("place", "operator")
        .agg(
            pl.len() / layers,
            own_ms,
            floor_ms=pl.when(known.any()).then(least_ms),
            known_ms=pl.col("own_ns").filter(known).sum() / of_layer,
        )
        .sort("own_ns", "place", "operator", descending=[True, False, False])
    )
    total = float(inside["own_ns"].sum())
    if total < _MOST * busy:
        return None
    return Layers(
        name=name,
        begins=begins,
        count=layers // steps,
        ms=total / steps / 1e6,
        share=total / busy,
        parts=tuple(Part(*part) for part in parts.iter_rows()),
    )


def _modules(rows: pl.DataFrame) -> tuple[str, dict[str | None, tuple[int, str]]]:
    """Return the class of the layers' modules, and by scope the layer's number and place in it.

    Of the classes of which LEAST modules or more stand in one module, the one that holds most
    time: a class inside of it holds less, or as much and then it comes later.
    """
    times = rows.group_by("scope").agg(pl.col("own_ns").sum()).drop_nulls()
    numbers: dict[tuple[str, str], set[int]] = {}
    held: Counter[tuple[str, str]] = Counter()
    seen: dict[str, list[tuple[tuple[str, str], int, str]]] = {}
    for scope, time in sorted(times.iter_rows()):
        seen[scope] = list(_classes(scope))
        for where, number, _ in seen[scope]:
            numbers.setdefault(where, set()).add(number)
            held[where] += time
    repeated = [where for where in held if len(numbers[where]) >= LEAST]
    if not repeated:
        return "", {}
    layer = max(repeated, key=lambda where: (held[where], -len(where[0])))
    return layer[1], {
        scope: (number, place)
        for scope, classes in seen.items()
        for where, number, place in classes
        if where == layer
    }


def _classes(scope: str) -> Iterator[tuple[tuple[str, str], int, str]]:
    """Yield for each numbered module of a scope: the scope around it and class, number, the rest.

    The scopes around it and behind it have no numbers.
    """
    parts = scope.split(IN_SCOPE)
    for at, part in enumerate(parts):
        if (match := _NUMBERED.fullmatch(part)) and not _REGION.fullmatch(part):
            where = (_place(IN_SCOPE.join(parts[:at])), match["name"])
            yield where, int(match["number"]), _place(IN_SCOPE.join(parts[at + 1 :]))


def _place(scope: str) -> str:
    """Return the modules of a scope without their numbers."""
    kept = [part for part in scope.split(IN_SCOPE) if not _REGION.fullmatch(part)]
    return IN_SCOPE.join(
        match["name"] if (match := _NUMBERED.fullmatch(part)) else part for part in kept
    )


def _repetitions(rows: pl.DataFrame) -> tuple[str, tuple[int | None, ...]]:
    """Return the operator that begins each repetition, and each row's repetition in its step.

    The operators that are called equally often a step, for the most time, are once in a layer. The
    first of them begins it; all layers but the last must then have the same operators in the same
    order, one called several times in a row counting once. "" where they do not.
    """
    numbers: list[int | None] = []
    begins = ""
    for of_step in rows.partition_by("step", maintain_order=True):
        first, placed = _step_repetitions(of_step["operator"].to_list(), of_step["own_ns"])
        if not first or begins not in ("", first):
            return "", ()
        begins = first
        numbers += placed
    return begins, tuple(numbers)


def _step_repetitions(operators: Sequence[str], times: pl.Series) -> tuple[str, list[int | None]]:
    runs = [at for at, name in enumerate(operators) if not at or operators[at - 1] != name]
    counts = Counter(operators[at] for at in runs if operators[at])
    weights: Counter[int] = Counter()
    for name, time in zip(operators, times, strict=True):
        if counts[name] >= LEAST:
            weights[counts[name]] += time
    if not weights:
        return "", []
    often = max(weights, key=lambda count: (weights[count], count))
    begins = next(operators[at] for at in runs if counts[operators[at]] == often)
    starts = [place for place, at in enumerate(runs) if operators[at] == begins]
    layers = [[operators[at] for at in runs[start:end]] for start, end in pairwise(starts)]
    if any(layer != layers[0] for layer in layers):
        return "", []
    return begins, list(_numbered(operators, runs, starts, layers[0]))


def _numbered(
    operators: Sequence[str], runs: Sequence[int], starts: Sequence[int], layer: Sequence[str]
) -> Iterator[int | None]:
    """Yield the layer of each operation; the last layer ends where it does not go on as ``layer``.

    ``runs`` are where operators begin, ``starts`` those of them at which layers begin.
    """
    number, place = None, 0
    begun, of_runs = set(runs), {runs[start] for start in starts}
    for at, operator in enumerate(operators):
        if at in of_runs:
            number, place = (0 if number is None else number + 1), 0
        elif at in begun:
            place += 1
            if place >= len(layer) or layer[place] != operator:
                place = len(layer)
        yield None if number is None or place >= len(layer) else number
