"""``harness new`` and ``harness lint`` as an author meets them: a draft, and remarks on it."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from harness.cli.app import app
from harness.ground import checkout
from harness.ground.errors import UsageError
from tests.support.manifests import GOOD, written


def harness(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(checkout, "CHECKOUT", tmp_path)
    (tmp_path / "problems").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_draft_is_written_listed_and_has_no_remarks(house: Path) -> None:
    done = harness("new", "slow-sort")
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith(
        f"written: {house}/problems/1-slow-sort\nnext:\n  make problem-1 "
    )
    (listed,) = json.loads(harness("list", "--json").stdout)
    assert listed["name"] == "1-slow-sort"
    reviewed = harness("lint")
    assert (reviewed.exit_code, reviewed.stdout) == (0, "0 remarks on 1 study\n")
    assert json.loads(harness("new", "other", "--json").stdout) == {
        "problem": str(house / "problems" / "2-other"),
        "number": 2,
        "test": None,
    }


def test_a_draft_says_where_to_go_on(house: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (house / "elsewhere").mkdir()
    monkeypatch.chdir(house / "elsewhere")
    told = harness("new", "slow-sort").stdout.splitlines()
    assert told[:2] == [f"written: {house}/problems/1-slow-sort", f"next, in {house}:"]


def test_no_study_to_review_is_an_error(house: Path) -> None:
    (house / "problems" / "1-draft").mkdir()
    said = harness("lint").exception
    assert isinstance(said, UsageError)
    assert f"{house}/problems: no study in it: none of its folders has a problem.yaml" in str(said)


def test_remarks_name_file_line_and_rule(house: Path) -> None:
    folder = written(house / "problems", GOOD.partition("claims:")[0] + "claims: []\n")
    done = harness("lint", "9")
    first, count = done.stdout.splitlines()
    assert first.startswith("problems/9-example/problem.yaml:15: no-claims: ")
    assert (done.exit_code, count) == (1, "1 remark on 1 study")
    (remark,) = json.loads(harness("lint", "9", "--json").stdout)
    assert remark["path"] == str(folder / "problem.yaml")
    assert (remark["rule"], remark["line"]) == ("no-claims", 15)


def test_a_broken_draft_keeps_no_other_study_from_review(house: Path) -> None:
    written(house / "problems", GOOD)
    broken = house / "problems" / "3-broken"
    broken.mkdir()
    (broken / "problem.yaml").write_text("title: [")
    done = harness("lint")
    assert done.exit_code == 2
    assert "not reviewed: " in done.stderr and "3-broken/problem.yaml" in done.stderr
    assert "0 remarks on 1 study" in done.stdout
