"""The reader of ncu reports against ncu's own command line, and against cut and foreign files."""

import csv
import functools
import gzip
import itertools
import json
import math
import os
import random
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from harness.analysis.diagnose import conclude
from harness.captures import sniff
from harness.captures.ncu import framing
from harness.captures.ncu import read as ncu
from harness.extract import door
from harness.ground.errors import CaptureError, ToolError
from tests.support import capture_seeds, mutated_captures
from tests.support.commands_in_process import in_process
from tests.support.paths import DATA

DATA = DATA / "ncu"
LAUNCH = (
    '{"name": "k", "grid": "", "block": "", "metrics": %s, "unavailable": [],'
    ' "instructions": [], "rules": []}'
)


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
    lines = gzip.decompress((DATA / "small.csv.gz").read_bytes()).decode().splitlines()
    start = next(index for index, line in enumerate(lines) if line.startswith('"ID"'))
    units, *rows = csv.DictReader(lines[start:])
    return units, rows


def bare(name: str) -> str:
    """A name without what ncu's command line leaves out: torch's namespaces, casts of constants."""
    return re.sub(r"\b(at|native)::|\((int|bool|unsigned long)\)", "", name)


def test_launches_agree_with_ncu(counters: pl.DataFrame, printed: Any) -> None:
    _, rows = printed
    ours = counters.unique("launch").sort("launch").select("name", "grid", "block").rows()
    shape = str.maketrans({"(": "", ")": "", " ": ""})
    assert [bare(name) for name, _, _ in ours] == [bare(row["Kernel Name"]) for row in rows]
    assert [(grid, block) for _, grid, block in ours] == [
        (row["Grid Size"].translate(shape), row["Block Size"].translate(shape)) for row in rows
    ]


def test_every_metric_agrees_with_ncu_to_the_last_digit(
    counters: pl.DataFrame, printed: Any
) -> None:
    units, rows = printed
    compared = 0
    for launch, metric, unit, value in counters.select("launch", "metric", "unit", "value").rows():
        text = rows[launch].get(metric, "").replace(",", "")
        if not text:
            continue
        digits = len(text.partition(".")[2])
        assert f"{value:.{digits}f}" == text, metric
        assert unit == units[metric] or metric == "idc__requests.sum", metric  # printed without
        compared += 1
    assert compared == counters.height > 2000 * len(rows)


def test_counters_without_a_value_are_told_with_the_verdict(
    report: Path, counters: pl.DataFrame, tmp_path: Path
) -> None:
    """A MIG instance that shares DRAM with others has NaN for its counters."""
    of_first = counters.filter(launch=0)
    values = dict(of_first.select("metric", "value").iter_rows())
    content = report.read_bytes()
    for name in ("dram__bytes_read.sum", "dram__cycles_active.min"):  # the second is not kept
        assert content.count(struct.pack("<d", values[name])) == 1
        content = content.replace(struct.pack("<d", values[name]), struct.pack("<d", math.nan))
    path = tmp_path / "shared.ncu-rep"
    path.write_bytes(content)
    (capture,) = door.capture(path).captures.values()
    (row,) = capture.tables["dropped"].iter_rows(named=True)
    assert (row["table"], row["count"]) == ("counters", 1)
    told = conclude.diagnose([capture]).recording
    assert told
    assert told.text.endswith("capture: not whole")
    assert "counters are not available: dram__bytes_read.sum;" in told.flaws[0].text
    assert not told.breaks
    sound = ncu.read(report)["dropped"]
    assert sound.is_empty()


def message(content: bytes) -> bytes:
    return len(content).to_bytes(4, "little") + content


def field(number: int, value: int) -> bytes:
    """A varint field of a protobuf message."""
    out = [number << 3]
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


HEAD = b"NVR\0" + message(field(1, 7))


