"""Functions and classes by name, as they cross to another process of the harness."""

import importlib
from typing import Any


def to(named: Any) -> str:
    """Return the "module:name" of a function or a class that stands at the top of its module."""
    return f"{named.__module__}:{named.__qualname__}"


def resolve(reference: str) -> Any:
    """Return what :func:`to` names, importing its module."""
    module, _, name = reference.partition(":")
    return getattr(importlib.import_module(module), name)
