"""The kinds of capture: one line each. A new kind is its folder and a line here.

Every room may import this file: it and the files it loads (``captures/kind.py`` and
``captures/<kind>/kind.py``) hold names and data. What reads, analyses or prints a capture is
imported when it is called.
"""

from harness.evidence.kind import Kind
from harness.ground.references import resolve

_KINDS: tuple[Kind, ...] = (
    resolve("harness.captures.timing.kind:KIND"),
    resolve("harness.captures.torch.kind:KIND"),
    resolve("harness.captures.nsys.kind:KIND"),
    resolve("harness.captures.ncu.kind:KIND"),
    resolve("harness.captures.memory.kind:KIND"),
)
KINDS: dict[str, Kind] = {kind.name: kind for kind in _KINDS}
"""Name to kind, in the order in which tables list them."""


def by_cost() -> list[Kind]:
    """Return the kinds, those first that slow the workload least."""
    return sorted(KINDS.values(), key=lambda kind: kind.cost)


def filling(table: str) -> tuple[str, ...]:
    """Return the names of the kinds that fill an evidence table, cheapest first."""
    return tuple(kind.name for kind in by_cost() if table in kind.fills)


def unprofiled() -> str:
    """Return the name of the kind whose runs no profiler slows."""
    return next(kind.name for kind in by_cost() if kind.unprofiled)


def profiled() -> tuple[str, ...]:
    """Return the names of the other kinds."""
    return tuple(kind.name for kind in KINDS.values() if not kind.unprofiled)


def tools() -> tuple[str, ...]:
    """Return the profiler programs, each once."""
    return tuple(dict.fromkeys(kind.tool for kind in KINDS.values() if kind.tool))
