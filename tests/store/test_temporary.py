"""A cell's temporary folder: short enough for sockets, and found again after a crash."""

import multiprocessing.connection
import os
from pathlib import Path

import pytest

from harness.ground.errors import StoreError
from harness.store import temporary


def deep(tmp_path: Path) -> Path:
    folder = tmp_path / ("run" * 30)
    folder.mkdir()
    return folder / "tmp" / ("cell" * 15)


def test_a_socket_fits_below_it_wherever_the_run_lies(tmp_path: Path) -> None:
    link = deep(tmp_path)
    with temporary.folder(link):
        folder = link.resolve() / "pymp-12345678"
        folder.mkdir()
        address = str(folder / "listener-12345678")
        with multiprocessing.connection.Listener(address, "AF_UNIX"):
            assert Path(address).is_socket()
        # The same below the link's own path is what fails.
        with pytest.raises(OSError, match="too long"):
            multiprocessing.connection.Listener(str(link / "listener-12345678"), "AF_UNIX")
    assert not folder.parent.exists()
    assert not os.path.lexists(link)


def test_what_a_killed_harness_left_is_removed_by_its_link(tmp_path: Path) -> None:
    link = deep(tmp_path)
    with temporary.folder(link):
        left = link.resolve()
        (left / "file").touch()
        copy = link.with_name("copy")
        copy.symlink_to(left)
        link.unlink()
        copy.rename(link)
        temporary.remove(link)
        assert not left.exists()
    assert list(link.parent.iterdir()) == []


def test_no_other_folder_is_removed_through_a_link(tmp_path: Path) -> None:
    other, link = tmp_path / "other", tmp_path / "link"
    other.mkdir()
    (other / "file").touch()
    link.symlink_to(other)
    temporary.remove(link)
    assert (other / "file").exists()
    assert not os.path.lexists(link)


def test_a_disk_that_takes_no_folder_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "absent"))
    with pytest.raises(StoreError, match="not written"), temporary.folder(tmp_path / "a" / "b"):
        pytest.fail("it was entered")
