"""Why a device was idle: each piece of idle time has one cause, so that no two findings share it.

The device waits for the thread that launches its next operation. What that thread did decides:

- in a range of data loading: DATA; in one of compilation, or loading code: COMPILE; but the moment
  between two operations that it had queued before is a BOUNDARY
- outside CUDA, waiting in the operating system while no other thread launches: DATA
- in a call that reserves or frees memory of the driver's: ALLOCATE
- in a synchronising call, or in one that copies and returns when it is done: SYNCHRONISE
- outside CUDA, longer between two calls than a launch takes: HOST
- launching back to back, in short stretches between calls: LAUNCH; if it launches a copy of a value
  that it then waits for: SYNCHRONISE
- nothing, because pages of managed memory move when they are touched, by no call: PAGES
- done: the operation was queued, and a device needs a moment between two of them: BOUNDARY; if the
  moment is long, the operation waited for something else, such as an event: QUEUED

A gap that began while the host was blocked is that call's doing to its end: the device ran dry
because nothing could be queued. So the launches after a synchronisation count to it, as does host
code, if the host would have had the time to run ahead.
"""

import re

import polars as pl

from harness.analysis import copies, intervals
from harness.analysis.idle import graph_captures, host_calls, host_state
from harness.evidence.capture import BENCHMARK, BUILD

DATA, COMPILE, ALLOCATE, SYNCHRONISE = "data", "compile", "allocate", "synchronise"
PAGEABLE, HOST, LAUNCH, BOUNDARY = "pageable", "host", "launch", "boundary"
QUEUED, PAGES, UNKNOWN = "queued", "pages", "unknown"

CAUSES = pl.Enum(
    [DATA, COMPILE, ALLOCATE, SYNCHRONISE, PAGEABLE, HOST, LAUNCH, BOUNDARY, QUEUED, PAGES, UNKNOWN]
)

_AIDS = (
    "named",
    "waits",
    "read",
    "before",
    "kind",
    "after",
    "pageable",
    "began_ns",
    "gap_ns",
    "blocked_in",
    "loads",
)
NAMED = (DATA, COMPILE, ALLOCATE, SYNCHRONISE, PAGEABLE, HOST, LAUNCH)
"""Causes that a finding can be made of."""

LONG_NS = 20_000
"""Host code between two CUDA calls that takes longer is not launching: a launch from torch takes 5
to 8 µs under nsys, and about as long to be dispatched; where Python computes a launch, 85 µs are
between two (reports/1-torchao-float8 and 2-gemlite-autotune, api_calls). Of problem 6's specimens,
launch-bound-chain and launch-bound-optimizer stay below it in 98 of 100 gaps; in host-bound-python
and host-bound-log the code that holds the GPU up takes 0.9 ms and more (H200)."""
BOUNDARY_NS = 5_000
"""Between queued operations a device needs 0.2 µs (nodes of a graph) to 2.2 µs (launched one by
one, H100 and H200); twice that is allowed."""
RELAUNCH_NS = 100_000
"""The same after a wait: from the return of a wait to the next launch torch needs 20 to 50 µs under
nsys, as the first operator's code has to be fetched anew. Of problem 6's specimens it takes 19 to
29 µs after .item() (host-sync-item), 9 to 24 after cuMemFree (allocator-churn-workspace), and 82 to
109 after a copy to the host and the Python behind it (pageable-copy-results), from the 10th to the
90th percentile (H200)."""
LATENCY_NS = 50_000
"""A launched operation starts on an idle device after 1.7 to 2.4 µs (H100, H200) or 14 µs (MI300),
by the queued_ns of eager programs; one that takes far longer waits for something else."""
SMALL_BYTES = 64 << 10
"""A copy of at most this size costs its synchronisation, not its bytes: from pageable memory the
driver stages it and returns (CUDA Runtime API, "API synchronization behavior")."""

