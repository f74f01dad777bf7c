"""Compressed files give their content whole, or an error; never a part as if it were all."""

import bz2
import gzip
import random
from pathlib import Path

import pytest
import zstandard

from harness.captures.formats.compressed import blocks
from harness.ground import confined
from harness.ground.errors import CaptureError

CONTENT = random.Random(1).randbytes(30_000) + bytes(200_000)
ZSTD = zstandard.ZstdCompressor(write_checksum=True)
COMPRESSED = {"gzip": gzip.compress(CONTENT), "zstd": ZSTD.compress(CONTENT)}


def content(path: Path, data: bytes, size: int = 1000) -> bytes:
    path.write_bytes(data)
    return b"".join(blocks(path, size))


@pytest.mark.parametrize("data", [CONTENT, *COMPRESSED.values()], ids=["plain", *COMPRESSED])
@pytest.mark.parametrize("size", [1, 1000, 1 << 20])
def test_the_name_does_not_matter(tmp_path: Path, data: bytes, size: int) -> None:
    if size > 1 or data is not CONTENT:
        assert content(tmp_path / "trace.bin", data, size) == CONTENT


@pytest.mark.parametrize("data", [b"", b"x", b"\x1f", b"\x28\xb5", bz2.compress(b"x")])
def test_what_is_not_compressed_is_given_as_it_is(tmp_path: Path, data: bytes) -> None:
    assert content(tmp_path / "trace.gz", data) == data


@pytest.mark.parametrize("data", COMPRESSED.values(), ids=COMPRESSED)
def test_parts_one_after_another_are_one_content(tmp_path: Path, data: bytes) -> None:
    assert content(tmp_path / "trace", data + data) == CONTENT + CONTENT


@pytest.mark.parametrize("data", COMPRESSED.values(), ids=COMPRESSED)
def test_a_part_is_refused(tmp_path: Path, data: bytes) -> None:
    ends = [*range(5, 100, 7), *range(100, len(data), 1000), *range(len(data) - 20, len(data))]
    for end in ends:
        with pytest.raises(CaptureError):
            content(tmp_path / "trace", data[:end])


@pytest.mark.parametrize("data", COMPRESSED.values(), ids=COMPRESSED)
def test_damage_is_refused_or_harmless(tmp_path: Path, data: bytes) -> None:
    chance = random.Random(2)
    refused = 0
    for _ in range(100):
        damaged = bytearray(data)
        damaged[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        try:
            assert content(tmp_path / "trace", bytes(damaged)) == CONTENT
        except CaptureError:
            refused += 1
    assert refused > 90


@pytest.mark.parametrize("data", COMPRESSED.values(), ids=COMPRESSED)
def test_garbage_at_the_end_is_refused(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(CaptureError):
        content(tmp_path / "trace", data + b"garbage")


@pytest.mark.parametrize("data", COMPRESSED.values(), ids=COMPRESSED)
def test_blocks_stay_small_however_well_it_was_compressed(
    tmp_path: Path, data: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(confined.VARIABLE, "9")
    compress = gzip.compress if data.startswith(b"\x1f") else ZSTD.compress
    path = tmp_path / "bomb"
    path.write_bytes(compress(bytes(100 << 20)))
    assert path.stat().st_size < 200_000
    assert max(len(block) for block in blocks(path, 1 << 20)) <= 33 << 20


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing", Path("/dev/zero")):
        with pytest.raises(CaptureError, match=r"no such file|not a regular file"):
            list(blocks(path, 1000))


@pytest.mark.parametrize("field", ["FEXTRA", "FNAME", "FCOMMENT"])
def test_a_long_gzip_header_is_read_or_refused_in_one_line(tmp_path: Path, field: str) -> None:
    whole = COMPRESSED["gzip"]
    flag, most = {"FEXTRA": (4, 65_535), "FNAME": (8, 1 << 20), "FCOMMENT": (16, 1 << 20)}[field]
    said = []
    for size in (100, 65_535, 100_000, 400_000, 1 << 19, 1 << 20):
        if size > most:
            continue
        text = b"a" * size
        more = size.to_bytes(2, "little") + text if field == "FEXTRA" else text + b"\0"
        data = whole[:3] + bytes([flag]) + whole[4:10] + more + whole[10:]
        assert gzip.decompress(data) == CONTENT
        try:
            assert content(tmp_path / "trace", data) == CONTENT
        except CaptureError as error:
            said.append(error.what)
    assert said == ([] if field == "FEXTRA" else ["a gzip header of more than 512 KB"] * 2)
