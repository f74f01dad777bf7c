"""What the host did, by an export: its calls into CUDA, its waits, its ranges and its threads."""

from typing import TYPE_CHECKING

from harness.captures.formats.sqlite_file import Columns, SqliteFile
from harness.captures.nsys.names import in_domains, named
from harness.captures.nsys.rows import correlation, process_id, timed
from harness.evidence.tables import empty, frame

if TYPE_CHECKING:
    import polars as pl


CALLS = ("CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_DRIVER")
_COLUMNS = ("start", "end", "globalTid", "correlationId", "nameId")
_VERSION = r"_v\d{4,5}$"
"""What nsys appends to a runtime call: the CUDA version that the call is of, cudaMalloc_v3020."""


def calls(file: SqliteFile, names: "pl.DataFrame", *, by_process: bool) -> "pl.DataFrame":
    """Return the evidence's table ``api_calls``; ``names``: StringIds, as id and value.

    ``by_process``: correlation ids are told apart by process, as those of the GPU operations.
    """
    import polars as pl

    rows = pl.concat([timed(file, table, _COLUMNS) for table in CALLS])
    unversioned = names.with_columns(pl.col("value").str.replace(_VERSION, ""))
    return frame(
        "api_calls",
        {
            "name": named(rows["nameId"], unversioned),
            "start_ns": rows["start"],
            "duration_ns": rows["end"] - rows["start"],
            "thread": rows["globalTid"],
            "correlation": correlation(rows, "globalTid" if by_process else None),
        },
    )


WAITS = "OSRT_API"
_WAIT_COLUMNS = ("start", "end", "globalTid", "nameId")
_SHORTEST_NS = 20_000
"""As long as a few launches take. nsys records calls from 1 µs on (--osrt-threshold)."""
_WAITING = (
    *("sem_wait", "sem_timedwait", "sem_clockwait", "pthread_cond_wait", "pthread_cond_clockwait"),
    *("pthread_join", "poll", "ppoll", "epoll_wait", "epoll_pwait", "waitpid", "wait4"),
    *("read", "pread", "pread64", "readv", "preadv", "fread", "recv", "recvfrom", "recvmsg"),
    *("nanosleep", "clock_nanosleep", "usleep", "sleep", "select", "pselect"),
    *("pthread_cond_timedwait", "pthread_mutex_lock", "pthread_mutex_timedlock", "flock"),
    *("pthread_rwlock_rdlock", "pthread_rwlock_wrlock", "pthread_barrier_wait", "futex"),
    *("getc", "fgetc", "fgets", "getline", "open", "open64", "openat", "fopen", "fopen64"),
    *("write", "pwrite", "pwrite64", "writev", "fwrite", "fflush", "fsync", "fdatasync", "msync"),
    *("accept", "connect", "send", "sendto", "sendmsg", "system"),
)
"""Calls that return when another thread, a process, a file, a socket or the clock is ready."""


def waits(file: SqliteFile, names: "pl.DataFrame") -> "pl.DataFrame":
    """Return the evidence's table ``waits``; ``names``: StringIds, as id and value.

    No rows where the calls of an export have no thread or name: they only add to what is known.
    """
    import polars as pl

    if not file.columns(WAITS).issuperset(_WAIT_COLUMNS):
        return empty("waits")
    rows = timed(file, WAITS, _WAIT_COLUMNS)
    waiting = names.filter(pl.col("value").is_in(_WAITING))["id"]
    long_waits = rows.filter(
        pl.col("nameId").is_in(waiting.implode()), pl.col("end") - pl.col("start") >= _SHORTEST_NS
    )
    return frame(
        "waits",
        {
            "name": named(long_waits["nameId"], names),
            "start_ns": long_waits["start"],
            "duration_ns": long_waits["end"] - long_waits["start"],
            "thread": long_waits["globalTid"],
        },
    )


NVTX = "NVTX_EVENTS"
_TIMES = ("start", "end")
# ENUM_NSYS_EVENT_TYPE's NVTX rows with a beginning and an end: push/pop and start/end ranges, and
# the same two imported from NVTX text files.
_RANGE_TYPES = (59, 60, 70, 71)


def ranges(file: SqliteFile, names: "pl.DataFrame") -> "pl.DataFrame":
    """Return the evidence's table ``ranges``; ``names``: StringIds, as id and value."""
    import polars as pl

    present = file.columns(NVTX)
    labels: Columns = {"text": "TEXT", "textId": "INTEGER"}
    texts: Columns = {name: labels[name] for name in labels if name in present}
    domain = ("domainId",) if "domainId" in present else ()
    rows = timed(file, NVTX, (*_TIMES, "eventType", "globalTid", *domain), texts)
    absent = {*labels, "domainId"} - set(rows.columns)
    rows = rows.with_columns(pl.lit(None, pl.Int64).alias(name) for name in absent)
    text = rows["text"].cast(pl.String)
    registered = named(rows["textId"], names).cast(pl.String)
    rows = rows.with_columns(name=text.zip_with(text.is_not_null(), registered))
    pushed = in_domains(rows).filter(pl.col("eventType").is_in(_RANGE_TYPES))
    return frame(
        "ranges",
        {
            "name": pushed["name"],
            "start_ns": pushed["start"],
            "duration_ns": pushed["end"] - pushed["start"],
            "thread": pushed["globalTid"],
        },
    )


_THREADS = "ThreadNames"
_ENGINE = r"^pt_autograd_\d+$"
"""One thread a device (torch/csrc/autograd/engine.cpp, Engine::thread_init)."""


def autograd_threads(
    file: SqliteFile, names: "pl.DataFrame", ranges: "pl.DataFrame"
) -> "pl.DataFrame":
    """Return the evidence's table ``autograd_threads``; none where the export names no threads.

    ``names``: StringIds, as id and value. Served are the threads of the process that have ranges.
    """
    import polars as pl

    if not file.columns(_THREADS):
        return empty("autograd_threads")
    threads = file.fetch(_THREADS, {"nameId": "INTEGER", "globalTid": "INTEGER"}).drop_nulls()
    meant = names.drop_nulls().filter(pl.col("value").str.contains(_ENGINE))
    engine = threads.join(meant, left_on="nameId", right_on="id", how="semi").select(
        process_id("globalTid").alias("process"), thread="globalTid"
    )
    served = ranges.select(serves="thread").drop_nulls().unique()
    pairs = (
        served.with_columns(process=process_id("serves"))
        .join(engine, on="process")
        .filter(pl.col("serves") != pl.col("thread"))
        .sort("thread", "serves")
    )
    return frame("autograd_threads", {key: pairs[key] for key in ("thread", "serves")})
