"""Runs as jobs of a real SLURM, which .ci/slurm starts on this machine."""

import os
import subprocess
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import pydantic
import pytest

from harness.store.run_folder import verified
from tests.support import cluster_house
from tests.support.cluster_house import House, bring_back, slurm, until
from tests.support.paths import ROOT

pytestmark = pytest.mark.slow
NOBODY = 65534
PACKAGES = [pydantic.__file__, getattr(find_spec("submitit"), "origin", None) or pydantic.__file__]
"""Files of packages that a job needs."""


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Callable[..., House]]:
    """Make houses, whose jobs are ended at the end."""
    cluster_house.needs_slurm()
    houses: list[House] = []

    def make(**known: object) -> House:
        houses.append(House(tmp_path / f"house-{len(houses)}", **known))  # type: ignore[arg-type]
        return houses[-1]

    yield make
    for each in houses:
        each.end()


def test_an_array_finishes_and_says_where_it_ran(house: Callable[..., House]) -> None:
    of = house(cases=3)
    code, said = of.ran()
    assert (code, len(of.landed)) == (0, 12), said
    assert "3 jobs submitted" in said
    assert said.count(": ok, ") == 12
    record = of.run.provenance
    jobs = [origin.job for origin in record.origins if origin.job]
    host = slurm("hostname", "-s")
    assert [(job.system, job.node, job.restarts) for job in jobs] == [("slurm", host, 0)] * 3
    assert len({job.id.split("_")[0] for job in jobs}) == 1
    assert record.target.cpu  # the node's own: who submitted it does not know it
    assert len(record.planned) == 12
    for folder, cell in of.run.records():
        for name in cell.artifacts:
            verified(folder, cell, name)
    # Each variant of a case ran in the same job, its rounds interleaved.
    for case in ("c0", "c1", "c2"):
        cells = sorted(
            (cell.started, cell.variant) for _, cell in of.run.records() if cell.case == case
        )
        assert [variant for _, variant in cells] == ["slow", "fast", "fast", "slow"]


def test_resume_goes_on_after_scancel(house: Callable[..., House]) -> None:
    of = house()
    of.wait(2)
    run = of.start()
    until(lambda: len(of.landed) == 2)
    before = of.landed
    slurm("scancel", *of.jobs)
    code, said = of.ended(run)
    assert (code, said.count(": CANCELLED, ")) == (4, 2), said
    of.go()
    code, said = of.ran("--resume", str(of.run.folder))
    assert (code, "2 jobs submitted" in said, len(of.landed)) == (0, True, 8), said
    assert before.items() <= of.landed.items()  # what had landed was not done again


def test_ctrl_c_leaves_the_jobs_and_resume_adopts_them(house: Callable[..., House]) -> None:
    of = house()
    of.wait()
    run = of.start()
    until(lambda: len(of.jobs) == 2)
    code, said = of.interrupt(run)
    assert (code, "left to go on" in said, len(of.jobs)) == (130, True, 2), said
    again = of.start("--resume", str(of.run.folder))
    of.go()
    code, said = of.ended(again)
    assert (code, "0 jobs submitted" in said, len(of.landed)) == (0, True, 8), said
    assert len(list(of.run.folder.glob("jobs/*"))) == 1


def test_ctrl_c_cancels_the_jobs_where_that_is_asked(house: Callable[..., House]) -> None:
    of = house()
    of.wait(2)
    run = of.start("--cancel")
    until(lambda: len(of.landed) == 2)
    code, said = of.interrupt(run)
    assert (code, "jobs cancelled" in said) == (130, True), said
    until(lambda: not of.jobs)
    assert len(of.landed) == 2


