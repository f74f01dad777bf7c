"""A container that was killed, for memory or by somebody: the cell's record says so."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from harness.engines import container, docker_cli
from harness.engines.choose import make
from harness.engines.engine import Command, Engine
from harness.engines.options import Options
from harness.ground.checkout import CHECKOUT
from harness.machine.host import Host
from harness.machine.target import Target
from harness.problem import manifest
from tests.support.docker_engine import DockerEngine

NAME = "worklogs-r1-cell"
HERE = Target(None, "a CPU", 2, 10 << 30, "an OS", {}, None)


def event(action: str, after_s: float, **attributes: str) -> dict[str, Any]:
    moment = int((time.time() + after_s) * 1e9)
    return {"Action": action, "Actor": {"Attributes": attributes}, "timeNano": moment}


OOM = event("oom", 3600)
OLD = event("oom", -3600)  # of an earlier container of that name
KILL = event("kill", 3600, signal="9")
MEMORY = "the container ran out of memory: 9.0 GiB, nine tenths of the machine's"


def engine(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, address: str = "") -> Engine:
    program = folder / name
    program.write_text(f"#!/bin/sh\ncase $1 in context) echo {address};; esac\n")
    program.chmod(0o755)
    monkeypatch.setattr(docker_cli, "_builders", lambda _: [str(program)])
    problem = manifest.find(CHECKOUT / "problems", "1")
    return make(name, problem, Host(HERE), Options(image="an image"))


def why(built: Engine, folder: Path, log: str = "Killed") -> str:
    command = Command(["true"], {}, folder, NAME)
    built.begin(command)
    return built.why(command, log)


@pytest.mark.parametrize(
    ("events", "reason"),
    [
        ([OOM], MEMORY),
        ([OLD], ""),
        ([OLD, KILL], "somebody killed the container: signal 9"),
        ([OOM, KILL], MEMORY),
        ([{"Action": "oom"}], ""),  # no event of Docker's
        ([], ""),
    ],
)
def test_dockers_events_tell_of_a_kill(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, events: list[dict[str, Any]], reason: str
) -> None:
    before = int(time.time())
    with DockerEngine(tmp_path / "socket", events) as docker:
        built = engine("docker", tmp_path, monkeypatch, docker.address)
        assert why(built, tmp_path) == reason
    (query,) = docker.asked
    filters = json.loads(query["filters"])
    assert filters == {"container": [NAME], "event": ["oom", "kill"]}
    assert before <= int(query["since"]) <= int(query["until"]) <= int(time.time()) + 1


def test_a_trouble_that_the_log_shows_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with DockerEngine(tmp_path / "socket", [OOM]) as docker:
        built = engine("docker", tmp_path, monkeypatch, docker.address)
        assert why(built, tmp_path, "no space left on device").startswith("no room left")
    assert docker.asked == []


def test_an_engine_that_does_not_answer_leaves_the_logs_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert why(engine("docker", tmp_path, monkeypatch, ""), tmp_path) == ""
    monkeypatch.setattr(container, "_EVENTS_S", 0.2)
    with DockerEngine(tmp_path / "socket", [OOM], hangs=True) as docker:
        assert why(engine("docker", tmp_path, monkeypatch, docker.address), tmp_path) == ""


def test_podmans_monitor_leaves_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built = engine("podman", tmp_path, monkeypatch)
    folder = tmp_path / "cell"
    folder.mkdir()
    assert why(built, folder) == ""
    (folder / "oom").touch()
    assert why(built, folder).startswith("the container ran out of memory: 9.0 GiB")