_DATA = re.compile(
    r"data_?loader|data[ _]?load|load(ing)?[ _](batch|data)|prefetch|input[ _]pipeline|collate"
    r"|(next|get|fetch|read)[ _]?(batch|data)\b",
    re.IGNORECASE,
)
_COMPILE = re.compile(
    # pytorch/pytorch, torch/_dynamo/utils.py: dynamo_timed puts "<phase> (dynamo_timed)" around
    # each phase; some versions write the phase alone. The phases are of torch/_dynamo,
    # torch/_functorch and torch/_inductor (convert_frame.py, aot_autograd.py, compile_fx.py,
    # graph.py, codecache.py, runtime/triton_heuristics.py).
    r"dynamo_timed|compile_inner|(frame|backward|backend|inductor|async)_compile|compile_fx"
    r"|inductor_codegen|create_aot_dispatcher|GraphLowering\.|Scheduler\.codegen|bytecode_tracing"
    r"|build_guards|benchmark_all_configs"
    # Of whoever marks it, triton-lang/triton among them. What was compiled only runs: neither
    # "Torch-Compiled Region: 0/0" nor "## Call CompiledFxGraph …" nor "tuned" is one of them.
    r"|(triton|nvrtc|jit|torch)[ _.:]*compil(e(?!d)|ing|ation)|autotun(e(?!d)|ing)|\bXlaCompile"
    # cuDNN and MIOpen time their algorithms in calls of these names; Get… only looks one up.
    r"|\b(cudnn|miopen)Find(Convolution|Solutions)"
    rf"|^{BENCHMARK}|^{BUILD}|^{graph_captures.NAME}$",
    re.IGNORECASE,
)


def with_causes(
    pieces: pl.DataFrame,
    gpu_ops: pl.DataFrame,
    ranges: pl.DataFrame,
    waits: pl.DataFrame,
    reads: pl.DataFrame,
    *,
    host_is_ahead: bool,
) -> pl.DataFrame:
    """Return pieces of idle time (of host_state.idle_pieces) with ``cause``.

    ``gpu_ops`` are those that the pieces were made of; ranges, and ``waits`` of the launching
    threads in which no other thread launched, cut them. ``reads``: the copies that are only made to
    be waited for, by correlation. ``host_is_ahead``: the host works for less time than the device,
    so that only blocking keeps it from running ahead.
    """
    named = pieces.with_columns(named=pl.lit(None, CAUSES), waits=pl.lit(value=False))
    for name, pattern in ((DATA, _DATA), (COMPILE, _COMPILE)):
        named_ranges = _called(ranges, pattern)
        named = intervals.cut(
            named, named_ranges, "thread", named=pl.coalesce("named", _cause(name))
        )
    outside = pl.col("state") == host_state.OUTSIDE
    named = intervals.cut(named, waits, "thread", waits=outside)
    named = intervals.ordered(named, "gap", "start_ns")
    decidable = _with_copied(named.with_columns(host_calls.kinds(named["call"])), gpu_ops, reads)
    return _decided(decidable, host_is_ahead=host_is_ahead).drop(*_AIDS)