@pytest.mark.parametrize("failure", ["pre-emption", "node failure"])
def test_a_job_that_is_requeued_goes_on(house: Callable[..., House], failure: str) -> None:
    node = slurm("hostname", "-s")
    of = house()
    of.wait(2)
    run = of.start()
    until(lambda: len(of.landed) == 2)
    before = of.landed
    if failure == "node failure":  # SLURM requeues the jobs of a node that it takes for down
        slurm("scontrol", "update", f"nodename={node}", "state=down", "reason=test")
        bring_back(node)
    else:
        for job in of.jobs:
            slurm("scontrol", "requeue", job)
    of.go()
    code, said = of.ended(run)
    assert (code, len(of.landed)) == (0, 8), said
    assert before.items() <= of.landed.items()
    restarts = [origin.job.restarts for origin in of.run.provenance.origins if origin.job]
    assert max(restarts) == 1


def test_a_node_that_is_drained_ends_its_jobs_and_the_rest_waits(
    house: Callable[..., House],
) -> None:
    node = slurm("hostname", "-s")
    of = house(options="array_parallelism = 1\n")
    of.wait()
    run = of.start()
    until(lambda: of.states.count("RUNNING") == 1)
    slurm("scontrol", "update", f"nodename={node}", "state=drain", "reason=test")
    try:
        of.go()
        until(lambda: len(of.landed) == 4 and len(of.jobs) == 1)
        assert run.poll() is None
    finally:
        bring_back(node)
    code, said = of.ended(run)
    assert (code, len(of.landed)) == (0, 8), said


def test_a_job_ends_at_its_time_limit_and_resume_goes_on(house: Callable[..., House]) -> None:
    of = house()
    profile = of.folder / "clusters" / "ci.toml"
    text = profile.read_text()
    profile.write_text(text.replace("signal_delay_s = 10", "signal_delay_s = 110"))
    of.wait(2)
    run = of.start()
    until(lambda: len(of.landed) == 2)
    # Lowered only now: SLURM may send its signal a minute early (sbatch(1), --signal), and from the
    # start such a limit can end the jobs before a cell lands.
    for job in of.jobs:
        slurm("scontrol", "update", f"jobid={job}", "timelimit=2")
    code, said = of.ended(run)
    assert (code, "cells not run" in said, len(of.landed)) == (4, True, 2), said
    logs = [path.read_text() for path in of.run.folder.glob("jobs/0/*_log.out")]
    assert ["timed-out too many times" in log for log in logs] == [True, True]
    of.go()
    code, said = of.ran("--resume", str(of.run.folder))
    assert (code, len(of.landed)) == (0, 8), said


def test_runs_of_two_users_do_not_collide(house: Callable[..., House], tmp_path: Path) -> None:
    # Another user may not enter the folder of our interpreter, but may that of Debian's. Where the
    # checkout is closed to others as well, both runs are one user's.
    packages = os.pathsep.join(dict.fromkeys(str(Path(each).parent.parent) for each in PACKAGES))
    theirs = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
    looks = [*theirs, "/usr/bin/python3", "-c", "import harness.run.cluster.job, submitit"]
    env = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{packages}"}
    reached = subprocess.run(looks, check=False, cwd="/", env=env).returncode == 0
    other = {"before": theirs, "python": "/usr/bin/python3", "packages": packages}
    houses = [house(), house(**other if reached else {})]
    for folder in (tmp_path, *tmp_path.parents):
        if folder.is_relative_to("/tmp") and folder != Path("/tmp"):  # noqa: S108
            folder.chmod(0o755)  # pytest makes them for us alone
    for path in (houses[1].folder, *houses[1].folder.rglob("*")) if reached else ():
        os.chown(path, NOBODY, NOBODY)
    started = [each.start() for each in houses]
    for each, run in zip(houses, started, strict=True):
        code, said = each.ended(run)
        assert (code, len(each.landed)) == (0, 8), said
    # Each cell had the machine's CPU to itself, whoever's job it was.
    spans = sorted(
        (cell.started, cell.started + cell.wall_s)
        for each in houses
        for _, cell in each.run.records()
    )
    assert all(first[1] <= second[0] + 0.01 for first, second in pairwise(spans))
    owners = [next(each.run.folder.glob("cells/*")).owner() for each in houses]
    assert owners == ["root", "nobody" if reached else "root"]
