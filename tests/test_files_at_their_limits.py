"""The writer and its reader at their limits: descriptors, sizes, modes, and steps that fail."""

import ctypes
import os
from pathlib import Path

import pytest

from harness.ground import files, json_text
from harness.ground.errors import StoreError


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    before = descriptors()
    files.write_json(tmp_path / "a.json", {"a": 1})
    with files.atomic_folder(tmp_path / "folder"):
        pass
    files.read_json(tmp_path / "a.json")
    files.is_sealed(tmp_path / "a.json")
    files.remove(tmp_path / "folder")
    assert descriptors() == before


def test_of_several_who_fill_a_folder_the_first_makes_it(tmp_path: Path) -> None:
    target = tmp_path / "runs" / "first"
    assert files.filled_folder(target, lambda folder: files.write_text(folder / "a", "first"))
    assert not files.filled_folder(target, lambda folder: files.write_text(folder / "a", "second"))
    assert (target / "a").read_text() == "first"
    assert oct(target.stat().st_mode & 0o777) == "0o755"
    assert list(target.parent.iterdir()) == [target]


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    below = tmp_path / "file" / "below"
    for target in (tmp_path / "file", below):
        with pytest.raises(StoreError, match="not written"):
            files.filled_folder(target, lambda folder: folder.touch())
    with pytest.raises(StoreError, match="not written"), files.atomic_folder(below):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("more", [0, 1])
def test_a_record_of_the_largest_size_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: int
) -> None:
    path = tmp_path / "a.json"
    files.write_json(path, {"a": "b" * 5000})
    monkeypatch.setattr(files, "_MOST_JSON_BYTES", path.stat().st_size - more)
    if more:
        with pytest.raises(StoreError, match="more than 0 MiB"):
            files.read_json(path)
    else:
        assert files.read_json(path) == {"a": "b" * 5000}


@pytest.mark.parametrize("length", [1, 100, 200, 300, 100_000])
def test_a_seal_is_found_at_the_end_of_a_record_of_any_length(tmp_path: Path, length: int) -> None:
    path = tmp_path / "a.json"
    files.write_json(path, {"a": "b" * length})
    assert files.is_sealed(path)
    path.write_text(json_text.sealed({"a": 1}) + " " * length)
    assert not files.is_sealed(path)


def test_what_others_left_is_theirs_while_they_live(tmp_path: Path) -> None:
    for name in (".a.txt", ".hidden", ".a.b"):
        (tmp_path / name).touch()
    files.write_text(tmp_path / "kept", "text")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".a.b", ".a.txt", ".hidden", "kept"]


def test_a_long_name_is_written_beside_itself(tmp_path: Path) -> None:
    target = tmp_path / ("x" * 200)
    files.write_text(target, "text")
    with files.atomic_folder(tmp_path / ("y" * 200)) as folder:
        assert folder.parent == tmp_path
        assert folder.name.startswith("." + "y" * 100 + ".")
    assert target.read_text() == "text"


@pytest.mark.parametrize("call", ["there", "absent"])
def test_folders_that_cannot_change_places_stay_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    class Library:
        @staticmethod
        def renameat2(*_: object) -> int:
            return -1

    monkeypatch.setattr(ctypes, "CDLL", lambda _: Library if call == "there" else object())
    target = tmp_path / "kept"
    with files.atomic_folder(target) as folder:
        (folder / "a").write_text("old")

    rename = Path.rename

    def failing(self: Path, to: Path) -> Path:
        if to == target and "-old" not in self.name:
            raise OSError(28, os.strerror(28))
        return rename(self, to)

    monkeypatch.setattr(Path, "rename", failing)
    with (
        pytest.raises(StoreError, match=r"No space left on device \(free some room\)"),
        files.atomic_folder(target) as folder,
    ):
        (folder / "a").write_text("new")
    assert (target / "a").read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]
