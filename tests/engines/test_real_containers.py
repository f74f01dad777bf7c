"""Docker and podman for real: what a cell may do inside, how it ends, that it measures the same.

Needs an engine that answers, a base image made by docker/debian-base (WORKLOGS_TEST_BASE) and a
folder with the wheels of the CPU locks (WORKLOGS_TEST_WHEELS); .ci/containers makes
all three.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from harness.engines.choose import make
from harness.engines.container import Container
from harness.engines.docker_cli import Client, Name
from harness.engines.engine import Engine
from harness.engines.options import Options
from harness.engines.rights import bounds
from harness.evidence import tables as evidence
from harness.evidence.cell_record import CellRecord
from harness.evidence.provenance import RunArguments
from harness.extract import run as extraction
from harness.ground.checkout import CHECKOUT
from harness.machine import target
from harness.machine.host import Host
from harness.problem import manifest
from harness.problem.model import Problem
from harness.problem.plan import Selected, plan
from harness.run import provenance
from harness.run.execute import Execution
from harness.store import run_folder
from tests.support.hostile_cell import ATTACKS
from tests.support.hostile_runs import attacked
from tests.support.process_tree import children
from tests.support.real_engines import client_of

# `--dist loadfile` gives them all to one worker: they wait for the same lock.
pytestmark = [pytest.mark.slow, pytest.mark.installs]

MANIFEST = """\
title: What a container may do
summary: Looks around from inside.
needs_problems: [4-beside]
environments: {plain: {}}
baseline: look
variants:
  look: {label: Look, environment: plain, options: {do: look}}
  sleep: {label: Sleep, environment: plain, options: {do: sleep}}
  eat: {label: Eat, environment: plain, options: {do: eat}}
cases: {here: {label: Here}}
captures: {timing: {}}
metrics: {time: {label: time, unit: ms, capture: timing, sample: wall_time}}
claims: []
"""

REPRO = """\
import ctypes, os, pathlib, socket, sys, time
from harness.probe.cell import Cell

BESIDE = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(1, str(BESIDE / "4-beside"))
import numbers_of_problem_4

cell = Cell.load()

def writable(folder):
    try:
        (pathlib.Path(folder) / "probe").write_text("x")
        return 1
    except OSError:
        return 0

def network():
    try:
        socket.create_connection(("1.1.1.1", 53), timeout=2)
        return 1
    except OSError:
        return 0

def namespaces():
    libc, new_user = ctypes.CDLL(None), 0x10000000
    made = libc.unshare(new_user) == 0
    clone = {"x86_64": 56, "aarch64": 220}[os.uname().machine]
    child = libc.syscall(clone, new_user | 17, 0, 0, 0, 0)
    if child == 0:
        os._exit(0)
    return int(made or child > 0)

if cell.params["do"] == "sleep" and not pathlib.Path(__file__).with_name("awake").exists():
    print("asleep", flush=True)
    time.sleep(600)
if cell.params["do"] == "eat":
    hoard = [bytearray(1 << 26) for _ in range(4096)]
status = dict(line.split(":\\t", 1) for line in open("/proc/self/status") if ":\\t" in line)
cell.fact("uid", os.getuid())
cell.fact("capabilities", int(status["CapEff"], 16) + int(status["CapBnd"], 16))
cell.fact("no_new_privileges", int(status["NoNewPrivs"]))
cell.fact("seccomp", int(status["Seccomp"]))
cell.fact("network", network())
cell.fact("namespaces", namespaces())
cell.fact("interfaces", len(os.listdir("/sys/class/net")))
cell.fact("answer", numbers_of_problem_4.ANSWER)
cell.fact("others", len(list(BESIDE.glob("[0-9]*"))))
for name, folder in {"root": "/", "etc": "/etc", "problem": "/work/problem",
                     "beside": BESIDE / "4-beside",
                     "source": "/work/source/harness", "var_tmp": "/var/tmp", "run": "/run",
                     "home": "/home", "out": "/out", "tmp": "/tmp"}.items():
    cell.fact(f"writes_{name}", writable(folder))
cell.sample("r", "wall_time", "ms", [1.0])
cell.finish()
"""


@pytest.fixture(scope="session", params=["docker", "podman"])
def name(request: pytest.FixtureRequest) -> Name:
    program: Name = request.param
    client_of(program, "WORKLOGS_TEST_WHEELS")
    return program


@pytest.fixture
def looking(tmp_path: Path) -> Problem:
    folder = tmp_path / "9-look"
    folder.mkdir()
    (folder / "problem.yaml").write_text(MANIFEST)
    (folder / "repro.py").write_text(REPRO)
    (folder / "Dockerfile").write_text("ARG BASE\nFROM ${BASE}\n")
    for other in ("4-beside", "5-not-needed"):
        (tmp_path / other).mkdir()
        without = MANIFEST.replace("needs_problems: [4-beside]\n", "")
        (tmp_path / other / "problem.yaml").write_text(without)
        (tmp_path / other / "numbers_of_problem_4.py").write_text("ANSWER = 42\n")
    return manifest.load(folder)


@pytest.fixture(autouse=True)
def a_lock_of_our_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.machine.gpu_lock.FOLDER", tmp_path)


@pytest.fixture(autouse=True)
def client(name: Name) -> Iterator[Client]:
    """The engine's client; no container may be left when a test ends."""
    client = Client(name)
    yield client
    left = client.ask("ps", "--all", "--filter=name=worklogs-", "--format={{.Names}}")
    assert left == ""


