"""What is wrong with a recording: captures of known flaws, and sound ones."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from harness.analysis import flaws
from harness.analysis.diagnose import conclude
from harness.analysis.diff import gpu
from harness.analysis.repeats import series_table
from harness.evidence import tables as evidence
from harness.evidence.capture import Capture
from harness.extract import door
from tests.support.nsys_exports import altered
from tests.support.paths import DATA
from tests.support.programs import MS, US, Program

FLAWED = DATA / "flaws"
CAPTURES = [
    *sorted(DATA.glob("nsys/*.sqlite.zst")),
    *sorted(DATA.glob("torch/*.json.gz")),
    *sorted(DATA.glob("training_steps/*.json.zst")),
    *sorted(DATA.glob("differences/s*.sqlite.zst")),
    DATA / "audit/float8_linears.trace.json.gz",
]


def read(path: Path) -> Capture:
    (capture,) = door.capture(path).captures.values()
    return capture


@pytest.mark.parametrize(
    ("name", "told", "first"),
    [
        (
            "pytorch192021_dropped.json.gz",
            "the first 120 of 200 launches have no kernel",
            "abstain",
        ),
        ("tracelens669_overflow.json.gz", "6.42 s of kernels in 1.6 s", "abstain"),
        ("kineto996_nokernels.json.gz", "all 200 launches have no work on the GPU", "abstain"),
        ("ns_diag_driver.sqlite.zst", "all 100 launches have no work on the GPU", "abstain"),
        ("hta317_negative.json.gz", "1 of 200 GPU operations end before they start", "abstain"),
    ],
)
def test_a_flaw_is_told_and_nothing_is_concluded(name: str, told: str, first: str) -> None:
    diagnosis = conclude.diagnose([read(FLAWED / name)])
    assert diagnosis.recording
    assert diagnosis.recording.text.endswith("capture: not whole")
    assert told in diagnosis.recording.flaws[0].what
    assert [each.id for each in diagnosis.findings] == [first]


def test_nsys_s_own_words_are_a_flaw() -> None:
    _, said = flaws.flaws(read(FLAWED / "ns_diag_driver.sqlite.zst"))
    assert "driver version (13.1) is not supported by this build" in said.what
    assert "CUPTI_ERROR_INVALID_DEVICE" in said.what
    assert not said.breaks


_STOPPED = """Error when processing events: Source ID=
Type=ErrorInformation (18)
 Error information:
 ProcessEventsError (4005)
  Properties:
   ErrorText (100)=/build/StringStorage.cpp(119): Throw in function StringId GetKeyForExteriorId()
