"""The kinds of capture: one line each. A new kind is its folder and a line here.

Modules are named, not imported, as kinds are right of the evidence and every room asks this file:
the one registry of the house that is not made of imports.
"""

import importlib
from typing import Protocol

from harness.evidence.kind import Kind


class KindModule(Protocol):
    """A file ``harness/captures/<kind>/kind.py``."""

    KIND: Kind


def _kind(name: str) -> Kind:
    module: KindModule = importlib.import_module(f"harness.captures.{name}.kind")
    return module.KIND


KINDS: dict[str, Kind] = {
    name: _kind(name)
    for name in (
        "timing",
        "torch",
        "nsys",
        "ncu",
        "memory",
        "load",
    )
}
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
