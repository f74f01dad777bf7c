"""Objects that a registry names as "module:attribute": imported on demand, not before."""

import importlib
from typing import Any


def resolve(reference: str) -> Any:
    """Return the attribute that "module:attribute" names, importing its module."""
    module, _, attribute = reference.partition(":")
    return getattr(importlib.import_module(module), attribute)
