"""Captures are known by what they hold, and told apart from everything that is none."""

import gzip
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.captures.sniff import opened, recognised
from harness.ground.errors import CaptureError, HarnessError, ToolError
from tests.support.paths import DATA

REAL = {
    "nsys/streams.sqlite.zst": "nsys",
    "nsys/streams.nsys-rep": "nsys",
    "ncu/small.ncu-rep.zst": "ncu",
    "memory/graph.pickle.zst": "memory",
    "torch/graph.json.gz": "torch",
}


@pytest.mark.parametrize(("name", "kind"), REAL.items())
@pytest.mark.parametrize("wrap", [bytes, gzip.compress, zstandard.compress])
def test_kind_is_known_by_content_whatever_the_name_and_wrapping(
    name: str, kind: str, wrap: Any, tmp_path: Path
) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(wrap(unpacked(DATA / name)))
    assert recognised(path)[0].name == kind


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('{"segments": [], "device_traces": []}', "memory"),
        ('\n {\n "schemaVersion": 1, "traceEvents": []}', "torch"),
        ('[{"ph": "X"}]', "torch"),
    ],
)
def test_a_memory_snapshot_in_json_is_no_trace(text: str, kind: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    assert recognised(path)[0].name == kind


@pytest.mark.parametrize("wrap", [bytes, gzip.compress, zstandard.compress])
def test_json_of_rocprof_is_refused_by_its_first_bytes(wrap: Any, tmp_path: Path) -> None:
    path = tmp_path / "908_results.json"
    text = b'{"rocprofiler-sdk-tool":[{"metadata":{"node":{"id":0}}' + os.urandom(1 << 20)
    whole = wrap(text)
    path.write_bytes(whole[: len(whole) // 2])  # cut, which only reading on would find
    with pytest.raises(CaptureError, match="rocprofv3's own JSON is not read") as error:
        recognised(path)
    assert str(error.value) == (
        f"{path}: rocprofv3's own JSON is not read (of an AMD GPU, a trace of torch.profiler is)"
    )


@pytest.mark.parametrize("wrap", [gzip.compress, zstandard.compress])
def test_a_compressed_export_opens_as_a_database_and_leaves_nothing(
    wrap: Any, tmp_path: Path
) -> None:
    path = tmp_path / "export"
    path.write_bytes(wrap(unpacked(DATA / "nsys/streams.sqlite.zst")))
    with opened(path) as plain:
        connection = sqlite3.connect(plain)
        assert connection.execute("SELECT count(*) FROM StringIds").fetchone()[0] > 0
        connection.close()
        assert plain.parent.stat().st_mode & 0o077 == 0
    assert not plain.parent.exists()


def test_plain_files_and_torch_traces_are_opened_where_they_are(tmp_path: Path) -> None:
    path = tmp_path / "snapshot"
    path.write_bytes(unpacked(DATA / "memory/graph.pickle.zst"))
    with opened(path) as plain:
        assert plain == path
    with opened(DATA / "torch/graph.json.gz") as plain:
        assert plain == DATA / "torch/graph.json.gz"


def test_several_frames_are_one_file(tmp_path: Path) -> None:
    path = tmp_path / "frames"
    path.write_bytes(b"".join(map(zstandard.compress, [b"NVR\0", b"a" * 9000, b"b"])))
    with opened(path) as plain:
        assert plain.read_bytes() == b"NVR\0" + b"a" * 9000 + b"b"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_nsys_report_is_exported_by_nsys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "nsys"
    program.write_text('#!/bin/sh\nfor last; do :; done\ncp "$last" "${3#--output=}"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    report = DATA / "nsys/streams.nsys-rep"
    with opened(report) as plain:
        assert plain.read_bytes() == report.read_bytes()
    program.write_text("#!/bin/sh\necho no licence >&2\nexit 3\n")
    with pytest.raises(ToolError, match=r"failed: no licence \(export it"), opened(report):
        pass


def test_without_nsys_a_report_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with (
        pytest.raises(ToolError, match="`nsys export --type sqlite`"),
        opened(DATA / "nsys/streams.nsys-rep"),
    ):
        pass


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty file"),
        (gzip.compress(b""), "empty file"),
        (b"[project]", "not a capture"),
        (b"PK\x03\x04", r"not a capture \(readable are .*\.nsys-rep.*\.ncu-rep"),
        (gzip.compress(b"NVR\0" + bytes(9000))[:-9], r"ends early \(copy or record it again\)"),
        (zstandard.compress(b"NVR\0" + os.urandom(9000))[:-9], "ends early"),
        (zstandard.compress(b"NVR\0" + bytes(9000)) + b"tail", "damaged"),
    ],
    ids=["empty", "empty gzip", "text", "zip", "cut gzip", "cut zstd", "damaged zstd"],
)
def test_what_cannot_be_used_is_said_in_one_line(
    content: Any, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "bad"
    path.write_bytes(content)
    with pytest.raises(CaptureError, match=message) as error, opened(path):
        pass
    assert str(error.value).startswith(str(path))
    assert error.value.exit_code == 2


def test_missing_files_folders_and_pipes_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name, message in {
        "none": "no such file",
        ".": "regular file",
        "pipe": "regular file",
    }.items():
        with pytest.raises(CaptureError, match=message):
            recognised(tmp_path / name)


def test_a_bomb_is_stopped_at_the_bound(tmp_path: Path) -> None:
    path = tmp_path / "bomb"
    path.write_bytes(zstandard.compress(b"NVR\0" + bytes(40_000_000)))
    with pytest.raises(CaptureError, match="unpacks to more than 32 MB"), opened(path):
        pass


@settings(max_examples=60)
@given(
    st.sampled_from([b"", b"NVR\0", b"\x28\xb5\x2f\xfd", b"\x1f\x8b\x08", b"SQLite format 3\0"]),
    st.binary(max_size=200),
)
def test_no_bytes_raise_anything_else(
    tmp_path_factory: pytest.TempPathFactory, magic: bytes, rest: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "bytes"
    path.write_bytes(magic + rest)
    try:
        with opened(path) as plain:
            plain.read_bytes()
    except HarnessError as error:
        assert "\n" not in str(error)


def unpacked(path: Path) -> Any:
    content = path.read_bytes()
    if path.suffix == ".zst":
        return zstandard.decompress(content, max_output_size=1 << 26)
    return gzip.decompress(content) if path.suffix == ".gz" else content