def ends(report: bytes) -> Iterator[int]:
    """Where the blocks end, found by a pattern for the fields that ncu writes around the size."""
    at = len(HEAD)
    while at < len(report):
        size = int.from_bytes(report[at : at + 4], "little")
        header = report[at + 4 : at + 4 + size]
        payload = re.search(rb"\x28([\x80-\xff]*[\x00-\x7f])\x32", header)  # fields 5 and 6
        assert payload is not None
        bits = (byte & 0x7F for byte in reversed(payload[1]))
        at += 4 + size + functools.reduce(lambda value, low: value << 7 | low, bits)
        yield at


def test_every_cut_is_refused_but_one_between_blocks_which_shows_in_the_count(
    report: Path, tmp_path: Path
) -> None:
    whole = report.read_bytes()
    between = [len(HEAD), *ends(whole)]
    assert between[-1] == len(whole)
    assert framing.kernel_count(report) == 4
    cut = tmp_path / "cut.ncu-rep"
    step = len(whole) // 40
    near = {end + by for end in between for by in (-1, 1, 4)}
    lengths = {0, 1, 3, 4, 7, *range(40, len(whole), step), *near} - set(between)
    with cut.open("wb") as file:
        file.write(whole)
        for length in sorted((n for n in lengths if n < len(whole)), reverse=True):
            file.truncate(length)
            with pytest.raises(CaptureError):
                framing.kernel_count(cut)
    cut.write_bytes(whole[: between[-2]])
    assert framing.kernel_count(cut) == 3


def test_replayed_ranges_and_graphs_count_and_have_no_shape(report: Path, tmp_path: Path) -> None:
    whole = report.read_bytes()
    session = whole[len(HEAD) : next(ends(whole))]
    payload = message(field(1, 5) + field(2, 9))  # ThreadID and APICallID, which must be there
    made = tmp_path / "ranges.ncu-rep"
    blocks = [message(field(kind, 1) + field(5, len(payload))) + payload for kind in (7, 8, 9)]
    made.write_bytes(HEAD + session + b"".join(blocks))
    assert framing.kernel_count(made) == 3
    assert ncu.read(made)["counters"].is_empty()


def test_a_report_of_no_kernels_is_refused(tmp_path: Path) -> None:
    empty = tmp_path / "empty.ncu-rep"
    empty.write_bytes(HEAD)
    with pytest.raises(CaptureError, match="no kernels were profiled"):
        ncu.read(empty)


def test_fewer_kernels_than_announced_are_refused(report: Path, tmp_path: Path) -> None:
    more = tmp_path / "more.ncu-rep"
    more.write_bytes(report.read_bytes() + message(field(2, 1) + field(5, 0)))
    with pytest.raises(CaptureError, match="of 5 kernels are readable"):
        ncu.read(more)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"NVR\0",
        b"NVR\0\xff\xff\xff\xff",
        b"PK\3\4",
        b"x" * 99,
        HEAD + message(b"\x80" * 12),
        HEAD + message(b"\x0a\x7f"),
        HEAD + message(b"\x0b"),
        HEAD + message(b"\x09"),
        HEAD + message(field(5, 1 << 63)),
    ],
)
def test_other_and_damaged_files_are_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "other.ncu-rep"
    path.write_bytes(content)
    with pytest.raises(CaptureError):
        framing.kernel_count(path)


def test_a_header_may_hold_fields_of_every_encoding(tmp_path: Path) -> None:
    fixed = (b"\x11" + b"\xff" * 8, b"\x1d" + b"\xff" * 4)  # of 64 and of 32 bits
    text = bytes([4 << 3 | 2, 3]) + b"abc"
    parts = (field(1, 300), *fixed, text, field(1, (1 << 63) + 5), text)
    content = b"".join(parts)
    assert framing.fields(tmp_path, content) == {1: [300, (1 << 63) + 5], 4: [b"abc", b"abc"]}
    within = set(range(len(content))) - set(itertools.accumulate(map(len, parts), initial=0))
    for length in within:
        with pytest.raises(CaptureError, match="a damaged block header"):
            framing.fields(tmp_path, content[:length])