def engine_of(name: str, problem: Problem, where: target.Target) -> Engine:
    arguments = (f"BASE_IMAGE={os.environ['WORKLOGS_TEST_BASE']}",)
    wheels = Path(os.environ["WORKLOGS_TEST_WHEELS"])
    options = Options(wheels=wheels if name != "local" else None, build_arguments=arguments)
    return make(name, problem, Host(where), options)


def ran(
    name: str, problem: Problem, runs: Path, variants: tuple[str, ...], deadline_s: float = 120
) -> tuple[run_folder.Run, dict[str, CellRecord]]:
    where = replace(target.detect(), gpu=None, memory_bytes=1 << 30)
    built = engine_of(name, problem, where)
    built.prepare([], runs.parent / "install.txt")
    origin = provenance.origin_of(problem, built, RunArguments(jobs=1))
    run = run_folder.Run.create(runs, problem.folder.name, origin)
    selected = Selected(variants=variants, cases=tuple(problem.cases)[:1], rounds=1)
    cells = plan(problem, selected, "cpu")
    cells = [replace(cell, deadline_s=deadline_s) for cell in cells]
    Execution(built, run, lambda *_: None).execute(cells)
    return run, {record.id or "": record for _, record in run.records()}


def test_a_cell_may_write_its_output_and_nothing_else(
    name: str, looking: Problem, tmp_path: Path
) -> None:
    run, records = ran(name, looking, tmp_path / "runs", ("look",))
    (record,) = records.values()
    assert record.status == "ok", record.reason
    facts = {fact.name: fact.value for fact in record.workload.facts}
    assert facts == {
        "uid": 1000 if os.getuid() == 0 else os.getuid(),
        "capabilities": 0,
        "no_new_privileges": 1,
        "seccomp": 2,
        "network": 0,
        "namespaces": 0,
        "interfaces": 1,
        "answer": 42,
        "others": 1,
        "writes_root": 0,
        "writes_etc": 0,
        "writes_problem": 0,
        "writes_beside": 0,
        "writes_source": 0,
        "writes_var_tmp": 0,
        "writes_run": 0,
        "writes_home": 0,
        "writes_out": 1,
        "writes_tmp": 1,
    }
    assert run.provenance.engine
    engine = run.provenance.engine.as_json()
    assert (engine["where"], engine["engine"]) == ("in container", name)
    assert engine["image_digest"].startswith("sha256:")
    assert engine["image"].startswith("worklogs/9-look:")


@pytest.mark.parametrize("study", ["5", "8"])
def test_the_image_of_a_study_that_compiles_has_a_cache_that_cells_may_write(
    name: str, study: str, tmp_path: Path, client: Client
) -> None:
    """Its own folder, where it keeps what it compiles on the host, is read-only inside."""
    where = replace(target.detect(), gpu=None)
    built = engine_of(name, manifest.find(CHECKOUT / "problems", study), where)
    built.prepare([], tmp_path / "install.txt")
    assert isinstance(built, Container)
    compiles = 'mkdir -p "$HGEMM_CACHE" && touch "$HGEMM_CACHE/a" && ls "$HGEMM_CACHE"'
    found = client.ask("run", "--rm", *bounds(client, where), built.image, "sh", "-c", compiles)
    built_in = "hgemm_operator-"  # study 8's image is built with its operator
    assert [file for file in found.splitlines() if not file.startswith(built_in)] == ["a"]


def test_no_attack_of_a_cell_reaches_a_file_of_the_host(name: Name, tmp_path: Path) -> None:
    options = Options(image=os.environ["WORKLOGS_TEST_BASE"])
    made = attacked(name, tmp_path, range(len(ATTACKS)), options)
    assert made["refused"] > len(ATTACKS) // 2


def test_a_cell_that_overstays_is_stopped_and_removed(
    name: str, looking: Problem, tmp_path: Path
) -> None:
    start = time.monotonic()
    _, records = ran(name, looking, tmp_path / "runs", ("sleep",), deadline_s=6)
    assert [record.status for record in records.values()] == ["timeout"]
    assert time.monotonic() - start < 60


def test_a_cell_that_takes_too_much_memory_fails_alone(
    name: str, looking: Problem, tmp_path: Path
) -> None:
    _, records = ran(name, looking, tmp_path / "runs", ("eat", "look"))
    assert {record.variant: record.status for record in records.values()} == {
        "eat": "failed",
        "look": "ok",
    }
    (reason,) = (record.reason for record in records.values() if record.variant == "eat")
    assert reason.startswith("the container ran out of memory: 0.9 GiB")


