"""Reads one Nsight Compute report in a process of its own: the native reader can abort.

    python -m harness.captures.ncu_child REPORT < patterns.json > rows.jsonl

One JSON line a profiled launch: name, grid, block, metrics as [name, unit, value].
"""

import json
import math
import resource
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

_MEMORY_BYTES = 8 << 30


def main() -> None:
    """Print every launch of every range in the report."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    import ncu_report

    patterns = json.load(sys.stdin)
    report = ncu_report.load_report(sys.argv[1])
    for number in range(report.num_ranges()):
        profiled = report.range_by_idx(number)
        for index in range(profiled.num_actions()):
            print(json.dumps(_launch(ncu_report, profiled.action_by_idx(index), patterns)))


def _launch(library: Any, action: Any, patterns: list[str]) -> dict[str, Any]:
    return {
        "name": action.name(action.NameBase_DEMANGLED),
        "grid": _shape(action, "grid"),
        "block": _shape(action, "block"),
        "metrics": list(_metrics(library, action, patterns)),
    }


def _shape(action: Any, kind: str) -> str | None:
    sizes = [action.metric_by_name(f"launch__{kind}_dim_{axis}") for axis in "xyz"]
    return None if None in sizes else ",".join(str(size.as_uint64()) for size in sizes)


def _metrics(library: Any, action: Any, patterns: list[str]) -> Iterator[tuple[str, str, float]]:
    numeric = (
        library.IMetric.ValueKind_DOUBLE,
        library.IMetric.ValueKind_FLOAT,
        library.IMetric.ValueKind_UINT32,
        library.IMetric.ValueKind_UINT64,
    )
    for name in sorted(action.metric_names()):
        if not any(fnmatchcase(name, pattern) for pattern in patterns):
            continue
        metric = action.metric_by_name(name)
        if metric.has_value() and metric.kind() in numeric and math.isfinite(metric.as_double()):
            yield name, metric.unit(), metric.as_double()


main()