def test_headers_are_bounded_in_number_and_length(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(framing, "_MOST_BLOCKS", 3)
    monkeypatch.setattr(framing, "_MOST_HEADER_BYTES", 4)
    path = tmp_path / "made.ncu-rep"
    for blocks, size in ((3, 4), (4, 4), (1, 5)):
        header = field(2, 1) + b"\x2a" + bytes([size - 4]) + bytes(size - 4)
        path.write_bytes(HEAD + message(header) * blocks)
        if (blocks, size) == (3, 4):
            assert framing.kernel_count(path) == 3
        else:
            with pytest.raises(CaptureError, match=r"more than 3 blocks|a header of 5 bytes"):
                framing.kernel_count(path)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("none", "", "pipe"):
        with pytest.raises(CaptureError):
            ncu.read(tmp_path / name)


@pytest.mark.parametrize(
    ("child", "told"),
    [
        ("kill -ABRT $$", "NVIDIA's reader failed: Aborted"),
        ("echo no such module >&2; exit 3", "NVIDIA's reader failed: no such module"),
        ("exec sleep 60", "NVIDIA's reader failed: no end within 1 s"),
        ("exit 0", "no readable rows"),
        ("echo '{' > $4", "no readable rows"),
        ("echo '[1]' > $4", "no readable rows"),
        (
            f"echo '{LAUNCH % '[[1, 2]]'}' > $4",
            "no readable",
        ),
        (": > $4", "0 of 4 kernels are readable"),
        (f"yes '{LAUNCH % '[]'}' | head -9 > $4", "9 of 4"),
    ],
)
def test_a_reader_that_dies_hangs_or_lies_is_told(
    report: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, child: str, told: str
) -> None:
    fake = tmp_path / "python"
    fake.write_text(f"#!/bin/sh\n{child}\n")
    fake.chmod(0o755)
    monkeypatch.setattr(ncu, "_PYTHON", str(fake))
    monkeypatch.setattr(ncu, "_DEADLINE_S", 1.0)
    with pytest.raises(CaptureError, match=told):
        ncu.read(report)


@pytest.mark.parametrize("number", [0, 17, 58])
def test_a_damaged_report_is_told_in_words_of_the_report(tmp_path: Path, number: int) -> None:
    path = tmp_path / "damaged.ncu-rep"
    path.write_bytes(
        mutated_captures.of_bytes(capture_seeds.report(), random.Random(f"ncu {number}"))
    )
    told = {
        0: "damaged: the name of kernel 1 cannot be read (profile it again, or copy it again)",
        17: "damaged: the metrics of kernel 0 cannot be read (profile it again, or copy it again)",
        58: "0 of 9 kernels are readable",
    }
    with pytest.raises(CaptureError) as refused:
        ncu.read(path)
    assert str(refused.value) == f"{path}: {told[number]}"


@pytest.mark.parametrize("value", ["1e308", "-1e308", "1e-300", "1e61"])
def test_counts_that_nothing_measures_are_refused(
    report: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    rows = tmp_path / "rows"
    metrics = f'[["gpu__time_duration.sum", "ns", {value}]]'
    rows.write_text(f"{LAUNCH % metrics}\n" * 4)
    monkeypatch.setattr(ncu, "rows_of", lambda _path, _folder: rows)
    with in_process(), pytest.raises(CaptureError) as refused:
        door.opened(str(report))
    what = f"a value of {float(value):g}, which nothing measures, in the table counters"
    assert str(refused.value) == f"{report}: {what}"


@pytest.mark.parametrize("count", [1 << 63, 1 << 64, "x", [1]])
def test_counts_that_are_none_are_refused(
    report: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: object
) -> None:
    row = ["MOV R1, R2", "", 0, count, 0, "", 0]
    launch = json.loads(LAUNCH % "[]") | {"instructions": [row, [*row[:3], 1, 0, "", 0]]}
    rows = tmp_path / "rows"
    rows.write_text(f"{json.dumps(launch)}\n" * 4)
    monkeypatch.setattr(ncu, "rows_of", lambda _path, _folder: rows)
    with pytest.raises(CaptureError, match="NVIDIA's reader left no readable rows"):
        ncu.read(report)


def test_without_nvidias_reader_the_remedy_is_told(
    report: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(ToolError, match="pip install ncu-report"):
        ncu.read(report)
