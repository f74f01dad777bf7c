"""Columns that tables of kernels share."""

from typing import Any

from harness.cli.shown.columns import NOT_MEASURED, Cell


def kernel_name(names: dict[str, str]) -> dict[str, Cell]:
    """Return the column of kernels, by their short names where there are some."""
    return {"kernel": lambda row: names.get(row["name"], row["name"])}


def shape(key: str) -> Cell:
    """Print a launch shape, marked where launches of the kernel had others too."""

    def cell(row: dict[str, Any]) -> str:
        if row[key] is None:
            return NOT_MEASURED
        return f"{row[key]} …" if row["shapes"] > 1 else str(row[key])

    return cell