std::exception::what: LogicException
[QuadDCommon::tag_message*] = Cannot find string for an exterior index
"""  # nsys 2025.3.2 of JAX 0.11.2, whose NVTX ranges carry payloads


def test_an_import_of_nsys_that_stopped_is_a_flaw_from_which_nothing_follows(
    tmp_path: Path,
) -> None:
    told = f"INSERT INTO DIAGNOSTIC_EVENT VALUES (0, 1, 1, 2, '{_STOPPED}', 1)"
    (stopped,) = flaws.flaws(read(altered("streams", tmp_path, told)))
    assert "stopped at 'Cannot find string for an exterior index'" in stopped.what
    assert stopped.breaks


def test_a_capture_of_jax_without_xla_s_own_ranges_is_whole() -> None:
    """481 kernels and 8 steps are what SQLite counts in the export; XLA warns of its domain."""
    capture = read(DATA / "nsys/jax.sqlite.zst")
    assert capture.tables["gpu_ops"].filter(pl.col("kind") == "kernel").height == 481
    assert capture.tables["ranges"].filter(pl.col("name") == "step").height == 8
    assert flaws.flaws(capture) == ()


def test_what_kineto_logged_is_a_flaw(tmp_path: Path) -> None:
    kernel = {"ph": "X", "cat": "kernel", "name": "gemm", "ts": 5, "dur": 3, "args": {"device": 0}}
    logged = {"traceEvents": [kernel], "WARNING": ["Dropped\n 3 records.", "Dropped 3 records."]}
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(logged), encoding="utf-8")
    (said,) = flaws.flaws(read(path))
    assert said.what == "the profiler said: Dropped 3 records"


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name)
def test_a_sound_capture_is_complete(path: Path) -> None:
    recording = conclude.diagnose([read(path)]).recording
    assert recording
    assert recording.flaws == ()
    assert recording.text.endswith("capture: complete")


def test_the_timelines_of_unseen_programs_are_complete() -> None:
    held = {file.stem: pl.read_parquet(file) for file in (DATA / "held_out/timelines").iterdir()}
    for name in held["gpu_ops"]["capture"].cast(pl.String).unique():
        tables = {table: evidence.empty(table) for table in evidence.SCHEMAS}
        for table, rows in held.items():
            mine = rows.filter(pl.col("capture").cast(pl.String) == name).drop("capture")
            tables[table] = pl.concat([tables[table], mine], how="diagonal_relaxed")
        assert flaws.flaws(Capture(name, tables, {}, name.rpartition(".")[2])) == (), name


def program() -> Capture:
    """Return 20 turns of a kernel on each of two streams, with a wait for the device each."""
    made = Program()
    for _ in range(20):
        made.launch(300 * US, stream=7)
        made.launch(300 * US, stream=8)
        made.synchronise("cudaDeviceSynchronize")
    return made.capture()


Change = Callable[[pl.DataFrame], pl.DataFrame]
ROW = pl.int_range(pl.len())


def with_ops(change: Change) -> Capture:
    whole = program()
    return replace(whole, tables=whole.tables | {"gpu_ops": change(whole.tables["gpu_ops"])})


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda ops: ops.filter(~ROW.is_between(15, 24)), "10 of 40 launches have no kernel"),
        (lambda ops: ops.head(20), "the last 20 of 40 launches have no kernel"),
        (
            # The last one may have been on its way as the recording ended.
            lambda ops: ops.filter((pl.col("stream") == 7) | (ROW % 4 == 1)),
            "9 of 40 launches have no kernel",
        ),
        (lambda ops: pl.concat([ops, ops.head(10)]), "10 of 50 GPU operations are there twice"),
        (
            lambda ops: ops.with_columns(
                pl.when(ROW < 8).then(0).otherwise("duration_ns").alias("duration_ns")
            ),
            "8 of 40 kernels last 0 ns",
        ),
        (
            lambda ops: ops.with_columns(pl.when(ROW >= 8).then(pl.col("start_ns", "duration_ns"))),
            "8 of 40 GPU operations have no time",
        ),
        (
            lambda ops: ops.with_columns(pl.col("start_ns") - 1 * MS),
            "40 of 40 operations of device 0 begin before their launch",
        ),
        (
            lambda ops: ops.with_columns(pl.col("start_ns") + 1 * MS),
            "after 20 of 20 waits for a device it still ran what was launched before",
        ),
        (
            lambda ops: ops.with_columns(pl.col("duration_ns") + (ROW == 38) * (1 << 32)),
            "waits for a device it still ran what was launched before, for up to 4.29 s",
        ),
        (
            lambda ops: ops.with_columns(pl.col("duration_ns") * 4),
            "kernels overlap with others of their stream",
        ),
    ],
)
def test_other_flaws_of_the_same_kinds_are_told(change: Change, told: str) -> None:
    assert flaws.flaws(program()) == ()
    damaged = with_ops(change)
    found = flaws.flaws(damaged)
    assert any(told in each.what for each in found), found
    assert found[0].breaks
    assert [each.id for each in conclude.diagnose([damaged]).findings] == ["abstain"]


def test_what_ran_before_the_recording_has_no_launch_and_later_work_has() -> None:
    whole = program()
    calls = whole.tables["api_calls"].sort("start_ns")
    late = replace(whole, tables=whole.tables | {"api_calls": calls[9:]})
    assert flaws.flaws(late) == ()
    (flaw,) = flaws.flaws(
        replace(whole, tables=whole.tables | {"api_calls": pl.concat([calls[:9], calls[15:]])})
    )
    assert flaw.what == "4 of 40 GPU operations have no launch"
    assert not flaw.breaks


@pytest.mark.parametrize("call", ["cudaLaunchKernelExC", "cudaGraphLaunch"])
def test_kernels_that_may_overlap_are_no_flaw(call: str) -> None:
    made = with_ops(lambda ops: ops.with_columns(pl.col("duration_ns") + 2 * US))
    quiet = made.tables["api_calls"].filter(pl.col("name") != "cudaDeviceSynchronize")
    calls = quiet.with_columns(pl.lit(call).cast(pl.Categorical).alias("name"))
    assert flaws.flaws(replace(made, tables=made.tables | {"api_calls": calls})) == ()


def test_clocks_of_two_devices_that_differ_are_told_by_their_collectives() -> None:
    ranks = [Program(device) for device in (0, 1)]
    for rank in ranks:
        for _ in range(10):
            rank.launch(200 * US, "ncclDevKernel_AllReduce_Sum_f32")
            rank.work(200 * US)
    here, there = (rank.tables() for rank in ranks)
    other = there["gpu_ops"].with_columns(
        pl.col("start_ns") + 5 * MS, correlation=pl.lit(None, pl.Int64)
    )
    both = here | {"gpu_ops": pl.concat([here["gpu_ops"], other])}
    found = flaws.flaws(Capture("two", both, {}, "nsys"))
    assert "10 of 10 collectives ended on one device before they began" in found[0].what


def test_work_launched_before_the_recording_is_no_idle_time() -> None:
    # 100 kernels of 99 µs a step; those of the first were launched before the recording.
    tables = read(FLAWED / "diff_unlinked_as_idle.json.gz").tables
    diff = gpu.compare(tables, tables, "ProfilerStep")
    per_step = [time / diff.per[0] for time in (diff.a_ns, diff.busy_ns[0])]
    assert per_step == pytest.approx([9_999_800, 9_900_000], abs=100)


def test_the_backward_thread_of_2021_works_for_the_step() -> None:
    # 100 kernels per step: 99 µs each, but those that end a step's half.
    (series,) = series_table(read(FLAWED / "range_backward_thread_2021.json.gz").tables).to_dicts()
    assert (series["kernels"], series["busy_ns"]) == (100, 9_891_000)


@pytest.mark.parametrize(
    ("ranks", "asked"),
    [(["0 of 2", "1 of 2"], False), (["0 of 2"], True), (["0 of 4", "1 of 4"], True)],
)
def test_only_ranks_that_are_not_there_are_asked_for(ranks: list[str], asked: bool) -> None:
    captures = []
    for number, rank in enumerate(ranks):
        made = Program()
        for turn in range(20):
            made.launch(1 * MS)
            # Names of their own, so that no collective is matched among the ranks.
            made.launch(600 * US, f"ncclDevKernel_SendRecv_{number}_{turn}")
        captures.append(replace(made.capture(f"rank {number}"), conditions={"rank": rank}))
    first, *_ = conclude.diagnose(captures).findings
    assert first.id == "exposed-communication"
    assert any("all ranks" in advice for advice in first.next) == asked
