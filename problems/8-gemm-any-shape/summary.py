"""Condense measure_shapes.py's rows: ratios to the better library candidate, regret, errors."""

import argparse
import json
import sys
from pathlib import Path
from statistics import geometric_mean, median, quantiles
from typing import Any

from plans import understood
from shape_sets import MULTIPLES, multiple_of

WORST = 24
PRODUCTS = "products"
"""The side of kernels that load nothing but the first stages: no kernel has less to do."""
BESIDE = ("triton", "cutlass", PRODUCTS)
"""Further sides of the contest; the names of their contenders begin so."""


def timed_us(row: dict[str, Any]) -> dict[str, float]:
    """Return the µs of a row's contenders: the finals' medians, else the screen's."""
    finals = {name: median(each) for name, each in row.get("finals", {}).items()}
    return row.get("screen", {}) | finals


def library_us(row: dict[str, Any], column: str = "finals") -> float:
    """Return the time of the fastest of torch.mm and cuBLASLt's candidates."""
    return min(median(us) for name, us in row[column].items() if is_library(name))


def ours_us(row: dict[str, Any]) -> tuple[float, str]:
    """Return the time of our fastest contender, and its name."""
    return min((median(us), name) for name, us in row["finals"].items() if is_ours(name))


def is_library(name: str) -> bool:
    """Return whether a contender is torch.mm or a candidate of cuBLASLt."""
    return name == "torch" or name.startswith("lt")


def is_ours(name: str) -> bool:
    """Return whether a contender is a plan of the kernels here."""
    return not is_library(name) and side_beside(name) is None


def side_beside(name: str) -> str | None:
    """Return the further side that a contender belongs to, None if it is of the two."""
    side = name.partition("_")[0]
    return side if side in BESIDE else None


def regret(row: dict[str, Any]) -> float | None:
    """Return how much slower the model's choice is than our fastest; None if it was left out."""
    chosen = row["finals"].get(row["choice"])
    return median(chosen) / ours_us(row)[0] - 1 if chosen else None


def summary(checks: list[dict[str, Any]], times: list[dict[str, Any]]) -> str:
    """Return a table of ratios by alignment, the worst shapes, and what was wrong."""
    lines = [f"{len(checks)} checks, {sum(bool(row.get('wrong')) for row in checks)} wrong"]
    rows = [
        row
        for row in times
        if all(any(map(side, row.get("finals", {}))) for side in (is_ours, is_library))
    ]
    if not rows:
        return "\n".join([*lines, f"{len(times)} timed, none against the library"])
    ratios = [(library_us(row) / ours_us(row)[0], row) for row in rows]
    for multiple in (*MULTIPLES, 0):
        part = [r for r, row in ratios if multiple in (0, multiple_of(understood(row["problem"])))]
        if len(part) > 1:
            low = quantiles(part, n=10)[0]
            name = f"multiple of {multiple}" if multiple else "all"
            lines.append(
                f"{name:16} {len(part):4} shapes: {geometric_mean(part):.3f} of the better library"
                f" candidate, worst decile {low:.3f}, worst {min(part):.3f}"
            )
    lost = [value for value in map(regret, rows) if value is not None]
    if lost:
        mean = sum(lost) / len(lost)
        lines.append(f"regret of {len(lost)} choices: mean {mean:.3f}, worst {max(lost):.3f}")
    for ratio, row in sorted(ratios, key=lambda pair: pair[0])[:WORST]:
        us, name = ours_us(row)
        lines.append(
            f"  {row['problem']:22} {ratio:.3f}  {us:9.1f} us {name:40} library"
            f" {library_us(row):9.1f} us  chosen {row['choice']}"
        )
    wrong = [
        f"  WRONG {row['problem']} {name}: {of['wrong']}"
        for row in rows
        for name, of in row["errors"].items()
        if of["wrong"]
    ]
    return "\n".join(lines + wrong[:WORST])


def main() -> int:
    """Print the summary of a folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="what --out was given")
    folder = parser.parse_args().folder
    rows = {
        kind: [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        for kind in ("check", "time")
        if (path := folder / f"{kind}.jsonl").exists()
    }
    print(summary(rows.get("check", []), rows.get("time", [])))
    return 0


if __name__ == "__main__":
    sys.exit(main())
