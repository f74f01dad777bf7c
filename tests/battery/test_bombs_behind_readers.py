"""Small files that are read in no time, and whose analysis or page would take minutes or gigabytes.

Each command either ends well within bounds or refuses the file in one line.
"""

import gzip
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from harness.evidence import tables as evidence
from tests.support.battery import Figures
from tests.support.evidence_folders import vouch
from tests.support.paths import ROOT
from tests.support.reports import COMMITTED

MOST_MB, MOST_CPU_S = 2048, 30
"""Memory and CPU time of a command with all that it starts."""
COUNT = 20_000


def launches(**own: Callable[[int], object]) -> Iterator[dict[str, object]]:
    """Yield a kernel and its launch COUNT times; ``own``: what differs, by the kernel's number."""
    for number in range(COUNT):
        known: dict[str, Any] = {"device": 0, "stream": 7, "thread": 1, "name": 0, "dur": 5}
        known |= {what: of(number) for what, of in own.items()}
        at = number * 4 * known["dur"]
        times = {"ph": "X", "pid": 0, "ts": at, "dur": known["dur"]}
        yield times | {
            "cat": "cuda_runtime",
            "name": "cudaLaunchKernel",
            "tid": known["thread"],
            "args": {"correlation": number + 1},
        }
        placed = {"device": known["device"], "stream": known["stream"], "grid": [1, 1, 1]}
        yield times | {
            "cat": "kernel",
            "name": f"kernel_{known['name']}",
            "tid": known["stream"],
            "ts": at + 8,
            "args": placed | {"correlation": number + 1, "block": [32, 1, 1]},
        }


def trial(number: int) -> str:
    """Return the kernel's name in rounds of 12 trials, each of which begins with a fill."""
    return "gemm" if number % 25 == 24 else ("FillFunctor", "tuned")[number % 25 % 2]


WIDE: dict[str, dict[str, Callable[[int], object]]] = {
    "a stream each": {"stream": lambda number: number},
    "a thread each": {"thread": lambda number: number},
    "a name each": {"name": lambda number: number},
    "rounds of trials on a thread each": {
        "thread": lambda number: number,
        "name": trial,
        "dur": lambda _: 40,
    },
    "thousands of GPUs": {"device": lambda number: number % 5000},
}
REFUSED = {"thousands of GPUs": "operations of 5,000 GPUs; at most 64 are told apart"}


@cache
def packed(wide: str) -> bytes:
    """Return a trace of WIDE as a file holds it, made once for all commands."""
    return gzip.compress(json.dumps({"traceEvents": [*launches(**WIDE[wide])]}).encode())


def ended(*words: str | Path) -> tuple[int, str, dict[str, float]]:
    """Run a command; return its exit code, what it said on stderr, and what it took."""
    begun = time.monotonic()
    command = subprocess.Popen(
        [sys.executable, "-m", "harness", *map(str, words)],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert command.stderr
    with command.stderr as stream:
        said = stream.read()
    _, status, used = os.wait4(command.pid, 0)
    command.returncode = os.waitstatus_to_exitcode(status)
    cpu_s = used.ru_utime + used.ru_stime
    took = {"peak_mb": used.ru_maxrss >> 10, "cpu_s": round(cpu_s, 1)}
    return command.returncode, said, took | {"wall_s": round(time.monotonic() - begun, 1)}


def check(took: dict[str, float]) -> None:
    assert took["peak_mb"] < MOST_MB
    assert took["cpu_s"] < MOST_CPU_S


@pytest.mark.parametrize("wide", WIDE)
@pytest.mark.parametrize("command", ["diagnose", "view", "diff"])
def test_a_wide_trace_takes_little(
    wide: str, command: str, tmp_path: Path, figures: Figures
) -> None:
    path = tmp_path / "trace.json.gz"
    path.write_bytes(packed(wide))
    more: dict[str, list[str | Path]] = {"view": ["-o", tmp_path / "view.html"], "diff": [path]}
    code, said, took = ended(command, path, *more.get(command, []))
    figures(bytes=path.stat().st_size, **took)
    if wide in REFUSED:
        assert said == f"harness: {path}: {REFUSED[wide]}\n"
        assert code == 2
    else:
        assert (code, said) == (0, "")
    check(took)


@pytest.fixture(scope="module")
def dense(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A committed report with a million samples more, which take no room."""
    source = COMMITTED[0]
    report = tmp_path_factory.mktemp("dense") / source.parent.name / source.name
    shutil.copytree(source, report)
    path = report / "evidence" / "samples.parquet"
    samples = pl.read_parquet(path)
    row = samples.head(1)
    many = pl.DataFrame({name: row[name].new_from_index(0, 1_000_000) for name in samples.columns})
    version = {"evidence": str(evidence.VERSION)}
    pl.concat([samples, many]).write_parquet(path, compression="zstd", metadata=version)
    vouch(report / "evidence")
    return report


@pytest.mark.parametrize("command", ["check", "report", "contribute"])
def test_a_report_of_many_rows_that_take_no_room(
    command: str, dense: Path, tmp_path: Path, figures: Figures
) -> None:
    report = shutil.copytree(dense, tmp_path / dense.parent.name / dense.name)
    words: dict[str, list[str | Path]] = {
        "check": ["check", report.parent.name, "--report", report],
        "report": ["report", report.parent.name, "--report", report],
        "contribute": ["contribute", "--check", report],
    }
    code, said, took = ended(*words[command])
    figures(bytes=sum(path.stat().st_size for path in (report / "evidence").iterdir()), **took)
    assert code in (0, 1, 2)
    assert said.count("\n") <= 1
    check(took)


def header(name: str, kind: bytes, size: int) -> bytes:
    member = tarfile.TarInfo(name)
    member.type, member.size = kind, size
    return member.tobuf(tarfile.GNU_FORMAT)


ARCHIVES: dict[str, tuple[bytes, int]] = {
    "a name of six gigabytes": (header("", tarfile.GNUTYPE_LONGNAME, 6 << 30), 6 << 30),
    "a pax header of gigabytes": (header("x", tarfile.XHDTYPE, 6 << 30), 6 << 30),
    "a file of gigabytes": (header("reports/a/b/README.md", tarfile.REGTYPE, 6 << 30), 6 << 30),
    "nothing, without end": (b"", 6 << 30),
}
"""What an archive begins with, and how many zeros follow."""


@pytest.mark.parametrize("name", ARCHIVES)
def test_an_archive_takes_little(name: str, tmp_path: Path, figures: Figures) -> None:
    path, (head, zeros) = tmp_path / "contribution.tar.gz", ARCHIVES[name]
    block = bytes(1 << 24)
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(head)
        for _ in range(zeros >> 30):  # a sixty-fourth: what follows is not looked at
            file.write(block)
    code, said, took = ended("contribute", "--check", path)
    figures(bytes=path.stat().st_size, **took)
    assert code == 2
    assert said.startswith(f"harness: {path}: ")
    assert said.count("\n") == 1
    check(took)


def test_an_archive_of_pax_records_takes_little(tmp_path: Path, figures: Figures) -> None:
    """tarfile looks through all records for each of some keys."""
    path, content = tmp_path / "contribution.tar.gz", b"9 a=bcde\n" * (1 << 20)
    with tarfile.open(path, "w:gz") as packed:
        member = tarfile.TarInfo("x")
        member.type, member.size = tarfile.XHDTYPE, len(content)
        packed.addfile(member, io.BytesIO(content))
    code, said, took = ended("contribute", "--check", path)
    figures(bytes=path.stat().st_size, **took)
    assert (code, said.count("\n")) == (2, 1)
    check(took)