def _decided(pieces: pl.DataFrame, *, host_is_ahead: bool) -> pl.DataFrame:
    pieces = pieces.join(_by_gap(pieces), on="gap", how="left", maintain_order="left")
    # A short gap is a boundary if the capture shows for most gaps that their end was queued.
    launched = pieces.select((pl.col("state") == host_state.UNKNOWN).mean() <= 0.5).item()
    length = pl.col("end_ns") - pl.col("start_ns")
    state, kind, blocked = pl.col("state"), pl.col("kind"), pl.col("blocked_in")
    waits = blocked.is_in([host_calls.SYNCHRONISE, host_calls.COPY])
    dry = waits | (blocked == host_calls.ALLOCATE)
    between = pl.col("between_ns").fill_null(RELAUNCH_NS)
    long = pl.when(dry).then(between >= RELAUNCH_NS).otherwise(between >= LONG_NS)
    long = (state == host_state.OUTSIDE) & pl.col("named").is_null() & long
    early = pl.col("start_ns") == pl.col("began_ns")
    queued = (state == host_state.LAUNCHED) & (early | (length > LATENCY_NS))
    brief = length <= BOUNDARY_NS
    host_ns = pl.when(long).then(length).otherwise(0)
    mostly_host = host_ns.sum().over("gap") * 2 > pl.col("gap_ns")
    after_wait = pl.when("pageable").then(_cause(PAGEABLE)).otherwise(_cause(SYNCHRONISE))
    short = (
        pl.when(queued | ((state == host_state.UNKNOWN) & launched), brief)
        .then(_cause(BOUNDARY))
        .when(state == host_state.UNKNOWN)
        .then(_cause(UNKNOWN))
        .when(state == host_state.PAGES)
        .then(_cause(PAGES))
        .when(queued)
        .then(_cause(QUEUED))
        .when(blocked == host_calls.ALLOCATE)
        .then(_cause(ALLOCATE))
        .when(waits)
        .then(after_wait)
        .when(blocked == host_calls.LOAD)
        .then(_cause(COMPILE))
        .when(mostly_host)
        .then(_cause(HOST))
        .when("read")
        .then(_cause(SYNCHRONISE))
        .otherwise(_cause(LAUNCH))
    )
    cause = (
        pl.when(pl.col("named").is_not_null() & ~(queued & brief))
        .then(pl.col("named"))
        .when(kind == host_calls.ALLOCATE)
        .then(_cause(ALLOCATE))
        .when(kind == host_calls.LOAD)
        .then(_cause(COMPILE))
        .when(kind == host_calls.SYNCHRONISE)
        .then(after_wait)
        .when(long & pl.col("loads"))
        .then(_cause(COMPILE))
        .when("waits")
        .then(_cause(DATA))
        .when(long & ~(dry & pl.lit(host_is_ahead)))
        .then(_cause(HOST))
        .otherwise(short)
    )
    return pieces.with_columns(cause=cause)


def _by_gap(pieces: pl.DataFrame) -> pl.DataFrame:
    """Return of each gap: began_ns, gap_ns, blocked_in (a kind of call), loads (whether it does).

    The host was blocked as the gap began if its first piece is in a call. A gap loads code if it is
    compiled or loaded in it for longer than LONG_NS: a look-up that finds it there is no reason for
    the host code beside it.
    """
    length = pl.col("end_ns") - pl.col("start_ns")
    made = (pl.col("kind") == host_calls.LOAD) | (pl.col("named") == COMPILE)
    return pieces.group_by("gap").agg(
        pl.col("start_ns").first().alias("began_ns"),
        length.sum().alias("gap_ns"),
        pl.col("kind").first().alias("blocked_in"),
        (length.filter(made).sum() > LONG_NS).alias("loads"),
    )


def _called(ranges: pl.DataFrame, pattern: re.Pattern[str]) -> pl.DataFrame:
    """Return the ranges of such names that ended."""
    names = ranges["name"].drop_nulls().unique().cast(pl.String)
    wanted = [each for each in names if pattern.search(each)]
    return ranges.filter(pl.col("name").cast(pl.String).is_in(wanted)).drop_nulls("duration_ns")


def _cause(name: str) -> pl.Expr:
    return pl.lit(name, CAUSES)


def _with_copied(pieces: pl.DataFrame, gpu_ops: pl.DataFrame, reads: pl.DataFrame) -> pl.DataFrame:
    """Return pieces with what copies stand around their gap.

    ``pageable``: it follows a large copy of such memory. ``read``: one of ``reads`` ends it.
    """
    rows = copies.with_memory(gpu_ops.with_row_index("row").cast({"row": pl.Int64}))
    large = (pl.col("memory") == copies.PAGEABLE) & (pl.col("bytes") > SMALL_BYTES)
    read = pl.col("correlation").is_in(reads["correlation"].implode())
    return pieces.with_columns(
        pageable=pl.col("after").is_in(rows.filter(large)["row"].implode()),
        read=pl.col("before").is_in(rows.filter(read)["row"].implode()),
    )
