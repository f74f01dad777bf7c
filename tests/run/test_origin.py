"""What a run says of the checkout that it was made from."""

import subprocess
from pathlib import Path

import pytest

from harness.evidence.provenance import Git, RunArguments
from harness.problem import manifest
from harness.run import provenance
from tests.support.bench import WELL, Scripts, on_cpu
from tests.support.manifests import GOOD, written


def git(folder: Path, *arguments: str) -> str:
    author = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    call = ["git", "-C", str(folder), *author, *arguments]
    return subprocess.run(call, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository that holds a problem, committed."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    written(folder, GOOD)
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message=One problem")
    return folder


def noted(checkout: Path) -> Git:
    problem = manifest.load(checkout / "9-example")
    engine = Scripts({"slow": WELL, "fast": WELL}, on_cpu())
    return provenance.origin_of(problem, engine, RunArguments()).git


def test_the_commit_is_noted_and_whether_files_differ(checkout: Path) -> None:
    commit = git(checkout, "rev-parse", "HEAD")
    assert noted(checkout) == Git(commit=commit, changed=False)
    (checkout / "reports").mkdir()
    (checkout / "reports" / "README.md").write_text("of the run before")
    assert noted(checkout) == Git(commit=commit, changed=False)
    (checkout / "new.txt").write_text("x")
    assert noted(checkout) == Git(commit=commit, changed=True)


def test_outside_a_checkout_nothing_is_noted(tmp_path: Path) -> None:
    written(tmp_path, GOOD)
    assert noted(tmp_path) == Git()


def test_a_clone_without_contents_is_as_good(checkout: Path, tmp_path: Path) -> None:
    git(checkout, "config", "uploadpack.allowFilter", "true")
    bare = tmp_path / "carried"
    source = f"file://{checkout}"
    git(tmp_path, "clone", "--depth=1", "--filter=blob:none", "--no-checkout", source, str(bare))
    git(bare, "read-tree", "HEAD")
    git(bare, "config", "remote.origin.url", "file:///nowhere")  # nothing can be fetched
    (bare / "9-example").mkdir()
    manifest_file = bare / "9-example" / "problem.yaml"
    for name in ("problem.yaml", "repro.py"):
        (bare / "9-example" / name).write_bytes((checkout / "9-example" / name).read_bytes())
    commit = git(checkout, "rev-parse", "HEAD")
    assert noted(bare) == Git(commit=commit, changed=False)
    manifest_file.write_text(GOOD.replace("A title", "Another title"))
    assert noted(bare) == Git(commit=commit, changed=True)
