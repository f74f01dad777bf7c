"""Nights of a fleet: two clusters, each a node and partition of the SLURM that .ci/slurm starts."""

import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import cluster_house
from tests.support.cluster_house import House, until
from tests.support.manifests import GOOD, written

pytestmark = pytest.mark.slow

PROFILE = 'jobs = 1\n[slurm]\ntime = 5\nsignal_delay_s = 10\npartition = "{}"\nsetup = ["{}"]\n'
SAMPLED = 'value = {"slow": 2.0, "fast": 1.0}[cell["variant"]]\n'
PLANTED = """
planted = house / f"slower.{os.environ['CUDA_CLUSTER']}"
if planted.exists() and cell["variant"] == "fast":
    value *= float(planted.read_text())
"""
"""What makes the fast variant slower on the cluster that a file of the house names."""


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    """A checkout with one study of one case, and the clusters ``ci``, ``second`` and ``broken``."""
    cluster_house.needs_slurm()
    script = cluster_house.SCRIPT.replace(SAMPLED, SAMPLED + PLANTED)
    monkeypatch.setattr(cluster_house, "SCRIPT", script)
    made = House(tmp_path / "house", cases=1)
    for name, partition, line in (
        ("ci", "ci", "export CUDA_CLUSTER=ci"),
        ("second", "second", "export CUDA_CLUSTER=second"),
        ("broken", "second", "echo this node has no such module; exit 1"),
    ):
        profile = PROFILE.format(partition, line)
        (made.folder / "clusters" / f"{name}.toml").write_text(profile)
    yield made
    made.end()


def start(house: House, *words: str) -> "subprocess.Popen[str]":
    """Start a night."""
    options = ("--engine", "local", "--python", house.python, "--rounds", "3")
    return house.start_harness("fleet", *words, *options)


def night(house: House, *clusters: str, more: tuple[str, ...] = ()) -> tuple[int, str]:
    """Let a night pass; return its exit code and its page."""
    on = [word for cluster in clusters for word in ("--on", cluster)]
    return ended(house, start(house, *on, *more))


def ended(house: House, started: "subprocess.Popen[str]") -> tuple[int, str]:
    """Wait for the end of a night; return its exit code and its page."""
    code, said = house.ended(started)
    page = re.findall(r"^page: (.+)$", said, re.MULTILINE)
    assert page, said
    return code, Path(page[0]).read_text(encoding="utf-8")


def rows(page: str, title: str) -> list[list[str]]:
    """Return the rows of the table in a part of a page."""
    part = page.partition(f"## {title}\n")[2].partition("\n## ")[0]
    lines = [line.strip("|").split("|") for line in part.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line] for line in lines[2:]]


def log(row: list[str]) -> str:
    """Return the log that a row of the failures names."""
    return Path(row[-1].rpartition(": ")[2]).read_text(encoding="utf-8")


def test_a_night_names_what_got_worse_and_what_failed(house: House) -> None:
    code, page = night(house, "ci", "second")
    assert (code, "## " in page) == (0, False), page
    assert page.count("1 of 1 tested claims reproduced; nothing to compare with") == 2

    (house.folder / "slower.second").write_text("3")
    code, page = night(house, "ci", "second", "broken")
    assert (code, "1 of 3 got worse; 1 failed" in page) == (1, True), page
    assert [row[:6] for row in rows(page, "Worse")] == [
        ["9-example", "second", "`time`", "`c0.fast`", "1 ms", "3 ms"]
    ]
    assert [row[:5] for row in rows(page, "Newly refuted")] == [
        ["9-example", "second", "`faster`", "0.5×", "1.5×"]
    ]
    (failed,) = rows(page, "Failed")
    assert (failed[:2], "no such module" in log(failed)) == (["9-example", "broken"], True)
    for link in re.findall(r"\]\((\S+)\)", page):
        assert list(house.folder.glob(f"nights/*/{link}")), link

    # The night after, the slower time is what there is to compare with.
    code, page = night(house, "second", "broken")
    assert (code, "0 of 2 got worse; 1 failed" in page) == (4, True), page


def test_a_night_with_failed_cells_is_not_what_the_next_is_compared_with(house: House) -> None:
    planted = house.folder / "slower.ci"
    assert night(house, "ci")[0] == 0
    planted.write_text("no number")
    code, page = night(house, "ci")
    failed = rows(page, "Failed")
    assert (code, len(failed)) == (4, 3), page
    assert all("could not convert string to float" in log(row) for row in failed)
    planted.write_text("3")
    code, page = night(house, "ci")
    assert (code, len(rows(page, "Worse"))) == (1, 1), page


def test_a_published_report_stays_what_nights_are_compared_with(house: House) -> None:
    assert night(house, "ci")[0] == 0
    (first,) = house.folder.glob("nights/*/ci/9-example")
    shutil.copytree(first, house.folder / "reports" / "9-example" / "cpu")
    (house.folder / "slower.ci").write_text("3")
    codes = [night(house, "ci", more=("--published",))[0] for _ in range(2)]
    assert codes == [1, 1]
    assert night(house, "ci")[0] == 0


def test_ctrl_c_cancels_the_jobs_and_the_page_says_so(house: House) -> None:
    house.wait()
    started = start(house, "--on", "ci", "--on", "second")
    until(lambda: house.states.count("RUNNING") == 2)
    started.send_signal(signal.SIGINT)
    code, page = ended(house, started)
    assert (code, house.jobs, len(rows(page, "Failed"))) == (4, [], 2), page


def test_what_cannot_be_submitted_leaves_the_others_to_go_on(house: House, tmp_path: Path) -> None:
    problems = house.folder / "problems"
    two_gpus = GOOD.replace("{label: Small}", "{label: Small, gpus: 2}")
    written(tmp_path, two_gpus).rename(problems / "7-two-gpus")
    written(tmp_path, "title: A title\n").rename(problems / "8-broken")
    code, page = night(house, "ci")
    assert (code, "1 of 1 tested claims reproduced" in page) == (4, True), page
    assert [row[:2] for row in rows(page, "Not run")] == [["7-two-gpus", "ci"]]
    assert [row[:2] for row in rows(page, "Failed")] == [["8-broken", "ci"]]
