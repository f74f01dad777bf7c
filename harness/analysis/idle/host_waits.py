"""What the host waited for: input, values that it reads back, and the device."""

import polars as pl

from harness.analysis import intervals
from harness.analysis.idle import causes as idle_causes
from harness.analysis.idle import host_calls, host_state

_TO_HOST = "Device-to-Host|DtoH"
_INPUT = (
    *("sem_wait", "sem_timedwait", "sem_clockwait", "pthread_cond_wait", "pthread_cond_clockwait"),
    *("pthread_join", "poll", "ppoll", "epoll_wait", "epoll_pwait", "waitpid", "wait4"),
    *("read", "pread", "pread64", "readv", "preadv", "fread", "recv", "recvfrom", "recvmsg"),
)
"""Not pthread_cond_timedwait, in which Python's threads wait for the interpreter's lock, while one
of them computes (CPython, Python/ceval_gil.c, take_gil); nor what only takes time, as a sleep."""


def for_input(waits: pl.DataFrame, gpu_ops: pl.DataFrame, api_calls: pl.DataFrame) -> pl.DataFrame:
    """Return the waits for a thread, process, file or socket in which no thread launched a kernel.

    Where another thread did, the thread waited for that work, as one that calls ``backward()``
    waits for autograd's.
    """
    kernels = gpu_ops.filter(pl.col("kind").is_in(["kernel", "graph"]))
    launched = host_state.launches(kernels, api_calls)["call_start"].sort()
    timed = waits.drop_nulls(["start_ns", "duration_ns", "thread"]).filter(
        pl.col("name").cast(pl.String).is_in(_INPUT)
    )
    before, until = (
        launched.search_sorted(timed.select(at).to_series())
        for at in (pl.col("start_ns"), pl.col("start_ns") + pl.col("duration_ns"))
    )
    return timed.filter(before == until)


def reads(gpu_ops: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    """Return the calls that copy a few bytes to the host right before a wait, as ``.item()``.

    ``calls`` have ``kind``. Columns: thread, correlation, start_ns and end_ns, the call with the
    dispatch before it, of up to LONG_NS: neither is made where nothing is read.
    """
    start, kind = pl.col("start_ns"), pl.col("kind")
    end = start + pl.col("duration_ns")
    small = gpu_ops.filter(
        pl.col("copy_kind").cast(pl.String).str.contains(_TO_HOST),
        pl.col("bytes") <= idle_causes.SMALL_BYTES,
    )
    before = pl.max_horizontal(end.shift(1), start - idle_causes.LONG_NS).over("thread")
    waited = (kind.shift(-1) == host_calls.SYNCHRONISE).over("thread")
    return (
        calls.sort("thread", "start_ns")
        .with_columns(begin=before.fill_null(start), waited=waited)
        .filter(
            kind == host_calls.COPY,
            "waited",
            pl.col("correlation").is_in(small["correlation"].implode()),
        )
        .select("thread", "correlation", pl.col("begin").alias("start_ns"), end_ns=end)
    )


def blocked_ns(calls: pl.DataFrame, reads: pl.DataFrame) -> int:
    """Return how long the thread that launches most was blocked by the device, or read a value.

    ``calls`` (with ``kind``) and ``reads`` (of :func:`reads`): of a capture's steady state.
    """
    its_own = _of_launching(calls)
    waits = pl.col("kind").is_in([host_calls.SYNCHRONISE, host_calls.ALLOCATE])
    slow = pl.col("duration_ns") > idle_causes.LONG_NS
    blocking = calls.filter(its_own, waits | ((pl.col("kind") == host_calls.COPY) & slow))
    end = pl.col("start_ns") + pl.col("duration_ns")
    parts = [
        blocking.select("start_ns", end_ns=end),
        reads.filter(its_own).select("start_ns", "end_ns"),
    ]
    return intervals.length(intervals.union(pl.concat(parts)))


def _of_launching(calls: pl.DataFrame) -> pl.Expr:
    threads = calls.filter(pl.col("kind") == host_calls.LAUNCH)["thread"].mode().sort()
    return pl.col("thread").is_in(threads.head(1).implode())
