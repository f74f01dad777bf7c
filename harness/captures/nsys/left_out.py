"""What an export of Nsight Systems holds and the reader leaves out."""

from harness.captures.formats.sqlite_file import SqliteFile

READ = (
    "CUPTI_ACTIVITY_KIND_KERNEL",
    "CUPTI_ACTIVITY_KIND_MEMCPY",
    "CUPTI_ACTIVITY_KIND_MEMSET",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
    "CUPTI_ACTIVITY_KIND_RUNTIME",
    "CUPTI_ACTIVITY_KIND_DRIVER",
    "NVTX_EVENTS",
    "OSRT_API",
    "PROFILER_OVERHEAD",
)
# Names and properties, which are no recorded events.
_NAMES = ("StringIds", "PROCESSES", "ProcessStreams", "ThreadNames", "DIAGNOSTIC_EVENT")
_PROPERTIES = (
    *("ANALYSIS_", "ENUM_", "META_DATA_", "EXPORT_META_DATA", "NVTX_PAYLOAD_", "TARGET_INFO_"),
    "sqlite_",
)


def left_out(file: SqliteFile) -> str:
    """Return the tables of events that are not read, with their rows: ``SCHED_EVENTS (1,428)``."""
    events = [
        table
        for table in file.tables()
        if not table.startswith((*READ, *_PROPERTIES)) and table not in _NAMES
    ]
    counts = sorted(((file.count(table), table) for table in events), reverse=True)
    return ", ".join(f"{table} ({rows:,})" for rows, table in counts if rows)
