"""A checkout with one problem whose cells need no torch, and runs of it as jobs of a real SLURM."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from harness.ground.checkout import VARIABLE
from harness.store import run_folder
from harness.store.run_folder import Run
from tests.support.manifests import GOOD, written
from tests.support.paths import ROOT

SCRIPT = """
import json, os, pathlib, time
cell = json.loads(os.environ["HARNESS_CELL"])
house = pathlib.Path(__file__).parents[2]
done = len(list(house.glob("done.*")))
while (house / "wait").exists() and done >= int((house / "wait").read_text()):
    time.sleep(0.05)
(house / f"done.{os.getpid()}").touch()
value = {"slow": 2.0, "fast": 1.0}[cell["variant"]]
samples = [{"region": "r", "metric": "wall_time", "unit": "ms", "index": i, "value": value}
           for i in range(5)]
results = {"samples": samples, "facts": [], "declared": {}, "packages": {}}
(pathlib.Path(cell["out"]) / "workload.json").write_text(json.dumps(results))
# cell.fact("wall_time", 1)
"""
"""A cell that waits while the house has a file ``wait``, once as many cells as it says are done."""


def needs_slurm() -> None:
    """Skip where no SLURM of .ci/slurm answers."""
    if "SLURM_CONF" not in os.environ or shutil.which("sbatch") is None:
        pytest.skip("SLURM_CONF is not set: see .ci/slurm")


def slurm(*argv: str) -> str:
    """Return what a program of SLURM prints."""
    done = subprocess.run(argv, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@dataclass
class House:
    """A checkout below ``folder``.

    ``before`` are words that start its programs as another user, ``python`` is the interpreter, and
    ``packages`` the folders where that finds what it does not have by itself.
    """

    folder: Path
    cases: int = 2
    before: tuple[str, ...] = ()
    options: str = ""
    python: str = sys.executable
    packages: str = ""
    started: list["subprocess.Popen[str]"] = field(default_factory=list)

    def __post_init__(self) -> None:
        cases = "".join(f"  c{number}: {{label: C{number}}}\n" for number in range(self.cases))
        text = GOOD.replace("  small: {label: Small}\n", cases).replace("case: small", "case: c0")
        (self.folder / "problems").mkdir(parents=True)
        written(self.folder / "problems", text, given=SCRIPT)
        (self.folder / "clusters").mkdir()
        profile = f"jobs = {self.cases}\n[slurm]\ntime = 5\nsignal_delay_s = 10\n{self.options}"
        (self.folder / "clusters" / "ci.toml").write_text(profile)

    def wait(self, cells: int = 0) -> None:
        """Let the cells wait once so many are done."""
        (self.folder / "wait").write_text(str(cells))

    def go(self) -> None:
        """Let all cells go on."""
        (self.folder / "wait").unlink()

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        """Start a run of two rounds on the cluster."""
        run = ("run", "9", "--on", "ci", "--engine", "local", "--python", self.python)
        return self.start_harness(*run, "--rounds", "2", *arguments)

    def start_harness(self, *arguments: str) -> "subprocess.Popen[str]":
        """Start a command of the harness in the house."""
        heard = (
            "env",
            "--default-signal=INT",
        )  # also where CI is a background job, which ignores it
        argv = [*self.before, *heard, self.python, "-m", "harness", *arguments]
        more = filter(None, [os.environ.get("PYTHONPATH"), self.packages])
        found = os.pathsep.join([str(ROOT), *more])
        env = os.environ | {VARIABLE: str(self.folder), "PYTHONPATH": found}
        locks = self.folder.parent / "locks"
        locks.mkdir(exist_ok=True)
        locks.chmod(0o777)  # whichever user's job it is
        env |= {"XDG_CACHE_HOME": str(self.folder / "cache"), "WORKLOGS_TEST_LOCKS": str(locks)}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        started = subprocess.Popen(argv, env=env, cwd=self.folder, text=True, **pipes)  # type: ignore[call-overload]
        self.started.append(started)
        return started  # type: ignore[no-any-return]

    def ran(self, *arguments: str) -> tuple[int, str]:
        """Run to the end; return the exit code and what was printed."""
        return self.ended(self.start(*arguments))

    def ended(self, started: "subprocess.Popen[str]") -> tuple[int, str]:
        """Wait for the end of a run."""
        said = started.communicate(timeout=120)[0]
        return started.returncode, said

    def interrupt(self, started: "subprocess.Popen[str]") -> tuple[int, str]:
        """Press Ctrl-C."""
        started.send_signal(signal.SIGINT)
        return self.ended(started)

    @property
    def run(self) -> Run:
        """Return the house's only run."""
        (folder,) = (self.folder / "runs" / "9-example").glob("[!.]*")
        return Run.open(folder)

    @property
    def landed(self) -> dict[str, str]:
        """Return the seal of each cell that landed well: it changes if a cell is done again."""
        cells = (self.folder / "runs").glob(f"9-example/[!.]*/cells/[!.]*/{run_folder.RECORD}")
        records = {path.parent.name: json.loads(path.read_text()) for path in cells}
        return {name: each["sha256"] for name, each in records.items() if each["status"] == "ok"}

    @property
    def jobs(self) -> list[str]:
        """Return the ids of the jobs of this house that run or wait."""
        return [job for job, state in self._jobs if active(state)]

    @property
    def states(self) -> list[str]:
        """Return the states of the jobs of this house that SLURM knows."""
        return [state for _, state in self._jobs]

    @property
    def _jobs(self) -> list[tuple[str, str]]:
        lines = slurm("squeue", "-h", "-r", "--states=all", "--format=%i|%T|%Z").splitlines()
        rows = [line.split("|") for line in lines]
        return [(job, state) for job, state, where in rows if where == str(self.folder)]

    def end(self) -> None:
        """End what is left of runs and jobs."""
        for started in self.started:
            started.kill()
            started.communicate()
        for job in self.jobs:
            for cancel in (("scancel", "--signal=KILL", "--full", job), ("scancel", job)):
                subprocess.run(cancel, check=False, capture_output=True)  # it may end by itself


def bring_back(node: str) -> None:
    """Resume a node that is down or drained; it may be back by itself."""

    def works() -> bool:
        resume = ["scontrol", "update", f"nodename={node}", "state=resume"]
        subprocess.run(resume, check=False, capture_output=True)
        return not re.search("down|drain", slurm("sinfo", "-h", "-o", "%T"))

    until(works)


def active(state: str) -> bool:
    """Return whether a job in this state runs, or may yet."""
    return state in {"PENDING", "CONFIGURING", "RUNNING", "COMPLETING", "REQUEUED"}


def until(met: Callable[[], object], seconds: float = 60.0) -> None:
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not met():
        assert time.monotonic() < end, "did not happen in time"
        time.sleep(0.1)
