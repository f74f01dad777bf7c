"""The writer: whole or not at all, also when it is killed or the disk is full."""

import errno
import hashlib
import os
import resource
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.ground import files
from harness.ground.errors import StoreError, UsageError

KILLED_WHILE_WRITING = """
import os, sys
from pathlib import Path
from harness.ground import files
with files.atomic_{kind}(Path(sys.argv[1])) as temporary:
    ({file}).write_text("new")
    os.kill(os.getpid(), 9)
"""


def run_python(code: str, *arguments: str) -> int:
    return subprocess.run([sys.executable, "-c", code, *arguments], check=False).returncode


def test_a_kill_in_the_middle_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "kept.txt"
    files.write_text(target, "old")
    code = KILLED_WHILE_WRITING.format(kind="file", file="temporary")
    assert run_python(code, str(target)) == -9
    assert target.read_text() == "old"
    files.write_text(target, "next")
    assert list(tmp_path.iterdir()) == [target]


def test_a_kill_in_the_middle_leaves_the_old_folder(tmp_path: Path) -> None:
    target = tmp_path / "kept"
    with files.atomic_folder(target) as folder:
        (folder / "a").write_text("old")
    code = KILLED_WHILE_WRITING.format(kind="folder", file="temporary / 'a'")
    assert run_python(code, str(target)) == -9
    assert (target / "a").read_text() == "old"
    with files.atomic_folder(target) as folder:
        (folder / "a").write_text("next")
    assert list(tmp_path.iterdir()) == [target]


def test_what_another_process_still_writes_is_left_to_it(tmp_path: Path) -> None:
    target = tmp_path / "kept"
    with files.atomic_folder(target) as first:
        files.write_text(tmp_path / "kept", "a file of that name")
        assert first.is_dir()
        (tmp_path / "kept").unlink()
    assert list(tmp_path.iterdir()) == [target]


def test_a_folder_changes_places_where_the_file_system_has_no_call_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ctypes.CDLL", lambda _: object())
    for text in ("first", "second"):
        with files.atomic_folder(tmp_path / "kept") as folder:
            (folder / "a").write_text(text)
    assert (tmp_path / "kept" / "a").read_text() == "second"
    assert list(tmp_path.iterdir()) == [tmp_path / "kept"]


