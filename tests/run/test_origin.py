"""What a run says of the checkout that it was made from."""

from pathlib import Path

import pytest

from harness.evidence.provenance import Git, Origin, RunArguments
from harness.problem import manifest
from harness.run import provenance
from tests.support.bench import WELL, Scripts, on_cpu
from tests.support.manifests import GOOD, written
from tests.support.repository import committed, git


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository that holds a problem, committed."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    written(folder, GOOD)
    committed(folder)
    return folder


def origin(checkout: Path) -> Origin:
    problem = manifest.load(checkout / "9-example")
    engine = Scripts({"slow": WELL, "fast": WELL}, on_cpu())
    return provenance.origin_of(problem, engine, RunArguments())


def noted(checkout: Path) -> Git:
    return origin(checkout).git


def test_the_commit_is_noted_and_whether_files_differ(checkout: Path) -> None:
    commit = git(checkout, "rev-parse", "HEAD")
    assert noted(checkout) == Git(commit=commit, changed=False)
    (checkout / "reports").mkdir()
    (checkout / "reports" / "README.md").write_text("of the run before")
    assert noted(checkout) == Git(commit=commit, changed=False)
    (checkout / "new.txt").write_text("x")
    assert noted(checkout) == Git(commit=commit, changed=True)


def test_claims_and_state_are_noted_as_they_stand(checkout: Path) -> None:
    commit = git(checkout, "rev-parse", "HEAD")
    day = git(checkout, "log", "-1", "--format=%cs")
    call = origin(checkout)
    assert call.claims and call.state
    assert call.claims["faster"].bound == {"below": 1}
    assert call.claims["faster"].since == f"{commit[:8]} {day}"
    assert call.state.keys() == {
        "repro.py",
        "variant slow",
        "variant fast",
        "case small",
        "capture timing",
    }
    (checkout / "9-example" / "problem.yaml").write_text(GOOD.replace("below: 1", "below: 2"))
    later = origin(checkout)
    assert later.claims and later.state == call.state
    assert later.claims["faster"].bound == {"below": 2}
    assert later.claims["faster"].since is None


def test_outside_a_checkout_nothing_is_noted_of_git(tmp_path: Path) -> None:
    written(tmp_path, GOOD)
    assert noted(tmp_path) == Git()
    claims = origin(tmp_path).claims
    assert claims and claims["faster"].since is None


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
    claims = origin(bare).claims
    assert claims and claims["faster"].since is None
    manifest_file.write_text(GOOD.replace("A title", "Another title"))
    assert noted(bare) == Git(commit=commit, changed=True)
