"""A matrix of runs: every combination is checked first, runs once, and stands in one index."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from harness.cli.app import app
from harness.ground import checkout
from harness.ground.errors import HarnessError
from harness.run.cluster import matrix
from tests.support import part_process
from tests.support.manifests import GOOD, written

pytestmark = pytest.mark.usefixtures("a_lock_of_our_own")

SLOWER = GOOD.replace("bound: {below: 1}", "bound: {above: 1}").replace("A title", "Another title")


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with two problems, whose cells run under two programs."""
    monkeypatch.setattr(checkout, "CHECKOUT", tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for problems in (tmp_path / "problems", tmp_path / "others"):
        problems.mkdir()
    written(tmp_path / "problems", GOOD)
    written(tmp_path / "others", SLOWER).rename(tmp_path / "problems" / "8-other")
    for name, script in (("good", part_process.PYTHON), ("bad", "#!/bin/sh\nexit 1\n")):
        (tmp_path / name).write_text(script)
        (tmp_path / name).chmod(0o755)
    (tmp_path / "all.toml").write_text(
        f"""problems = [9, "8-other"]
rounds = 2
[software.good]
engine = "local"
python = "{tmp_path}/good"
[software.bad]
engine = "local"
python = "{tmp_path}/bad"
"""
    )
    return tmp_path


def ran(house: Path, *arguments: str, code: int) -> list[dict[str, str]]:
    done = CliRunner().invoke(app, ["matrix", str(house / "all.toml"), "--json", *arguments])
    assert done.exit_code == code, (done.output, done.exception)
    rows: list[dict[str, str]] = json.loads(done.stdout)
    return rows


def test_every_combination_is_run_and_judged(house: Path) -> None:
    rows = ran(house, code=4)
    assert [(row["problem"], row["software"], row["cells"]) for row in rows] == [
        ("9-example", "good", "4 of 4"),
        ("9-example", "bad", "0 of 4"),
        ("8-other", "good", "4 of 4"),
        ("8-other", "bad", "0 of 4"),
    ]
    assert rows[1]["verdicts"] == "0 of 1 claims reproduced, 1 not measured"
    (index,) = house.glob("runs/matrix/*/README.md")
    assert index.read_text().count("| 9-example |") == 2
    assert all(row["run"] in index.read_text() for row in rows)
    # It goes on with the runs that it has: what ran well is not run again.
    (house / "bad").write_text((house / "good").read_text())
    again = ran(house, "--resume", str(index.parent), code=0)
    assert [row["run"] for row in again] == [row["run"] for row in rows]
    assert [row["cells"] for row in again] == ["4 of 4"] * 4
    assert len((house / "executed").read_text().splitlines()) == 16


def test_a_mistake_in_one_combination_stops_all_before_they_run(house: Path) -> None:
    file = house / "all.toml"
    file.write_text(file.read_text().replace('"8-other"', '"77"'))
    with pytest.raises(HarnessError, match="no problem '77'"):
        matrix.understood(matrix.load(file))
    assert not (house / "runs").exists()


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("problems = []", "problems: List should have at least 1 item"),
        ("on = ['here']", "problems: Field required"),
        ("problems = [9]\n[software.a]\nengines = 'b'", "software.a.engines: Extra inputs"),
        ("problems = [", "no TOML: "),
    ],
)
def test_a_mistake_in_the_file_is_told_with_its_key(
    tmp_path: Path, text: str, mistake: str
) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(HarnessError, match=mistake):
        matrix.load(path)