def test_a_folder_is_replaced_as_a_whole(tmp_path: Path) -> None:
    target = tmp_path / "folder"
    for name in ("first", "second"):
        with files.atomic_folder(target) as folder:
            (folder / name).write_text(name)
    assert [path.name for path in target.iterdir()] == ["second"]
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_an_error_in_the_block_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), files.atomic_folder(tmp_path / "never") as folder:
        (folder / "half").write_text("half")
        _ = 1 / 0
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_one_clear_line_and_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "kept.txt"
    files.write_text(target, "old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(StoreError, match="not written: File too large"):
            files.write_text(target, "x" * 100_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["kept.txt"]


def test_a_target_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="not written"):
        files.write_text(tmp_path / "file" / "below.txt", "text")


@pytest.mark.parametrize("name", ["..", ".", "", "a/b", "-rf", "a\0b", "x" * 200, "ü", "a b", "\n"])
def test_names_that_are_no_safe_component_are_refused(name: str) -> None:
    with pytest.raises(UsageError):
        files.safe_name(name)


@given(st.text())
def test_a_safe_name_stays_in_its_folder(name: str) -> None:
    try:
        safe = files.safe_name(name)
    except UsageError:
        return
    assert (Path("/folder") / safe).parent == Path("/folder")


def test_json_refuses_what_is_not_json(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"a\.json: not written: value is nan"):
        files.write_json(tmp_path / "a.json", {"value": float("nan")})
    (tmp_path / "cut.json").write_text('{"a": ')
    with pytest.raises(StoreError, match="not readable as JSON"):
        files.read_json(tmp_path / "cut.json")


@pytest.mark.parametrize(
    ("number", "remedy"),
    [
        (errno.ENOSPC, " (free some room)"),
        (errno.EROFS, " (choose a folder that you may write to)"),
        (errno.EIO, ""),
    ],
)
def test_the_remedy_is_that_of_the_error(tmp_path: Path, number: int, remedy: str) -> None:
    target, what = tmp_path / "a", os.strerror(number)
    with pytest.raises(StoreError) as raised, files.atomic_folder(target):
        raise OSError(number, what)
    assert str(raised.value) == f"{target}: not written: {what}{remedy}"


def test_another_file_that_is_in_the_way_is_named(tmp_path: Path) -> None:
    absent = tmp_path / "elsewhere" / "absent"
    with pytest.raises(StoreError) as raised, files.atomic_folder(tmp_path / "into" / "a"):
        absent.read_text()
    assert str(raised.value).endswith(f"not written: No such file or directory: {absent}")


def test_of_a_relative_path_no_temporary_name_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").mkdir()
    with pytest.raises(StoreError) as raised:
        files.write_text(Path("taken"), "text")
    assert str(raised.value) == "taken: not written: Is a directory (name a file in it)"


def test_a_file_is_on_disk_before_it_takes_its_place_and_then_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, synced = tmp_path / "a.txt", []

    def sync(descriptor: int) -> None:
        synced.append((Path(f"/proc/self/fd/{descriptor}").readlink(), target.exists()))

    monkeypatch.setattr(os, "fsync", sync)
    files.write_text(target, "whole")
    (content, before), name = synced
    assert (content.parent, content == target, before) == (tmp_path, False, False)
    assert name == (tmp_path, True)
    synced.clear()
    with files.atomic_folder(tmp_path / "folder"):
        assert synced == []
    assert [path for path, _ in synced] == [tmp_path]


def test_everybody_may_read_what_was_written(tmp_path: Path) -> None:
    files.write_text(tmp_path / "file", "")
    with files.atomic_folder(tmp_path / "folder"):
        pass
    modes = [oct((tmp_path / name).stat().st_mode & 0o777) for name in ("file", "folder")]
    assert modes == ["0o644", "0o755"]


def test_a_sealed_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    value = {"a": [1, 2.5, None, True], "b": {"ü": "ä\u2028"}, "sha256 of": "b"}
    files.write_json(tmp_path / "a.json", value)
    assert files.read_json(tmp_path / "a.json") == value
    assert files.is_sealed(tmp_path / "a.json")
    text = (tmp_path / "a.json").read_bytes()
    content, _, seal = text.rpartition(b',\n  "sha256": "')
    assert seal == hashlib.sha256(content).hexdigest().encode() + b'"\n}\n'


def test_a_flip_of_any_bit_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    files.write_json(path, {"name": "ü", "values": [1.5, {"b": "c"}], "last": "d"})
    whole = path.read_bytes()
    for bit in range(8 * len(whole)):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        with pytest.raises(StoreError):
            files.read_json(path, unsealed=True)


def test_only_who_allows_it_reads_a_file_without_a_seal(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"a": 1}\n')
    assert files.read_json(path, unsealed=True) == {"a": 1}
    assert not files.is_sealed(path)
    with pytest.raises(StoreError, match=r"a\.json: its sha256 is missing"):
        files.read_json(path)


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        (
            '{"samples": [{"metric": "wall_time", "value": NaN}]}',
            "samples.0.value (wall_time) is nan",
        ),
        ('{"facts": [{"name": "weights", "value": 1e999}]}', "facts.0.value (weights) is inf"),
        ('{"a": {"b": -Infinity}}', "a.b is -inf, not a finite number"),
        ('{"a": -1e308}', "a is -1e+308, which nothing measures"),
        ('{"a": 5e-324}', "a is 5e-324, which nothing measures"),
        ('{"a": 9223372036854775808}', "a is an integer of more than 64 bits"),
        ('{"a": 1' + "0" * 5000 + "}", "not readable as JSON: Exceeds the limit"),
        ('{"a": "\\ud800"}', "a is no Unicode text"),
        ('{"\\udfff": 1}', "is no Unicode text"),
        ('{"a":' + "[" * 70 + "]" * 70 + "}", "is nested too deeply"),
        ('{"a":' + "[" * 100_000, "nested too deeply"),
        ("[]", "expected a JSON object"),
    ],
)
def test_a_value_that_no_record_holds_is_named(tmp_path: Path, text: str, mistake: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(StoreError) as error:
        files.read_json(path, unsealed=True)
    assert mistake in str(error.value)
    assert len(str(error.value).encode()) < 1000


def test_a_record_that_exhausts_memory_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "large.json").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(StoreError, match="more than 16 MiB"):
        files.read_json(tmp_path / "large.json")


