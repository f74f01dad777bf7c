"""Reads one Nsight Compute report in a process of its own: the native reader can abort.

    python -m harness.captures.ncu.child REPORT ROWS

Writes one JSON line a profiled launch: name, grid, block, every metric that is a number as
[name, unit, value], the names of those that ncu could not read, its instructions where the report
holds the section SourceCounters (:mod:`.instructions`), and ncu's rules (:mod:`.rules`).
"""

import contextlib
import json
import math
import resource
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

DAMAGED = 65
"""The exit code where the report's own content is at fault."""

_LIMITS = {
    resource.RLIMIT_AS: 8 << 30,  # bytes, as the native reader trusts the sizes in the file
    resource.RLIMIT_FSIZE: 2 << 30,  # bytes of rows
    resource.RLIMIT_CORE: 0,  # an abort is foreseen
}


def main(report: str, rows: str) -> None:
    """Write every launch of every range in the report; a line on stderr where that fails."""
    for kind, most in _LIMITS.items():
        _, allowed = resource.getrlimit(kind)
        lower = most if allowed == resource.RLIM_INFINITY else min(most, allowed)
        resource.setrlimit(kind, (lower, lower))
    import ncu_report

    try:
        with Path(rows).open("w", encoding="utf-8", errors="replace") as file:
            # What is no UTF-8 comes from the binding as lone surrogates.
            for launch in _launches(ncu_report, _opened(ncu_report, report)):
                file.write(json.dumps(launch, ensure_ascii=False) + "\n")
    except MemoryError:
        sys.exit(f"it takes more than {_LIMITS[resource.RLIMIT_AS] >> 30} GB of memory")
    except OSError as error:
        sys.exit(f"its rows are not written: {error.strerror}")


def _opened(library: Any, report: str) -> Any:
    with _damage("the report"):
        return library.load_report(report)


def _launches(library: Any, context: Any) -> Iterator[dict[str, Any]]:
    launch = 0
    for number in range(context.num_ranges()):
        with _damage(f"range {number}"):
            actions = [*_actions(context.range_by_idx(number))]
        for action in actions:
            yield _launch(library, action, launch)
            launch += 1


def _actions(profiled: Any) -> Iterator[Any]:
    for index in range(profiled.num_actions()):
        yield profiled.action_by_idx(index)


def _launch(library: Any, action: Any, launch: int) -> dict[str, Any]:
    parts: dict[str, Callable[[], Any]] = {
        "name": lambda: _name(action),
        "grid": lambda: _shape(action, "grid"),
        "block": lambda: _shape(action, "block"),
        "metrics": lambda: list(_metrics(library, action)),
        "unavailable": lambda: list(_unavailable(action)),
        "instructions": lambda: instructions(action),
        "rules": lambda: rules(action),
    }
    read = {}
    for part, value in parts.items():
        with _damage(f"the {part} of kernel {launch}"):
            read[part] = value()
    return read


@contextlib.contextmanager
def _damage(part: str) -> Iterator[None]:
    """End with a line that names the part that cannot be read.

    Of a damaged report the binding returns None, wrong types and half a structure, as it happens:
    what Python says of that tells a user nothing.
    """
    try:
        yield
    except MemoryError:
        raise
    except Exception:
        print(f"damaged: {part} cannot be read", file=sys.stderr)
        sys.exit(DAMAGED)


def _name(action: Any) -> str:
    name: str | None = action.name(action.NameBase_DEMANGLED)
    if name is None:
        raise ValueError("no name")
    return name


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


def _unavailable(action: Any) -> Iterator[str]:
    """Yield the counters, whose names end in a roll-up, that ncu gave no value or no number.

    Of a unit that a MIG instance shares with others it says NaN (NVIDIA, "CUPTI", Special
    Configurations), n/a of what the GPU or the driver withholds. Samples over time have instances
    instead of a value.
    """
    for name in sorted(action.metric_names()):
        metric = action.metric_by_name(name)
        if "." not in name or metric.num_instances():
            continue
        value = metric.as_double() if metric.has_value() else math.nan
        if value is not None and not math.isfinite(value):
            yield name


EXECUTED = "inst_executed"
SAMPLES = "smsp__pcsamp_warps_issue_stalled_"
"""The prefix of the names of the samples by stall reason."""

_NOT_ISSUED = "_not_issued"
"""The suffix of the second count of each reason: a subset of the first."""


def instructions(action: Any) -> list[tuple[str, str, int, int, int, str, int]]:
    """Return a launch's counted instructions in the order of their addresses; none if not recorded.

    Each: SASS, source file (empty without line information), line (0 without), warp-level
    executions, warp samples, the most frequent stall reason, and that reason's samples.
    """
    executed = _by_address(action, EXECUTED)
    stalls: dict[int, dict[str, int]] = {}
    for name in action.metric_names():
        if name.startswith(SAMPLES) and not name.endswith(_NOT_ISSUED):
            for address, samples in _by_address(action, name).items():
                stalls.setdefault(address, {})[name.removeprefix(SAMPLES)] = samples
    return [
        _row(action, address, executed.get(address, 0), stalls.get(address, {}))
        for address in sorted(executed.keys() | stalls.keys())
    ]


def _row(
    action: Any, address: int, executed: int, stalls: dict[str, int]
) -> tuple[str, str, int, int, int, str, int]:
    source = action.source_info(address)
    file, line = (source.file_name(), source.line()) if source else ("", 0)
    reason = max(stalls, key=lambda name: (stalls[name], name), default="")
    sass = action.sass_by_pc(address) or ""
    return (
        *(sass, file, line, executed),
        *(sum(stalls.values()), reason if stalls.get(reason) else "", stalls.get(reason, 0)),
    )


def _by_address(action: Any, name: str) -> dict[int, int]:
    """Return the instances of a metric by program counter; empty if the launch has none."""
    metric = action.metric_by_name(name)
    if metric is None or not metric.has_correlation_ids():
        return {}
    addresses = metric.correlation_ids()
    return {
        addresses.as_uint64(index): metric.as_uint64(index)
        for index in range(metric.num_instances())
    }


def rules(action: Any) -> list[tuple[str, str, float]]:
    """Return the rules that estimate a speed-up: identifier, title, and percent of the time.

    The title is the message's, or the rule's name where the message has none.
    """
    estimates = []
    for result in action.rule_results_as_dicts():
        estimate = result.get("speedup_estimation")
        if estimate:
            title = result["rule_message"]["title"] or result["name"]
            estimates.append((result["rule_identifier"], title, float(estimate["speedup"])))
    return estimates


if __name__ == "__main__":
    main(*sys.argv[1:])
