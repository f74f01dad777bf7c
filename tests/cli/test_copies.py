"""``harness contribute --push`` and ``--fetch`` as a user meets them."""

import hashlib
import json
import shutil
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from harness.cli.app import app
from harness.evidence import capture_list
from harness.evidence.capture_list import CaptureList, KeptCapture
from harness.ground import checkout, files
from harness.ground.errors import EvidenceError, UsageError
from harness.store import capture_store
from tests.support.paths import ROOT

OUTSIDE = {"a.trace.sqlite.zst": b"first", "b.trace.sqlite.zst": b"second"}


def harness(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["contribute", *arguments])


@pytest.fixture
def report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with one report: one capture in git, two in the local store."""
    monkeypatch.setattr(checkout, "CHECKOUT", tmp_path)
    (tmp_path / "problems").mkdir()
    folder = tmp_path / "reports" / "9-example" / "gpu"
    (folder / "evidence").mkdir(parents=True)
    (folder / "evidence" / "provenance.json").write_text("{}")
    captures = []
    for name, content in {"c.memory.json.gz": b"third", **OUTSIDE}.items():
        source = tmp_path / "source"
        source.write_bytes(content)
        sha256 = files.sha256(source)
        captures.append(
            KeptCapture(
                name=name,
                sha256=sha256,
                bytes=len(content),
                in_git=name not in OUTSIDE,
                cell="small.fast.nsys.r0",
                artifact="trace.sqlite",
                artifact_sha256=sha256,
                artifact_bytes=len(content),
            )
        )
        if name in OUTSIDE:
            capture_store.add(checkout.captures(), source, sha256)
    capture_list.write(folder / "evidence", CaptureList(captures=tuple(captures)))
    return folder


def test_captures_go_to_a_folder_and_back(report: Path, tmp_path: Path) -> None:
    remote = tmp_path / "remote"
    pushed = harness("--push", str(remote))
    assert pushed.exit_code == 0
    assert pushed.stdout.splitlines()[-1] == "2 copied, 0 already there, 0 missing"
    assert sorted(path.read_bytes() for path in remote.rglob("*/*")) == [b"first", b"second"]
    shutil.rmtree(checkout.captures())
    fetched = harness("--fetch", str(remote), "--report", str(report))
    assert fetched.exit_code == 0
    assert fetched.stdout.splitlines()[-1] == "2 copied, 0 already there, 0 missing"
    for path in checkout.captures().rglob("*/*"):
        assert files.sha256(path) == path.name
    again = json.loads(harness("--fetch", str(remote), "--json").stdout)
    assert {capture["name"] for capture in again["already_there"]} == OUTSIDE.keys()


@pytest.mark.usefixtures("report")
def test_a_missing_capture_is_one_line_and_exit_1(tmp_path: Path) -> None:
    remote = tmp_path / "remote"
    harness("--push", str(remote))
    shutil.rmtree(checkout.captures())
    (lost,) = (path for path in remote.rglob("*/*") if path.read_bytes() == b"first")
    lost.unlink()
    fetched = harness("--fetch", str(remote))
    assert fetched.exit_code == 1
    (line,) = (line for line in fetched.stdout.splitlines() if line.startswith("missing: "))
    assert line == f"missing: a.trace.sqlite.zst {lost.name}: missing at {remote}"
    as_json = harness("--fetch", str(remote), "--json")
    assert as_json.exit_code == 1
    assert [capture["name"] for capture in json.loads(as_json.stdout)["missing"]] == [
        "a.trace.sqlite.zst"
    ]


def test_a_report_older_than_the_list_has_nothing_to_fetch(report: Path, tmp_path: Path) -> None:
    (report / "evidence" / capture_list.NAME).unlink()
    fetched = harness("--fetch", str(tmp_path), "--report", str(report))
    assert (fetched.exit_code, fetched.stdout) == (0, "0 copied, 0 already there, 0 missing\n")


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"version": 2, "captures": []}, "version"),
        ({"version": 1, "captures": [{"name": "../a"}]}, "captures.0.name"),
        ({"version": 1}, "captures: Field required"),
    ],
)
def test_a_wrong_list_is_bad_input(
    report: Path, tmp_path: Path, value: dict[str, object], reason: str
) -> None:
    files.write_json(report / "evidence" / capture_list.NAME, value)
    error = harness("--fetch", str(tmp_path)).exception
    assert isinstance(error, EvidenceError)
    assert error.exit_code == 2
    assert reason in str(error)


@pytest.mark.parametrize(
    "arguments",
    [
        ("--fetch", "/nowhere"),
        ("--push", "cloud://bucket"),
        ("--fetch", ".", "--report", "/nowhere"),
    ],
)
@pytest.mark.usefixtures("report")
def test_bad_input_is_exit_2(arguments: tuple[str, ...]) -> None:
    error = harness(*arguments).exception
    assert isinstance(error, UsageError)
    assert error.exit_code == 2


def test_without_a_place_what_history_holds_is_fetched_and_studies_files_too(
    report: Path, tmp_path: Path
) -> None:
    content = b"times"
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    hashed = ["git", "hash-object", "-w", "--stdin"]
    blob = subprocess.run(hashed, cwd=tmp_path, input=content, check=True, capture_output=True)
    sha256 = hashlib.sha256(content).hexdigest()
    file = {"name": "t.xz", "sha256": sha256, "bytes": 5, "git_blob": blob.stdout.decode().strip()}
    listed = json.dumps({"version": 1, "files": [file]})  # written by hand: it has no seal
    (tmp_path / "problems" / capture_list.STORED).write_text(listed)
    shutil.rmtree(checkout.captures())
    fetched = harness("--fetch", "git")
    assert fetched.exit_code == 1  # no commit held the report's two
    assert fetched.stdout.splitlines()[-1] == "1 copied, 0 already there, 2 missing"
    assert (checkout.captures() / capture_store.relative(sha256)).read_bytes() == content
    assert "t.xz" not in harness("fetch", "--report", str(report)).stdout


def test_this_repository_s_lists_are_read() -> None:
    files_of_studies = capture_list.stored(ROOT / "problems")
    assert [each.name for each in files_of_studies] == ["tuning.jsonl.xz"]
    assert all(each.git_blob for each in files_of_studies)
