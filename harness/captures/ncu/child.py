"""Reads one Nsight Compute report in a process of its own: the native reader can abort.

    python -m harness.captures.ncu.child REPORT ROWS

Writes one JSON line a profiled launch: name, grid, block, every metric that is a number as
[name, unit, value], its instructions where the report holds the section SourceCounters
(:mod:`.instructions`), and ncu's rules (:mod:`.rules`).
"""

import json
import math
import resource
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.captures.ncu.instructions import instructions
from harness.captures.ncu.rules import rules

_LIMITS = {
    resource.RLIMIT_AS: 8 << 30,  # bytes, as the native reader trusts the sizes in the file
    resource.RLIMIT_FSIZE: 2 << 30,  # bytes of rows
    resource.RLIMIT_CORE: 0,  # an abort is foreseen
}


def main(report: str, rows: str) -> None:
    """Write every launch of every range in the report."""
    for kind, most in _LIMITS.items():
        _, allowed = resource.getrlimit(kind)
        lower = most if allowed == resource.RLIM_INFINITY else min(most, allowed)
        resource.setrlimit(kind, (lower, lower))
    import ncu_report

    context = ncu_report.load_report(report)
    with Path(rows).open("w", encoding="utf-8") as file:
        for number in range(context.num_ranges()):
            profiled = context.range_by_idx(number)
            for index in range(profiled.num_actions()):
                launch = _launch(ncu_report, profiled.action_by_idx(index))
                file.write(json.dumps(launch) + "\n")


def _launch(library: Any, action: Any) -> dict[str, Any]:
    name = action.name(action.NameBase_DEMANGLED)
    if name is None:
        sys.exit("a launch without a readable name")
    return {
        # What is no UTF-8 comes from the binding as lone surrogates.
        "name": name.encode("utf-8", "replace").decode(),
        "grid": _shape(action, "grid"),
        "block": _shape(action, "block"),
        "metrics": list(_metrics(library, action)),
        "instructions": instructions(action),
        "rules": rules(action),
    }


def _shape(action: Any, kind: str) -> str | None:
    """Return "x,y,z", None for what has no launch of its own (a replayed range or graph)."""
    sizes = [action.metric_by_name(f"launch__{kind}_dim_{axis}") for axis in "xyz"]
    return None if None in sizes else ",".join(str(size.as_uint64()) for size in sizes)


def _metrics(library: Any, action: Any) -> Iterator[tuple[str, str, float]]:
    numeric = (
        library.IMetric.ValueKind_DOUBLE,
        library.IMetric.ValueKind_FLOAT,
        library.IMetric.ValueKind_UINT32,
        library.IMetric.ValueKind_UINT64,
    )
    for name in sorted(action.metric_names()):
        metric = action.metric_by_name(name)
        if metric.has_value() and metric.kind() in numeric and math.isfinite(metric.as_double()):
            yield name, metric.unit(), metric.as_double()


if __name__ == "__main__":
    main(*sys.argv[1:])
