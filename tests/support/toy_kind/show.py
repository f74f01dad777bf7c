"""How ``harness inspect`` shows an export of toyprof."""

from typing import Any

from harness.evidence.tables import Tables


def summarise(tables: Tables, _label: str) -> dict[str, Any]:
    """Return the launches."""
    return {"kernels": tables["counters"].select("name", "value").to_dicts()}


def show(document: dict[str, Any], _names: dict[str, str]) -> None:
    """Print a line a launch."""
    for kernel in document["kernels"]:
        print(f"{kernel['name']} took {kernel['value']:g} ns")