def test_only_a_regular_file_is_opened(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "gone").symlink_to("nothing")
    os.mkfifo(tmp_path / "fifo")
    with files.regular(tmp_path / "file") as file:
        assert file.read() == b"text"
    for name, odd in {
        "link": "a link",
        "gone": "a link",
        "fifo": "a FIFO",
        ".": "a folder",
    }.items():
        with pytest.raises(StoreError, match=f"{odd}, not a regular file"):
            files.regular(tmp_path / name)
    with pytest.raises(StoreError, match="a device"):
        files.regular(Path("/dev/zero"))
    with pytest.raises(StoreError, match="no such file"):
        files.regular(tmp_path / "absent")


def test_a_file_that_is_replaced_as_it_is_opened_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("text")
    (tmp_path / "link").symlink_to("file")
    os.mkfifo(tmp_path / "fifo")
    before = (tmp_path / "file").lstat()
    monkeypatch.setattr(Path, "lstat", lambda _: before)
    with pytest.raises(StoreError, match="not readable"):
        files.regular(tmp_path / "link")
    with pytest.raises(StoreError, match="a FIFO, not a regular file"):
        files.regular(tmp_path / "fifo")


def test_a_folder_is_removed_however_deep_and_closed_it_is(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").write_text("text")
    folder = tmp_path / "folder"
    (folder / "closed").mkdir(parents=True)
    (folder / "closed" / "link").symlink_to(kept)
    (folder / "closed").chmod(0)
    inner = os.open(folder, os.O_RDONLY)
    for _ in range(3000):
        outer = inner
        for name in ("d", "e"):
            os.mkdir(name, dir_fd=outer)
        inner = os.open("d", os.O_RDONLY, dir_fd=outer)
        os.close(outer)
    os.close(inner)
    files.remove(folder)
    files.remove(tmp_path / "absent")
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert (kept / "file").read_text() == "text"


def test_a_folder_is_removed_by_who_owns_it_whatever_its_modes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # whose parents another user may not enter
    inner = Path("folder") / "a" / "b" / "c"
    inner.mkdir(parents=True)
    (inner / "file").touch()
    nobody, me = 65534, os.geteuid()
    for path in (inner / "file", *inner.parents, inner):
        if me == 0:
            os.chown(path, nobody, nobody)
        path.chmod(0o700 if path == Path() else 0)
    try:
        if me == 0:
            os.seteuid(nobody)
        files.remove(Path("folder"))
    finally:
        os.seteuid(me)
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_file_is_not_replaced(tmp_path: Path) -> None:
    """As root could put a file in the place of /dev/null."""
    pipe, place = tmp_path / "pipe", tmp_path / "socket"
    os.mkfifo(pipe)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(place))
    before = {path: path.lstat().st_mode for path in (pipe, place)}
    for target, what in ((pipe, "a FIFO"), (place, "a socket")):
        with pytest.raises(StoreError, match=f"not written: {what}, not a regular file"):
            files.write_text(target, "text")
    assert {path: path.lstat().st_mode for path in tmp_path.iterdir()} == before
