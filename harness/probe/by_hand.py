"""A script that a user starts by hand: how it gets its cell, and what it prints at its end."""

import os
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from harness.probe.names import DESCRIBER


def describe() -> NoReturn:
    """Become the harness, which starts this script again with the cell that its arguments name."""
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-m", DESCRIBER, *sys.argv])  # noqa: S606 - itself


def tell(cell: Sequence[str], record: Mapping[str, Any], out: Path) -> None:
    """Print what a cell measured: medians of its samples by region, then facts, then its folder."""
    print(*cell)
    print(*lines(record), f"  files: {out}", sep="\n")


def lines(record: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line a series of samples and a line a fact of a cell's record."""
    series: dict[tuple[str, str, str], list[float]] = {}
    for sample in record["samples"]:
        if sample["mark"] != "warm-up":
            place = sample["region"], sample["metric"], sample["unit"]
            series.setdefault(place, []).append(sample["value"])
    for (region, metric, unit), values in series.items():
        median = f"{statistics.median(values):.4g} {unit}".rstrip()
        yield f"  {region}: {metric} {median} (median of {len(values)} samples)"
    for fact in record["facts"]:
        value = fact["text"] if fact["value"] is None else f"{fact['value']:.6g} {fact['unit']}"
        yield f"  {fact['name']}: {str(value).rstrip()}"
