"""Calls into the operating system in which host threads waited for others, from an export."""

from typing import TYPE_CHECKING

from harness.captures.formats.sqlite_file import SqliteFile
from harness.captures.nsys.names import named
from harness.captures.nsys.rows import timed
from harness.evidence.tables import empty, frame

if TYPE_CHECKING:
    import polars as pl

TABLE = "OSRT_API"
_COLUMNS = ("start", "end", "globalTid", "nameId")
_SHORTEST_NS = 20_000
"""As long as a few launches take. nsys records calls from 1 µs on (--osrt-threshold)."""
_NAMES = (
    *("sem_wait", "sem_timedwait", "sem_clockwait", "pthread_cond_wait", "pthread_cond_clockwait"),
    *("pthread_join", "poll", "ppoll", "epoll_wait", "epoll_pwait", "waitpid", "wait4"),
    *("read", "pread", "pread64", "readv", "preadv", "fread", "recv", "recvfrom", "recvmsg"),
)
"""Not pthread_cond_timedwait, in which Python's threads wait for the interpreter's lock, while one
of them computes (CPython, Python/ceval_gil.c, take_gil); nor select and nanosleep: time.sleep."""


def waits(file: SqliteFile, names: "pl.DataFrame") -> "pl.DataFrame":
    """Return the evidence's table ``waits``; ``names``: StringIds, as id and value.

    No rows where the calls of an export have no thread or name: they only add to what is known.
    """
    import polars as pl

    if not file.columns(TABLE).issuperset(_COLUMNS):
        return empty("waits")
    rows = timed(file, TABLE, _COLUMNS)
    known = names.filter(pl.col("value").is_in(_NAMES))["id"]
    found = rows.filter(
        pl.col("nameId").is_in(known.implode()), pl.col("end") - pl.col("start") >= _SHORTEST_NS
    )
    return frame(
        "waits",
        {
            "name": named(found["nameId"], names),
            "start_ns": found["start"],
            "duration_ns": found["end"] - found["start"],
            "thread": found["globalTid"],
        },
    )
