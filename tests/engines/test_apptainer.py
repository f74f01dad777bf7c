"""Apptainer: exact commands, and what is missing told before anything is built."""

import hashlib
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from harness.engines.apptainer import Apptainer
from harness.engines.choose import make
from harness.engines.options import Options
from harness.ground.checkout import CHECKOUT
from harness.ground.errors import HarnessError, ToolError
from harness.machine.host import Host
from harness.machine.target import Target
from harness.problem import manifest
from harness.problem.plan import Cell, Selected, plan

PROBLEM = CHECKOUT / "problems" / "1-torchao-float8"
OUT, SCRATCH = Path("/runs/r1/cells/.c/out"), Path("/runs/r1/scratch")


@pytest.fixture
def image(tmp_path: Path) -> Path:
    path = tmp_path / "image.sif"
    path.write_bytes(b"an image")
    return path


def engine(image: Path, where: Target, **more: object) -> Apptainer:
    options = Options(image=str(image), **more)  # type: ignore[arg-type]
    built = make("apptainer", manifest.find(CHECKOUT / "problems", "1"), Host(where), options)
    assert isinstance(built, Apptainer)
    return built


def cell(capture: str = "timing") -> Cell:
    problem = manifest.find(CHECKOUT / "problems", "1")
    return plan(problem, Selected(("f8-0.13.0-eager",), ("stack-m1",), (capture,)), "cuda")[0]


def test_a_cell_is_exactly_this(image: Path, with_gpu: Target) -> None:
    asked = cell()
    command = engine(image, with_gpu).command(asked, OUT, SCRATCH)
    bind = "--mount=type=bind,source="
    assert command.argv == [
        *("apptainer", "exec", "--containall", "--no-home", "--no-privs"),
        *("--net", "--network=none", "--nv", f"--workdir={SCRATCH}/tmp/{asked.id}"),  # noqa: S108
        f"{bind}{CHECKOUT}/harness,destination=/work/source/harness,ro",
        f"{bind}{PROBLEM},destination=/work/problem,ro",
        f"{bind}/runs/r1/scratch/locks,destination=/work/locks,ro",
        f"{bind}{PROBLEM.parent}/workloads,destination=/work/source/workloads,ro",
        f"{bind}/runs/r1/cells/.c/out,destination=/out",
        *("--pwd=/out", str(image), "python3", "/work/problem/repro.py"),
    ]
    inside = {
        name.removeprefix("APPTAINERENV_"): value
        for name, value in command.env.items()
        if name.startswith("APPTAINERENV_")
    }
    assert json.loads(inside.pop("HARNESS_CELL"))["out"] == "/out"
    assert inside == {
        "PYTHONUNBUFFERED": "1",
        "TMPDIR": "/tmp",  # noqa: S108
        "PYTHONPATH": "/work/source:/opt/envs/torchao-0.13.0:/opt/envs/probe",
        "TORCHINDUCTOR_CACHE_DIR": "/tmp/inductor",  # noqa: S108
        "TRITON_CACHE_DIR": "/tmp/triton",  # noqa: S108
        "TORCHINDUCTOR_COMPILE_THREADS": "4",
        "CUDA_VISIBLE_DEVICES": "GPU-1234",
    }
    # The monitor knows the run's processes by this token, also those in the container.
    assert command.token_names == ("HARNESS_RUN", "APPTAINERENV_HARNESS_RUN")


def test_without_a_gpu_no_gpu_is_shown(image: Path, with_gpu: Target) -> None:
    command = engine(image, replace(with_gpu, gpu=None)).command(cell(), OUT, SCRATCH)
    assert "--nv" not in command.argv
    assert "APPTAINERENV_CUDA_VISIBLE_DEVICES" not in command.env


def test_a_profilers_export_has_no_gpu(image: Path, with_gpu: Target) -> None:
    (command,) = engine(image, with_gpu).afterwards(cell("nsys"), OUT)
    assert "--nv" not in command.argv
    assert command.argv[command.argv.index(str(image)) + 1] == "nsys"


def test_a_folder_of_the_host_is_shown_read_only(
    image: Path, tmp_path: Path, with_gpu: Target
) -> None:
    odd = tmp_path / 'a,b "c"'
    odd.mkdir()
    command = engine(image, with_gpu, mounts=(odd,)).command(cell(), OUT, SCRATCH)
    quoted = str(odd).replace('"', '""')
    wanted = f'--mount=type=bind,"source={quoted}","destination={quoted}",ro'
    assert wanted in command.argv


def test_an_archive_becomes_an_image_once(tmp_path: Path, with_gpu: Target) -> None:
    archive = tmp_path / "saved.tar"
    archive.write_bytes(b"an archive")
    built = engine(archive, with_gpu)
    name = hashlib.sha256(b"an archive").hexdigest()[:12]
    assert built.image == CHECKOUT / ".envs" / "apptainer" / f"{name}.sif"
    assert built.preparation([]) == [
        ["apptainer", "build", "--force", str(built.image), f"docker-archive:{archive}"]
    ]


def test_an_archive_is_built_by_the_program(
    tmp_path: Path, with_gpu: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bin" / "apptainer"
    program.parent.mkdir()
    program.write_text(
        '#!/bin/sh\n[ "$1" = build ] && { echo building; cp "${4#docker-archive:}" "$3"; exit; }\n'
        "echo apptainer version 1.3.4\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setattr("harness.engines.apptainer.CHECKOUT", tmp_path)
    archive = tmp_path / "saved.tar"
    archive.write_bytes(b"an archive")
    built = engine(archive, with_gpu)
    built.prepare([], tmp_path / "log.txt")
    assert built.image.read_bytes() == b"an archive"
    assert built.preparation([]) == []
    known = built.provenance()
    assert (known["version"], known["image"]) == ("1.3.4", "saved.tar")
    archive.write_bytes(b"another")
    program.write_text("#!/bin/sh\necho FATAL: no space left >&2; exit 255\n")
    other = engine(archive, with_gpu)
    with pytest.raises(ToolError, match="failed: FATAL: no space left"):
        other.prepare([], tmp_path / "log.txt")
    assert not other.image.exists()


@pytest.mark.parametrize(
    ("options", "mistake"),
    [
        (Options(), "--engine apptainer needs an --image .*docker save"),
        (Options(image="worklogs/base:1"), "worklogs/base:1: --image is no file"),
    ],
)
def test_what_is_missing_is_told(options: Options, mistake: str, with_gpu: Target) -> None:
    problem = manifest.find(CHECKOUT / "problems", "1")
    with pytest.raises(HarnessError, match=mistake):
        make("apptainer", problem, Host(with_gpu), options)


def test_the_programs_own_trouble_is_the_reason(image: Path, with_gpu: Target) -> None:
    built = engine(image, with_gpu)
    command = built.command(cell(), OUT, SCRATCH)
    log = "INFO: mounting\nFATAL:   container creation failed: mount denied\n"
    assert built.why(command, log) == "container creation failed: mount denied"
    assert built.why(command, "ValueError: the workload's own") == ""
