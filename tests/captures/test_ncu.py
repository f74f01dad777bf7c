"""The reader of ncu reports against ncu's own command line, and against cut and foreign files."""

import csv
import re
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from harness.captures import ncu, sniff
from harness.errors import CaptureError

DATA = Path(__file__).parents[1] / "data" / "ncu"


@pytest.fixture(scope="module")
def report() -> Iterator[Path]:
    with sniff.opened(DATA / "small.ncu-rep.zst") as plain:
        yield plain


@pytest.fixture(scope="module")
def counters(report: Path) -> pl.DataFrame:
    return ncu.read(report)["counters"].with_columns(
        pl.col("name", "metric", "unit", "grid", "block").cast(pl.String)
    )


@pytest.fixture(scope="module")
def printed() -> tuple[dict[str, str], list[dict[str, str]]]:
    """What `ncu --page raw --csv` printed: units by column, then a row a launch."""
    lines = (DATA / "small.csv").read_text().splitlines()
    start = next(index for index, line in enumerate(lines) if line.startswith('"ID"'))
    units, *rows = csv.DictReader(lines[start:])
    return units, rows


def bare(name: str) -> str:
    """A name without what ncu's command line leaves out: torch's namespaces, casts of constants."""
    return re.sub(r"\b(at|native)::|\((int|bool|unsigned long)\)", "", name)


def test_launches_agree_with_ncu(counters: pl.DataFrame, printed) -> None:
    _, rows = printed
    ours = counters.unique("launch").sort("launch").select("name", "grid", "block").rows()
    shape = str.maketrans({"(": "", ")": "", " ": ""})
    assert [bare(name) for name, _, _ in ours] == [bare(row["Kernel Name"]) for row in rows]
    assert [(grid, block) for _, grid, block in ours] == [
        (row["Grid Size"].translate(shape), row["Block Size"].translate(shape)) for row in rows
    ]


def test_every_metric_agrees_with_ncu_to_the_last_digit(counters: pl.DataFrame, printed) -> None:
    units, rows = printed
    compared = 0
    for launch, metric, unit, value in counters.select("launch", "metric", "unit", "value").rows():
        text = rows[launch].get(metric, "").replace(",", "")
        if not text:
            continue
        digits = len(text.partition(".")[2])
        assert f"{value:.{digits}f}" == text, metric
        assert unit == units[metric], metric
        compared += 1
    assert compared > 60 * len(rows)


def test_every_cut_is_refused(report: Path, tmp_path: Path) -> None:
    whole = report.read_bytes()
    cut = tmp_path / "cut.ncu-rep"
    for length in [0, 1, 3, 4, 7, *range(40, len(whole), len(whole) // 40), len(whole) - 1]:
        cut.write_bytes(whole[:length])
        with pytest.raises(CaptureError):
            ncu.kernel_count(cut) or ncu.read(cut)


def test_a_report_of_no_kernels_is_refused(report: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty.ncu-rep"
    length = int.from_bytes(report.read_bytes()[4:8], "little")
    empty.write_bytes(report.read_bytes()[: 8 + length])
    with pytest.raises(CaptureError, match="no kernels were profiled"):
        ncu.read(empty)


@pytest.mark.parametrize("content", [b"", b"NVR\0", b"NVR\0\xff\xff\xff\xff", b"PK\3\4", b"x" * 99])
def test_other_files_are_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "other.ncu-rep"
    path.write_bytes(content)
    with pytest.raises(CaptureError):
        ncu.read(path)


def test_a_reader_that_dies_is_told(
    report: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dying = tmp_path / "python"
    dying.write_text("#!/bin/sh\nkill -ABRT $$\n")
    dying.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(dying))
    with pytest.raises(CaptureError, match="NVIDIA's reader failed: SIGABRT"):
        ncu.read(report)
