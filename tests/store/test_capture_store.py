"""The content-addressed store: what arrives is what was recorded, or it is said to be missing."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import fsspec
import pytest

from harness.evidence.capture_list import KeptCapture
from harness.ground.errors import ToolError, UsageError
from harness.store import capture_store


def described(name: str, content: bytes) -> KeptCapture:
    sha256 = hashlib.sha256(content).hexdigest()
    return KeptCapture(
        name=name,
        sha256=sha256,
        bytes=len(content),
        in_git=False,
        cell="small.fast.torch.r0",
        artifact="trace.json.gz",
        artifact_sha256=sha256,
        artifact_bytes=len(content),
    )


def stored(store: Path, tmp_path: Path, *contents: bytes) -> list[KeptCapture]:
    captures = []
    for number, content in enumerate(contents):
        captures.append(described(f"{number}.json.gz", content))
        (tmp_path / "source").write_bytes(content)
        capture_store.add(store, tmp_path / "source", captures[-1].sha256)
    return captures


def files_of(store: Path) -> dict[str, bytes]:
    return {
        path.relative_to(store).as_posix(): path.read_bytes()
        for path in store.rglob("*")
        if path.is_file()
    }


@pytest.fixture(params=["folder", "memory"])
def remote(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A place to keep captures: a folder, and a file system that only fsspec knows."""
    if request.param == "folder":
        return str(tmp_path / "remote")
    return f"memory://{tmp_path.name}"


def test_what_is_pushed_comes_back_byte_for_byte(remote: str, tmp_path: Path) -> None:
    here, other = tmp_path / "here", tmp_path / "other"
    captures = stored(here, tmp_path, b"one", b"two" * 1_000_000)
    assert capture_store.push(captures, here, remote).copied == captures
    assert capture_store.fetch(captures, remote, other).copied == captures
    assert files_of(other) == files_of(here)
    assert set(files_of(other)) == {f"{c.sha256[:2]}/{c.sha256}" for c in captures}


def test_a_file_that_stands_is_not_copied_again(remote: str, tmp_path: Path) -> None:
    here, other = tmp_path / "here", tmp_path / "other"
    captures = stored(here, tmp_path, b"one")
    capture_store.push(captures, here, remote)
    capture_store.fetch(captures, remote, other)
    place = other / capture_store.relative(captures[0].sha256)
    written = place.stat().st_ino
    assert capture_store.push(captures, here, remote).already_there == captures
    assert capture_store.fetch(captures, remote, other).already_there == captures
    assert place.stat().st_ino == written


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"onf", "sha256 is not the recorded one"),
        (b"on", "size is not the recorded 3 bytes"),
        (b"one and more", "size is not the recorded 3 bytes"),
    ],
)
def test_a_damaged_file_does_not_arrive(
    remote: str, tmp_path: Path, content: bytes, reason: str
) -> None:
    here, other = tmp_path / "here", tmp_path / "other"
    captures = stored(here, tmp_path, b"one", b"two")
    capture_store.push(captures, here, remote)
    place = f"{remote}/{capture_store.relative(captures[0].sha256)}"
    with fsspec.open(place, "wb") as file:
        file.write(content)
    transfer = capture_store.fetch(captures, remote, other)
    assert transfer.missing == [(captures[0], f"{reason} at {remote}")]
    assert transfer.copied == captures[1:]
    assert set(files_of(other).values()) == {b"two"}


def test_a_capture_that_is_nowhere_is_named(remote: str, tmp_path: Path) -> None:
    here = tmp_path / "here"
    captures = [*stored(here, tmp_path, b"one"), described("gone.json.gz", b"gone")]
    pushed = capture_store.push(captures, here, remote)
    assert pushed.copied == captures[:1]
    assert pushed.missing == [(captures[1], f"missing in {here}, and not at {remote}")]
    fetched = capture_store.fetch(captures, remote, tmp_path / "other")
    assert fetched.missing == [(captures[1], f"missing at {remote}")]


def test_a_damaged_local_file_is_not_pushed(remote: str, tmp_path: Path) -> None:
    here = tmp_path / "here"
    captures = stored(here, tmp_path, b"one")
    (here / capture_store.relative(captures[0].sha256)).write_bytes(b"onf")
    ((_, reason),) = capture_store.push(captures, here, remote).missing
    assert "sha256 is not the recorded one" in reason


def test_a_cut_file_at_the_remote_is_written_again(remote: str, tmp_path: Path) -> None:
    here = tmp_path / "here"
    captures = stored(here, tmp_path, b"one")
    capture_store.push(captures, here, remote)
    place = f"{remote}/{capture_store.relative(captures[0].sha256)}"
    with fsspec.open(place, "wb") as file:
        file.write(b"o")
    assert capture_store.push(captures, here, remote).copied == captures
    with fsspec.open(place, "rb") as file:
        assert file.read() == b"one"


class RefusedError(Exception):
    """An error that only one file system knows."""


@pytest.mark.parametrize(
    "error", [OSError("No space left on device"), RefusedError("No space left")]
)
def test_nothing_is_left_of_a_push_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    here, remote = tmp_path / "here", tmp_path / "remote"
    captures = stored(here, tmp_path, b"one")

    def full(*_: object) -> None:
        raise error

    monkeypatch.setattr("fsspec.implementations.local.LocalFileSystem.mv", full)
    with pytest.raises(ToolError, match="No space left"):
        capture_store.push(captures, here, str(remote))
    assert files_of(remote) == {}


@pytest.mark.parametrize("url", ["/nowhere/at/all", "cloud://bucket"])
def test_a_place_that_cannot_be_opened_is_a_usage_error(url: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=url):
        capture_store.fetch([], url, tmp_path)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (os.mkfifo, "not a regular file"),
        (lambda place: place.symlink_to("/dev/zero"), "not a regular file"),
        (lambda place: place.mkdir(), "not a regular file"),
        (lambda place: place.symlink_to("/nowhere"), "missing"),
    ],
)
def test_what_is_no_file_is_not_opened(
    make: Callable[[Path], object], reason: str, tmp_path: Path
) -> None:
    """A FIFO would block, a device fill the disk."""
    capture = described("a.json.gz", b"one").model_copy(update={"bytes": 1 << 60})
    place = tmp_path / "remote" / capture_store.relative(capture.sha256)
    place.parent.mkdir(parents=True)
    make(place)
    ((_, said),) = capture_store.fetch([capture], str(tmp_path / "remote"), tmp_path).missing
    assert said.startswith(reason)


def test_a_file_larger_than_the_room_is_not_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, other = tmp_path / "here", tmp_path / "other"
    captures = stored(here, tmp_path, b"one")
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=2))
    ((_, said),) = capture_store.fetch(captures, str(here), other).missing
    assert "no room for its 3 bytes" in said
    assert not other.exists()