CLI = """
import sys
from pathlib import Path
from harness.ground import checkout
from harness.cli import main
from harness.machine import gpu_lock
runs = Path(sys.argv.pop(1))
checkout.runs = lambda: runs
gpu_lock.FOLDER = runs.parent  # the runs of other tests are not in the way
main()
"""


def test_what_a_harness_leaves_that_is_killed_with_its_wardens_is_cleaned_and_goes_on(
    name: str, looking: Problem, tmp_path: Path, client: Client
) -> None:
    base = f"BASE_IMAGE={os.environ['WORKLOGS_TEST_BASE']}"
    asked = ["run", str(looking.folder), "--engine", name, "--build-arg", base]
    asked += ["--wheels", os.environ["WORKLOGS_TEST_WHEELS"]]
    asked += ["--variant", "look", "--variant", "sleep", "--rounds", "1"]
    call = [sys.executable, "-c", CLI, str(tmp_path / "runs")]
    harness = subprocess.Popen([*call, *asked], cwd=CHECKOUT, stdout=subprocess.DEVNULL)
    until = time.monotonic() + 120
    while "sleep" not in client.ask("ps", "--format={{.Names}}") and time.monotonic() < until:
        time.sleep(0.3)
    harness.send_signal(signal.SIGSTOP)
    for warden in children(harness.pid):  # or it would remove the container
        os.kill(warden, signal.SIGKILL)
    harness.kill()
    harness.wait()
    (stray,) = client.strays()
    assert "sleep" in stray
    clean = [*call, "doctor", "--clean"]
    cleaned = subprocess.run(clean, cwd=CHECKOUT, check=True, capture_output=True)
    assert stray in cleaned.stdout.decode()
    (run,) = (tmp_path / "runs" / "9-look").iterdir()
    assert [path.name.split(".")[1] for path in (run / "cells").glob("[!.]*")] == ["look"]
    (looking.folder / "awake").touch()
    subprocess.run([*call, *asked, "--resume", str(run)], cwd=CHECKOUT, check=True)
    records = [record for _, record in run_folder.Run.open(run).records()]
    assert {record.variant: record.status for record in records} == {
        "look": "ok",
        "sleep": "ok",
    }


def test_a_container_that_somebody_kills_is_a_failed_cell(
    name: str, looking: Problem, tmp_path: Path, client: Client
) -> None:
    def kill() -> None:
        until = time.monotonic() + 60
        while time.monotonic() < until:
            names = client.ask("ps", "--format={{.Names}}").split()
            if names:
                time.sleep(1)
                client.ask("kill", *names)
                return
            time.sleep(0.1)

    killer = threading.Thread(target=kill)
    killer.start()
    _, records = ran(name, looking, tmp_path / "runs", ("sleep",))
    killer.join()
    assert [record.status for record in records.values()] == ["failed"]


def measured(engine: str, folder: Path) -> tuple[evidence.Tables, list[dict[str, Any]]]:
    """Measure a variant of problem 1; return the tables and the facts that depend on no machine."""
    problem = manifest.find(CHECKOUT / "problems", "1")
    where = replace(target.detect(), gpu=None)
    built = engine_of(engine, problem, where)
    built.prepare(["torchao-0.13.0"], folder / "install.txt")
    origin = provenance.origin_of(problem, built, RunArguments(jobs=1))
    run = run_folder.Run.create(folder / engine, problem.folder.name, origin)
    selected = Selected(("f8-0.13.0-eager",), ("stack-m1",), rounds=1)
    Execution(built, run, lambda *_: None).execute(plan(problem, selected, "cpu"))
    failed = [record.reason for _, record in run.records() if record.status != "ok"]
    assert failed == []
    extraction.extract(run, folder / f"{engine}-evidence")
    tables = evidence.load(folder / f"{engine}-evidence")
    exact = pl.col("name").is_in(
        ["linears", "weights", "largest_weight", "model_bytes", "relative_error"]
    )
    return tables, tables["facts"].filter(exact).sort("cell", "name").to_dicts()


@cache
def on_the_host(folder: Path) -> tuple[evidence.Tables, list[dict[str, Any]]]:
    """Measure it on the host, once for both engines."""
    folder.mkdir()
    return measured("local", folder)


def test_problem_1_measures_in_a_container_what_it_measures_on_the_host(
    name: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    local, facts = on_the_host(tmp_path_factory.getbasetemp() / "host")
    inside, facts_inside = measured(name, tmp_path)
    assert facts == facts_inside
    assert len(facts) >= 5
    for table, rows in local.items():
        assert inside[table].schema == rows.schema
        assert inside[table]["cell"].unique().sort().equals(rows["cell"].unique().sort())
    # How many samples a series needs is what the sampler finds; which series there are is not.
    series = ["cell", "region", "metric", "unit"]
    taken = [table["samples"].select(series).unique().sort(series) for table in (local, inside)]
    assert taken[0].equals(taken[1])
    called = ["cell", "name", "count"]
    ops = [table["operators"].select(called).sort(called).to_dicts() for table in (local, inside)]
    assert ops[0] == ops[1]
    assert json.dumps(ops[0])
