"""Nsight Compute's reports: hardware counters by profiled launch.

NVIDIA's reader opens a cut report without a word and shows fewer kernels, and it can abort. So the
file's own framing is walked first (:mod:`.framing`), the reader runs in a child process
(:mod:`.child`), and it has to find as many results as the framing announces. A report that was cut
exactly between two blocks is whole by its framing: what the workload launched has to be counted as
well.
"""

import importlib.util
import json
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.captures.ncu import child
from harness.captures.ncu.framing import kernel_count
from harness.captures.ncu.keep import is_kept, keep
from harness.evidence.tables import SCHEMAS, Tables, frame
from harness.ground import process
from harness.ground.errors import CaptureError, ToolError

if TYPE_CHECKING:
    import polars as pl

_DEADLINE_S = 600.0
_PYTHON = sys.executable
Row = tuple[object, ...]
"""A row of a table, in the order of its schema's columns."""
Columns = dict[str, list[object]]
"""A table's columns by name, in the order of its schema."""


def read(path: Path) -> Tables:
    """Return counters: a row a profiled launch and metric, under Nsight Compute's names and units.

    Beside them stand the instructions, what ncu's rules estimate, and the counters that pages or
    findings read and ncu could not. Every metric is returned; what a run's evidence keeps of the
    metrics says :mod:`.keep`.

    Launches count from 0 in the report's order; grid and block are "x,y,z". What is absent or no
    number has no row. Raises CaptureError for a file that is damaged, cut or holds no kernel,
    ToolError without NVIDIA's reader.
    """
    announced = kernel_count(path)
    if announced == 0:
        raise CaptureError(
            "no kernels were profiled",
            where=path,
            remedy="check --profile-from-start, filters and that the range launches kernels",
        )
    if importlib.util.find_spec("ncu_report") is None:
        raise ToolError(
            "not installed",
            where="ncu-report",
            remedy="pip install ncu-report, which is under NVIDIA's agreement",
        )
    with tempfile.TemporaryDirectory(prefix="harness-", ignore_cleanup_errors=True) as folder:
        return _tables(path, rows_of(path, Path(folder)), announced)


def _tables(path: Path, rows: Path, announced: int) -> Tables:
    """Return the tables of the rows that the child wrote; CaptureError if they are not whole."""
    import polars as pl

    columns: dict[str, Columns] = {
        table: {name: [] for name in SCHEMAS[table]}
        for table in ("counters", "instructions", "rules")
    }
    launches = 0
    unavailable: list[str] = []
    try:
        for launches, launch in enumerate(_launches(rows), start=1):
            _extend(columns["counters"], _counters(launches - 1, launch))
            _extend(columns["instructions"], _instructions(launches - 1, launch))
            _extend(columns["rules"], _rules(launches - 1, launch))
            unavailable += filter(is_kept, launch["unavailable"])
        tables = {table: frame(table, values) for table, values in columns.items()}
    except (OSError, LookupError, TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        raise CaptureError("NVIDIA's reader left no readable rows", where=path) from None
    if launches != announced:
        raise CaptureError(f"{launches} of {announced} kernels are readable", where=path)
    return tables | {"dropped": _dropped(unavailable, tables)}


_MOST_NAMED = 3


def _dropped(unavailable: list[str], tables: Tables) -> "pl.DataFrame":
    """Return the table ``dropped``: a row on all counters that ncu could not read, or none.

    ``unavailable``: the counter's name, once a launch.
    """
    rows: dict[str, list[object]] = {name: [] for name in SCHEMAS["dropped"]}
    if unavailable:
        names = list(dict.fromkeys(unavailable))
        more = len(names) - _MOST_NAMED
        others = f" and {more} more" if more > 0 else ""
        why = f"are not available: {', '.join(names[:_MOST_NAMED])}{others}"
        total = keep(tables)["counters"].height + len(unavailable)
        _extend(rows, iter([("counters", "counters", len(unavailable), total, why)]))
    return frame("dropped", rows)


def rows_of(path: Path, folder: Path) -> Path:
    """Let the child read the report into ``folder``; return the file of its rows."""
    rows = folder / "rows.jsonl"
    # A file, not a pipe: the native reader may print, and the rows have no bound but the disk's.
    outcome = process.run(
        [_PYTHON, "-m", child.__name__, str(path.resolve()), str(rows)],
        cwd=Path(__file__).parents[3],
        env=process.environment({}),
        log=folder / "log",
        deadline_s=_DEADLINE_S,
    )
    if outcome.status == "ok":
        return rows
    if outcome.returncode == child.DAMAGED and outcome.detail:
        raise CaptureError(outcome.detail, where=path, remedy="profile it again, or copy it again")
    reason = outcome.detail or f"exit code {outcome.returncode}"
    if outcome.status == "timeout":
        reason = f"no end within {_DEADLINE_S:.0f} s"
    elif outcome.returncode is not None and outcome.returncode < 0:
        reason = f"{signal.strsignal(-outcome.returncode)} {outcome.detail}"
    raise CaptureError(f"NVIDIA's reader failed: {reason}", where=path)


def _launches(rows: Path) -> Iterator[dict[str, Any]]:
    """Yield the record of each launch from the file that the child wrote."""
    with rows.open(encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def _counters(number: int, launch: dict[str, Any]) -> Iterator[Row]:
    shape = (launch["name"], launch["grid"], launch["block"])
    for metric, unit, value in launch["metrics"]:
        # A report has some thousand names, each once a launch: keep one copy of each.
        yield (number, *shape, sys.intern(metric), sys.intern(unit), float(value))


def _instructions(number: int, launch: dict[str, Any]) -> Iterator[Row]:
    for index, instruction in enumerate(launch["instructions"]):
        sass, file, line, executed, samples, stall, stalled = instruction
        source = (file or None, line or None)
        counts = (executed, samples, stall or None, stalled)
        yield (number, launch["name"], index, sass, *source, *counts)


def _rules(number: int, launch: dict[str, Any]) -> Iterator[Row]:
    for rule, title, speedup in launch["rules"]:
        yield (number, launch["name"], rule, title, float(speedup))


def _extend(columns: Columns, rows: Iterator[Row]) -> None:
    """Append rows to columns, whose order is the rows'."""
    for row in rows:
        for column, cell in zip(columns.values(), row, strict=True):
            column.append(cell)
