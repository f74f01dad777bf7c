"""A command that goes on in a bounded copy: its output, its end, and what ends it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness import cli
from tests.support.paths import ROOT

PROGRAM = """
import os, signal, sys, tempfile, time
from pathlib import Path
from harness.ground import bounded, confined
from harness.ground.confined import Budget
from harness.ground.errors import HarnessError
FILE = Path("some.capture")
def work():
    {work}
try:
    code = bounded.run(work)
except HarnessError as error:
    print(f"harness: {{error}}", file=sys.stderr)
    code = error.exit_code
raise SystemExit(code)
"""
MORE = "(if you trust the file, HARNESS_READ_BUDGET=4 allows four times as much memory and time)"


@pytest.mark.parametrize(
    ("line", "bounded"),
    [
        ("check --claim faster 9", True),
        ("report --join A B", True),
        ("report 9 --tables-only", True),
        ("contribute trace.json --as 9/small/fast", True),
        ("contribute --check report.tar.gz", True),
        ("contribute --push sftp://host/captures", False),
        ("contribute --report FOLDER --fetch=sftp://host/captures", False),
        ("diagnose trace.json", True),
        ("diagnose --test host-bound -- python train.py", False),
        ("doctor --clean", False),
        ("run 9", False),
        ("", False),
    ],
)
def test_what_reads_the_files_of_others_is_bounded(line: str, *, bounded: bool) -> None:
    assert cli.is_bounded(line.split()) == bounded


def started(*work: str) -> "subprocess.Popen[str]":
    return started_as(PROGRAM.format(work="\n    ".join(work)))


def started_as(text: str) -> "subprocess.Popen[str]":
    # A shell that runs the tests in the background has them ignore SIGINT.
    heeds = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
    return subprocess.Popen(
        [sys.executable, "-c", heeds + text],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(*work: str) -> tuple[int, str, str]:
    with started(*work) as program:
        out, err = program.communicate(timeout=60)
    return program.returncode, out, err


def test_output_and_exit_code_are_the_copy_s() -> None:
    work = ('print("out", flush=True)', 'print("err", file=sys.stderr)', "return 3")
    assert ended(*work) == (3, "out\n", "err\n")


def test_what_ends_the_copy_ends_the_command() -> None:
    code, _, err = ended("raise KeyError('a bug')")
    assert code == 1
    assert err.endswith("KeyError: 'a bug'\n")
    code, _, err = ended("os.write(2, b'a dump'); os.kill(os.getpid(), signal.SIGSEGV)")
    assert code == 1
    assert err.startswith("harness: native code gave up: Segmentation fault (")
    assert err.count("\n") == 1


def test_a_limit_of_the_user_s_is_named() -> None:
    limit = "import resource; resource.setrlimit(resource.RLIMIT_AS, (1 << 32, 1 << 32))"
    text = PROGRAM.format(work="held = bytearray(1 << 40)").replace("try:\n", f"{limit}\ntry:\n")
    done = subprocess.run(
        [sys.executable, "-c", text], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr == "harness: takes more memory than ulimit allows (raise it)\n"


@pytest.mark.parametrize(
    "spend",
    [
        "held = bytearray(2 << 30)",
        "import polars; polars.Series([0], dtype=polars.Int64).new_from_index(0, 1 << 28)",
        "held = [bytearray(1 << 20) for _ in range(2000)]",
        "try: held = bytearray(2 << 30)\n    except MemoryError: raise ImportError('as a library')",
        "os.kill(os.getpid(), signal.SIGKILL)",  # as the kernel does where all memory is spent
    ],
)
def test_memory_beyond_what_a_file_may_take_is_refused_in_one_line(spend: str) -> None:
    limit = "bounded.allow(FILE, Budget(memory=300 << 20, cpu_s=20, wall_s=60))"
    code, out, err = ended(limit, 'print("noise", file=sys.stderr)', spend, "return 0")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("harness: some.capture: what it holds takes more than ")
    assert err.endswith(f" MB of memory {MORE}\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    "spend",
    [
        "while True: pass",
        "import zlib; [zlib.crc32(bytes(1 << 26)) for _ in range(10**6)]",
        # which no signal interrupts
        "signal.signal(signal.SIGXCPU, signal.SIG_IGN)\n    while True: pass",
    ],
)
def test_time_beyond_what_a_file_may_take_is_refused_in_one_line(spend: str) -> None:
    limit = "bounded.allow(FILE, Budget(memory=1 << 30, cpu_s=1, wall_s=60))"
    code, out, err = ended(limit, spend, "return 0")
    line = f"harness: some.capture: what it holds takes more than 1 s of CPU time {MORE}\n"
    assert (code, out, err) == (2, "", line)


def test_a_reader_has_a_budget_of_its_own() -> None:
    asked = "tests.test_confined.computes, FILE, Path(tempfile.mkdtemp()), {}"
    code, out, err = ended(
        "bounded.allow(FILE, Budget(memory=1 << 30, cpu_s=90, wall_s=60))",
        "import tests.test_confined",
        f"confined.call({asked}, Budget(memory=1 << 30, cpu_s=1, wall_s=60))",
    )
    line = f"harness: some.capture: reading it takes more than 1 s of CPU time {MORE}\n"
    assert (code, out, err) == (2, "", line)


def test_a_reader_starts_though_the_command_has_computed() -> None:
    """A copy of a process whose threads are at work can hang: its locks stay closed for ever."""
    asked = "os.getpid, FILE, Path(tempfile.mkdtemp()), {}"
    code, out, err = ended(
        "import polars as pl",
        "rows = pl.DataFrame({'a': range(1 << 20)})",
        "rows.group_by(pl.col('a') % 7).len().join(rows, on='a')",
        f"print(confined.call({asked}, Budget(memory=1 << 30, cpu_s=9, wall_s=20)) > 0)",
        "return 0",
    )
    assert (code, out, err) == (0, "True\n", "")


def test_two_files_may_take_what_both_may() -> None:
    limits = (
        "known = Budget(memory=300 << 20, cpu_s=20, wall_s=60)",
        "bounded.allow(FILE, known)",
        "bounded.allow(FILE.with_name('other'), known)",
    )
    assert ended(*limits, "return len(bytearray(450 << 20)) >> 27")[0] == 3
    again = (*limits[:2], limits[1])
    assert ended(*again, "return len(bytearray(450 << 20)) >> 27")[0] == 2


def test_a_process_that_is_no_copy_is_not_limited(tmp_path: Path) -> None:
    import resource

    from harness.ground import bounded

    before = resource.getrlimit(resource.RLIMIT_DATA)
    bounded.allow(tmp_path)
    assert resource.getrlimit(resource.RLIMIT_DATA) == before


@pytest.mark.parametrize(
    "ending",
    [
        "return 0",
        "raise KeyError",
        "held = bytearray(1 << 40)",
        "os.kill(os.getpid(), signal.SIGKILL)",
    ],
)
def test_no_temporary_file_stays(ending: str, tmp_path: Path) -> None:
    work = ("tempfile.mkdtemp()", ending)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(tmp_path))
        ended(*work)
    assert list(tmp_path.iterdir()) == []


def heeding(number: signal.Signals) -> tuple[str, ...]:
    """Return work that waits for a signal, and then whether it comes again."""
    return (
        "seen = []",
        f"signal.signal({int(number)}, lambda *_: (seen.append(1), print('heeded', flush=True)))",
        'print("waits", flush=True)',
        "until = time.monotonic() + 30",
        "while not seen and time.monotonic() < until: time.sleep(0.05)",
        "time.sleep(0.5)",
        "return 7",
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_reaches_the_copy_once(number: signal.Signals) -> None:
    with started(*heeding(number)) as program:
        assert program.stdout
        assert program.stdout.readline() == "waits\n"
        program.send_signal(number)
        out, _ = program.communicate(timeout=60)
    assert (program.returncode, out) == (7, "heeded\n")


def test_a_signal_before_the_first_process_heeds_it_waits() -> None:
    late = "heeded = endings.heeded; endings.heeded = lambda: (time.sleep(0.5), heeded())[1]"
    text = PROGRAM.format(work="\n    ".join(heeding(signal.SIGTERM))).replace(
        "try:\n", f"from harness.ground import endings\n{late}\ntry:\n"
    )
    with started_as(text) as program:
        assert program.stdout
        assert program.stdout.readline() == "waits\n"
        program.terminate()
        out, _ = program.communicate(timeout=60)
    assert (program.returncode, out) == (7, "heeded\n")


def test_a_copy_does_not_outlive_the_command() -> None:
    with started("print(os.getpid(), flush=True)", "time.sleep(60)") as program:
        assert program.stdout
        copy = int(program.stdout.readline())
        program.kill()
    until = time.monotonic() + 10
    while _runs(copy) and time.monotonic() < until:
        time.sleep(0.02)
    assert not _runs(copy)


def _runs(process: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


def test_streams_that_the_caller_closed_stay_closed() -> None:
    command = [sys.executable, "-c", PROGRAM.format(work="return 0 if sys.stderr is None else 1")]
    closing = subprocess.run(
        ["sh", "-c", '"$@" 2>&- >&- <&-', "sh", *command], cwd=ROOT, check=False, env=os.environ
    )
    assert closing.returncode == 0


def test_where_there_are_no_files_in_memory_the_work_is_done_here() -> None:
    text = PROGRAM.format(work="return os.getpid() - first").replace(
        "try:\n", "del os.memfd_create\nfirst = os.getpid()\ntry:\n"
    )
    done = subprocess.run([sys.executable, "-c", text], cwd=ROOT, check=False)
    assert done.returncode == 0
