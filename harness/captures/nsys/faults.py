"""What went wrong in a recording, as its export tells: rows without times, nsys's own warnings."""

import re

from harness.captures.formats.sqlite_file import SqliteFile
from harness.evidence.capture import SAID, Tables
from harness.evidence.tables import frame

_EVENTS = {
    "CUPTI_ACTIVITY_KIND_KERNEL": ("gpu_ops", "kernels"),
    "CUPTI_ACTIVITY_KIND_MEMCPY": ("gpu_ops", "copies"),
    "CUPTI_ACTIVITY_KIND_MEMSET": ("gpu_ops", "memsets"),
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": ("gpu_ops", "graphs"),
    "CUPTI_ACTIVITY_KIND_RUNTIME": ("api_calls", "runtime calls"),
    "CUPTI_ACTIVITY_KIND_DRIVER": ("api_calls", "driver calls"),
    "OSRT_API": ("waits", "waits"),
    "NVTX_EVENTS": ("ranges", "ranges"),
}
"""The evidence table that holds the rows of a table, and what they are."""
_DIAGNOSTICS = "DIAGNOSTIC_EVENT"
_SEVERE = (2, 3)
"""Warning and error, by the export's own ENUM_DIAGNOSTIC_SEVERITY_LEVEL."""
_ELSEWHERE = re.compile(
    r"No .+ events collected|profiling might have not been started|perf event paranoid"
    r"|source Perf|backtrace"
    r"|OpenGL|Vulkan|DirectX|OS runtime|cuDNN|Unified Memory|Scheduling information"
    r"|nvtxDomainDestroy was called with wrong domain ID"
    r"|Not all .+ events might have been collected"
)
"""Said of helper processes, which use no GPU, of tracing that no reader here needs, of the end of
a domain that --nvtx-domain-exclude left out, and of every recording that cudaProfilerStop ended."""
_NONE = re.compile(r"No CUDA events collected|CUDA profiling might have not been started")
"""What matters where no process used CUDA by the export."""
_CUDA = ("CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME")
_STOPPED = re.compile(r"ProcessEventsError.*tag_message\*\] = (?P<why>.+)")
"""An exception of nsys' own import, which leaves out what the process recorded from then on."""
_MOST_SAID, _LONGEST = 5, 200


def faults(file: SqliteFile) -> Tables:
    """Return the table ``dropped``, and ``conditions`` if nsys said anything: SAID.

    Asked when all tables have been read, which counts the rows that were dropped.
    """
    rows = [
        (*_EVENTS.get(table, (None, table)), count, total, why)
        for (table, why), (count, total) in file.dropped.items()
    ]
    texts = []
    for severity, text in _texts(file):
        if stopped := _STOPPED.search(text):
            why = f"stopped at '{stopped['why']}' and lost later events"
            rows.append(("gpu_ops", "imports by nsys", 1, 1, why))
        else:
            texts.append((severity, text))
    columns = ("table", "what", "count", "of", "why")
    values = {name: [row[at] for row in rows] for at, name in enumerate(columns)}
    tables: Tables = {"dropped": frame("dropped", values)}
    if said := _said(file, texts):
        tables["conditions"] = frame("conditions", {"name": [SAID], "value": ["; ".join(said)]})
    return tables


def _texts(file: SqliteFile) -> list[tuple[int, str]]:
    """Return the severity and the text, on one line, of each of nsys's messages."""
    if not {"severity", "text"} <= file.columns(_DIAGNOSTICS):
        return []
    rows = file.fetch(_DIAGNOSTICS, {"severity": "INTEGER", "text": "TEXT"}, foreign=True)
    return [(severity, " ".join(text.split())) for severity, text in rows.drop_nulls().rows()]


def _said(file: SqliteFile, texts: list[tuple[int, str]]) -> list[str]:
    """Return nsys's own errors and warnings on what is read here, each once, at most so many."""
    lines = dict.fromkeys(
        text[:_LONGEST].rstrip(".") for severity, text in texts if severity in _SEVERE
    )
    nothing = not any(map(file.columns, _CUDA))
    kept = [
        line
        for line in lines
        if line and ((nothing and _NONE.match(line)) or not _ELSEWHERE.search(line))
    ]
    more = [f"and {len(kept) - _MOST_SAID} more"] if len(kept) > _MOST_SAID else []
    return [*kept[:_MOST_SAID], *more]
