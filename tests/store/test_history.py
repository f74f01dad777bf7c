"""Captures out of the history of a repository: what a commit once held, and nothing else."""

import hashlib
from pathlib import Path

import pytest

from harness.evidence.capture_list import StoredFile
from harness.store import capture_store
from tests.support.repository import git

CONTENT = b"\x28\xb5 recorded \r\n" * 100_000


@pytest.fixture
def left(tmp_path: Path) -> tuple[Path, StoredFile]:
    """A repository that a file has left, and what is recorded of the file."""
    repository = tmp_path / "repository"
    repository.mkdir()
    git(repository, "init", "-q")
    (repository / "a.bin").write_bytes(CONTENT)
    git(repository, "add", "a.bin")
    git(repository, "commit", "-qm", "Add")
    blob = git(repository, "rev-parse", "HEAD:a.bin")
    git(repository, "rm", "-q", "a.bin")
    git(repository, "commit", "-qm", "Remove")
    sha256 = hashlib.sha256(CONTENT).hexdigest()
    return repository, StoredFile(name="a.bin", sha256=sha256, bytes=len(CONTENT), git_blob=blob)


def test_a_file_that_left_comes_back_byte_for_byte(
    left: tuple[Path, StoredFile], tmp_path: Path
) -> None:
    repository, file = left
    store = tmp_path / "store"
    assert capture_store.fetch_from_history([file], repository, store).copied == [file]
    assert (store / capture_store.relative(file.sha256)).read_bytes() == CONTENT
    assert capture_store.fetch_from_history([file], repository, store).already_there == [file]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"git_blob": None}, "git never held it"),
        ({"git_blob": 40 * "0"}, "not in this clone's history"),
        ({"sha256": 64 * "0"}, "sha256 is not the recorded one"),
        ({"bytes": 3}, "size is not the recorded 3 bytes"),
    ],
)
def test_what_history_does_not_hold_is_missing(
    left: tuple[Path, StoredFile], tmp_path: Path, change: dict[str, object], reason: str
) -> None:
    repository, file = left
    other = file.model_copy(update=change)
    transfer = capture_store.fetch_from_history([other], repository, tmp_path / "store")
    ((missing, why),) = transfer.missing
    assert missing == other
    assert why.startswith(reason)
    assert not (tmp_path / "store").exists()
