"""Unprofiled times: the series of samples."""

from typing import Any

from harness.cli.shown.columns import Cell, number, print_rows, text

_SAMPLES: dict[str, Cell] = {
    "region": text("region"),
    "metric": text("metric"),
    "rounds": number("rounds"),
    "samples": number("count"),
    "median": number("median", 1, 4),
    "unit": text("unit"),
}


def show(document: dict[str, Any], _names: dict[str, str]) -> None:
    """Print the median of each unprofiled metric."""
    print_rows("Unprofiled metrics", document["samples"], _SAMPLES)
