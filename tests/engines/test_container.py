"""The container engines: exact commands, rights never given, and what each trouble is called."""

import hashlib
import json
import os
import resource
import shlex
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from harness.engines import container, docker_cli, inside, rights, seccomp
from harness.engines.choose import choose, make
from harness.engines.docker_cli import Client, cdi_devices, explained
from harness.engines.engine import Command, Engine
from harness.engines.image import builds
from harness.engines.options import Options
from harness.ground import maker, process
from harness.ground.checkout import CHECKOUT
from harness.ground.errors import ToolError, UsageError
from harness.machine import target
from harness.machine.host import Host
from harness.machine.target import Gpu, Target
from harness.problem import manifest
from harness.problem.plan import Able, Cell, Selected, plan
from tests.support.manifests import GOOD, written

GPU = Gpu(0, "GPU-1", "NVIDIA H200", "9.0", 150 << 30, "580.1", "13.0")
PROBLEM = CHECKOUT / "problems" / "1-torchao-float8"
STUDY = manifest.load(PROBLEM)
SECCOMP = CHECKOUT / ".envs" / "podman-seccomp.json"
OUT, SCRATCH = Path("/runs/r1/cells/.c/out"), Path("/runs/r1/scratch")
PLACE = hashlib.sha256(b"/runs/r1").hexdigest()[:12]
FORBIDDEN = (
    "--privileged",
    "docker.sock",
    "--ipc=host",
    "--pid=host",
    "unconfined",
    "--cap-add=ALL",
)


@pytest.fixture(autouse=True)
def a_known_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docker_cli, "_builders", lambda name: [f"/usr/bin/{name}"])
    monkeypatch.setattr(rights, "cdi_devices", lambda: ["all"])
    monkeypatch.setattr(rights, "caller", lambda: (1234, 5678))
    monkeypatch.setattr(seccomp, "flag", lambda _client: f"--security-opt=seccomp={SECCOMP}")
    monkeypatch.setattr(os, "getpid", lambda: 42)
    monkeypatch.setattr(resource, "getrlimit", lambda _kind: (1024, resource.RLIM_INFINITY))


def here(*, gpu: bool = True, restricted: bool | None = False, driver: str = "580.1") -> Target:
    gpu_here = replace(GPU, driver=driver) if gpu else None
    return replace(
        target.detect(), gpu=gpu_here, memory_bytes=100_000_000_000, counters_restricted=restricted
    )


def engine(name: str, where: Target, options: Options = Options()) -> Engine:  # noqa: B008
    return make(name, manifest.find(CHECKOUT / "problems", "1"), Host(where), options)


def cell(capture: str, variant: str = "f8-0.13.0-eager") -> Cell:
    problem = manifest.find(CHECKOUT / "problems", "1")
    return plan(problem, Selected((variant,), ("stack-m1",), (capture,)), "cuda")[0]


def command(name: str, capture: str, where: Target, options: Options = Options()) -> Command:  # noqa: B008
    return engine(name, where, options).command(cell(capture), OUT, SCRATCH)


def test_a_cell_in_docker_is_exactly_this() -> None:
    built = engine("docker", here())
    asked = cell("timing")
    command_line = built.command(asked, OUT, SCRATCH)
    content = json.dumps(
        {
            "variant": "f8-0.13.0-eager",
            "case": "stack-m1",
            "capture": "timing",
            "hook": "timing",
            "device": "cuda",
            "params": asked.params,
            "settings": asked.settings,
            "out": "/out",
            "lock": "/work/locks/GPU-1.lock",
            "alone": False,
        }
    )
    assert isinstance(built, container.Container)
    assert command_line.argv == [
        *("/usr/bin/docker", "run", "--rm", "--init", "--pull=never"),
        f"--name=worklogs-2bc40946f954-{asked.id}",
        *(
            f"--label=worklogs.harness={maker.name()}",
            "--network=none",
            "--read-only",
            "--user=1234:5678",
        ),
        "--tmpfs=/tmp:rw,exec,nosuid,nodev,mode=1777,size=90000000000",
        *("--security-opt=no-new-privileges", "--pids-limit=32768", "--memory=90000000000"),
        *("--shm-size=1g", "--ulimit=core=0", "--ulimit=nofile=32768:32768"),
        *("--ulimit=nproc=32768:32768", "--ulimit=fsize=17179869184:17179869184"),
        *("--log-driver=none", "--stop-timeout=5", f"--label=worklogs.run={PLACE}"),
        "--cap-drop=ALL",
        "--gpus=device=GPU-1",
        f"--mount=type=bind,source={CHECKOUT}/harness,target=/work/source/harness,readonly",
        f"--mount=type=bind,source={PROBLEM},target=/work/problem,readonly",
        "--mount=type=bind,source=/runs/r1/scratch/locks,target=/work/locks,readonly",
        f"--mount=type=bind,source={PROBLEM.parent}/workloads,target=/work/source/workloads,readonly",
        "--mount=type=bind,source=/runs/r1/cells/.c/out,target=/out",
        *("--env=HOME=/tmp", "--env=TMPDIR=/tmp", "--env=USER=worklogs"),
        "--env=PYTHONUNBUFFERED=1",
        f"--env=HARNESS_CELL={content}",
        "--env=PYTHONPATH=/work/source:/opt/envs/torchao-0.13.0:/opt/envs/probe",
        "--env=TORCHINDUCTOR_CACHE_DIR=/tmp/inductor",
        "--env=TRITON_CACHE_DIR=/tmp/triton",
        f"--env=TORCHINDUCTOR_COMPILE_THREADS={min(4, here().cores)}",
        "--env=HARNESS_RUN",
        *("--workdir=/out", built.image, "python3", "/work/problem/repro.py"),
    ]
    assert (command_line.env, command_line.owner) == ({}, None)


@pytest.mark.parametrize(
    ("study", "needed"),
    [("4", []), ("8", ["4-custom-hgemm"]), ("5", ["4-custom-hgemm", "8-gemm-any-shape"])],
)
def test_needed_folders_are_beside_the_problem_and_read_only(study: str, needed: list[str]) -> None:
    problem = manifest.find(CHECKOUT / "problems", study)
    seen = {mount.target: mount for mount in inside.mounts(problem, SCRATCH)}
    beside = [name for name in seen if name.startswith("/work/") and name[6].isdigit()]
    assert beside == [f"/work/{name}" for name in needed]
    assert [seen[name].source for name in beside] == [problem.folder.parent / n for n in needed]
    assert not any(mount.writable for mount in seen.values())


def test_containers_of_two_runs_have_names_apart() -> None:
    built, asked = engine("docker", here()), cell("nsys")
    names = set()
    for runs in ("/runs", "/another/checkout/runs"):  # in both, a run began in the same second
        out, scratch = Path(runs, "r1/cells/.c"), Path(runs, "r1/scratch")
        names.add(built.command(asked, out, scratch).name)
        names |= {export.name for export in built.afterwards(asked, out)}
    assert len(names) == 2 * (1 + len(built.afterwards(asked, OUT))) > 2


def test_podman_differs_in_the_gpu_and_in_who_root_is() -> None:
    docker, podman = (command(name, "timing", here()).argv for name in ("docker", "podman"))
    assert [flag for flag in podman if flag not in docker] == [
        "/usr/bin/podman",
        "--userns=keep-id",
        "--tmpfs=/var/tmp:ro",
        f"--security-opt=seccomp={SECCOMP}",
        "--device=nvidia.com/gpu=all",
        "--env=CUDA_VISIBLE_DEVICES=GPU-1",
    ]
    assert [flag for flag in docker if flag not in podman] == [
        "/usr/bin/docker",
        "--gpus=device=GPU-1",
    ]


@pytest.mark.parametrize(("names", "device"), [(["0", "all"], "0"), (["GPU-1", "0"], "GPU-1")])
def test_podman_takes_one_gpu_where_the_specification_names_it(
    monkeypatch: pytest.MonkeyPatch, names: list[str], device: str
) -> None:
    monkeypatch.setattr(rights, "cdi_devices", lambda: names)
    argv = command("podman", "timing", here()).argv
    assert f"--device=nvidia.com/gpu={device}" in argv
    assert not any("CUDA_VISIBLE_DEVICES" in flag for flag in argv)


def test_a_cell_of_two_gpus_is_shown_two(monkeypatch: pytest.MonkeyPatch) -> None:
    first = here().gpu
    assert first is not None
    gpus = (first, replace(first, uuid="GPU-2", index=1))
    assert rights.gpu_flags("docker", gpus) == ['--gpus="device=GPU-1,GPU-2"']
    monkeypatch.setattr(rights, "cdi_devices", lambda: ["GPU-1", "1"])
    assert rights.gpu_flags("podman", gpus) == [
        "--device=nvidia.com/gpu=GPU-1",
        "--device=nvidia.com/gpu=1",
    ]
    monkeypatch.setattr(rights, "cdi_devices", lambda: ["all"])
    assert rights.gpu_flags("podman", gpus) == [
        "--device=nvidia.com/gpu=all",
        "--env=CUDA_VISIBLE_DEVICES=GPU-1,GPU-2",
    ]


def test_without_a_gpu_none_is_asked_for() -> None:
    for name in ("docker", "podman"):
        argv = command(name, "timing", here(gpu=False)).argv
        assert not any(flag.startswith(("--gpus", "--device")) for flag in argv)
        assert "/work/locks/cpu.lock" in next(flag for flag in argv if "HARNESS_CELL" in flag)


def test_a_caller_who_is_root_is_not_root_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rights, "caller", lambda: (0, 0))
    for name in ("docker", "podman"):
        built = command(name, "timing", here())
        assert "--user=1000:1000" in built.argv
        assert built.owner == 1000
        assert "--userns=keep-id" not in built.argv


@pytest.mark.parametrize("name", ["docker", "podman"])
@pytest.mark.parametrize("capture", ["timing", "memory", "torch", "nsys", "ncu"])
@pytest.mark.parametrize(
    ("restricted", "driver", "right"),
    [(False, "580.1", None), (True, "580.1", "PERFMON"), (True, "550.9", "SYS_ADMIN")],
)
def test_only_counters_get_a_capability_and_only_where_the_driver_asks(
    name: str, capture: str, restricted: bool, driver: str, right: str | None
) -> None:
    where = here(restricted=restricted, driver=driver)
    built = engine(name, where)
    argv = built.command(cell(capture), OUT, SCRATCH).argv
    wanted = [f"--cap-add={right}"] if capture == "ncu" and right else []
    assert [flag for flag in argv if flag.startswith("--cap-add")] == wanted
    assert argv.count("--cap-drop=ALL") == 1
    assert not any(bad in flag for bad in FORBIDDEN for flag in argv)


def test_the_profiler_wraps_the_workload_inside_and_exports_there() -> None:
    built = engine("docker", here())
    argv = built.command(cell("nsys"), OUT, SCRATCH).argv
    inside = argv[argv.index("--workdir=/out") + 2 :]
    assert inside[:2] == ["nsys", "profile"]
    assert inside[-3:] == ["--output=/out/trace.nsys-rep", "python3", "/work/problem/repro.py"]
    (export,) = built.afterwards(cell("nsys"), OUT)
    assert export.argv[export.argv.index("--workdir=/out") + 2 :][:2] == ["nsys", "export"]
    assert not any(flag.startswith("--gpus") for flag in export.argv)
    assert built.afterwards(cell("timing"), OUT) == []


def test_a_cell_of_an_environment_with_an_image_runs_in_it_with_its_own_interpreter(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    problem = manifest.find(CHECKOUT / "problems", "9")
    chosen = Selected(("vllm",), ("at-once",))
    asked = plan(problem, chosen, "cuda", here=Able(images=True))[0]
    built = make("docker", problem, Host(here()), Options())
    argv = built.command(asked, OUT, SCRATCH).argv
    image = problem.environments["vllm"].image
    assert argv[-2:] == [image, "/work/problem/repro.py"]
    assert "--entrypoint=python3" in argv
    assert "--env=PYTHONPATH=/work/source" in argv
    with pytest.raises(UsageError, match="image of its environment"):
        plan(problem, chosen, "cuda")
    done: list[list[str]] = []
    monkeypatch.setattr(Client, "image_digest", lambda _, name: None if "@" in name else "here")
    monkeypatch.setattr(Client, "version", lambda _: "1")
    monkeypatch.setattr(process, "run", lambda argv, **_: done.append(argv))
    built.prepare(["plain", "vllm"], tmp_path / "log")
    assert done == [["/usr/bin/docker", "pull", image]] == built.preparation(["plain", "vllm"])


def test_a_path_with_a_comma_stays_one_path() -> None:
    assert rights.Mount(Path('/a,"b'), "/out", writable=True).flag() == (
        '--mount=type=bind,"source=/a,""b",target=/out'
    )


def test_the_hosts_interpreter_in_an_image_as_it_is(tmp_path: Path) -> None:
    options = Options(Path("/opt/torch/bin/python3"), tmp_path, "base:1", (tmp_path,))
    argv = command("podman", "timing", here(), options).argv
    store = CHECKOUT / ".envs"
    assert f"--mount=type=bind,source={tmp_path},target={tmp_path},readonly" in argv
    assert f"--mount=type=bind,source={store},target={store},readonly" in argv
    assert argv[-3:] == ["base:1", "/opt/torch/bin/python3", "/work/problem/repro.py"]
    assert any(flag.startswith("--env=PATH=") for flag in argv)
    assert any(f"{store}/torchao-0.13.0-" in flag for flag in argv if "PYTHONPATH" in flag)


def test_a_folder_is_mounted_once_and_under_the_name_that_was_given(tmp_path: Path) -> None:
    (tmp_path / "cuda-13.0").mkdir()
    (tmp_path / "cuda").symlink_to("cuda-13.0")
    named = (tmp_path / "cuda", tmp_path / "cuda", tmp_path / "cuda-13.0")
    argv = command("podman", "timing", here(), Options(mounts=named)).argv
    source = tmp_path / "cuda-13.0"
    assert [flag for flag in argv if str(tmp_path) in flag] == [
        f"--mount=type=bind,source={source},target={tmp_path / 'cuda'},readonly",
        f"--mount=type=bind,source={source},target={source},readonly",
    ]


def test_a_hosts_interpreter_needs_an_image() -> None:
    with pytest.raises(UsageError, match="--image"):
        engine("docker", here(), Options(python=Path("/opt/python")))


def test_an_image_that_is_not_there_is_told_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path, "docker", "case $1 in version) echo 1;; *) exit 1;; esac")
    monkeypatch.setattr(docker_cli, "_builders", lambda _: [str(tmp_path / "docker")])
    built = engine("docker", here(), Options(image="gone:1"))
    with pytest.raises(ToolError, match="docker has no image gone:1"):
        built.prepare([], tmp_path / "log")


def test_an_engine_in_another_place_is_found_by_the_cells_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///run/user/1/docker.sock")
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/1")
    assert {"DOCKER_HOST", "XDG_RUNTIME_DIR"} <= set(process.environment({}))


def test_images_are_named_by_what_they_are_made_of(tmp_path: Path) -> None:
    where = here(gpu=False)
    base, own = builds(STUDY, where, Options())
    assert base.tag.startswith("worklogs/base:")
    assert own.tag.startswith("worklogs/1-torchao-float8:")
    assert own.arguments == {"BASE": base.tag}
    other, over = builds(STUDY, where, Options(build_arguments=("BASE_IMAGE=debian:1",)))
    assert len({base.tag, own.tag, other.tag, over.tag}) == 4
    assert builds(STUDY, where, Options(wheels=tmp_path))[0].tag == base.tag
    gpu, _ = builds(STUDY, here(), Options())
    assert (gpu.arguments, base.arguments["TORCH_LOCK"]) == (
        {"TORCH_LOCK": "torch-gpu.lock", "PROBE_LOCK": "probe.lock"},
        "torch-cpu.lock",
    )


def test_a_problem_is_told_what_its_own_dockerfile_asks_for(tmp_path: Path) -> None:
    dockerfile = written(tmp_path, GOOD) / "Dockerfile"
    dockerfile.write_text("ARG BASE\nARG NVCC=with\nARG X=1\nFROM ${BASE}\n")
    study = manifest.load(dockerfile.parent)
    base, own = builds(study, here(gpu=False), Options(build_arguments=("X=2", "Y=3")))
    assert own.arguments == {"BASE": base.tag, "NVCC": "without", "X": "2"}
    base, own = builds(study, here(), Options())
    assert own.arguments == {"BASE": base.tag, "NVCC": "with"}


def test_a_dockerfile_that_copies_scripts_sees_them_as_a_cell_does() -> None:
    """Those of the problem and those that it uses of others: a change of one is another image."""
    study = manifest.find(CHECKOUT / "problems", "8")
    _, own = builds(study, here(), Options())
    copied = {name for name in own.sources if name.startswith("scripts/")}
    assert copied == {f"scripts/{name}" for name in study.used} | {
        f"scripts/problem/{path.relative_to(study.folder)}" for path in study.scripts
    }
    assert {"scripts/problem/cubins.py", "scripts/4-custom-hgemm/build.py"} <= copied
    assert "scripts/4-custom-hgemm/repro.py" not in copied
    assert own.sources.keys() - copied == {"Dockerfile", "env/cutlass.lock"}
    _, without = builds(STUDY, here(), Options())
    assert not any(name.startswith("scripts/") for name in without.sources)


def test_a_build_sees_its_files_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.whl").write_bytes(b"wheel")
    (tmp_path / "ca.pem").write_text("certificate")
    for name in ("SSL_CERT_FILE", "PIP_CERT", "WORKLOGS_INDEX", "HTTPS_PROXY", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    base, _ = builds(STUDY, here(gpu=False), Options(wheels=tmp_path))
    base.stage()
    try:
        copied = {str(path.relative_to(base.context)) for path in base.context.rglob("*.*")}
        assert copied == {
            *("docker/tools.lock", "requirements/torch-cpu.lock", "requirements/torch-gpu.lock"),
            "requirements/probe.lock",
            "wheels/a.whl",
        }
        assert os.access(base.context / "docker" / "install-locked", os.X_OK)
    finally:
        shutil.rmtree(base.context)
    assert base.argv(Client("docker")) == [
        *("env", "DOCKER_BUILDKIT=1", "/usr/bin/docker", "build", f"--tag={base.tag}"),
        "--network=none",
        f"--file={base.context}/docker/Dockerfile",
        *("--build-arg=PROFILERS=without", "--build-arg=TORCH_LOCK=torch-cpu.lock"),
        *("--build-arg=TORCH_UNLOCKED=torch==2.13.0", str(base.context)),
    ]
    assert [flag for flag in base.argv(Client("podman")) if "ulimit" in flag] == [
        "--ulimit=nofile=32768:32768",
        "--ulimit=nproc=32768:32768",
    ]
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    monkeypatch.setenv("HTTPS_PROXY", "http://user:word@proxy:1")
    argv = base.argv(Client("docker"))
    assert f"--secret=id=ca,src={tmp_path}/ca.pem" in argv
    assert (
        "--build-arg=HTTPS_PROXY" in argv
    )  # its value, a password maybe, stays in our environment


@pytest.mark.parametrize("argument", ["BASE_IMAGE", "=x", "a b=c", "--x=1"])
def test_a_build_argument_has_a_name_and_a_value(argument: str) -> None:
    with pytest.raises(UsageError, match="NAME=VALUE"):
        engine("docker", here(), Options(build_arguments=(argument,)))


@pytest.mark.parametrize(
    ("log", "remedy"),
    [
        (
            "dial unix /var/run/docker.sock: connect: permission denied: "
            "permission denied while trying to connect to the Docker daemon socket at "
            "unix:///var/run/docker.sock",
            "join the group docker",
        ),
        (
            "Cannot connect to the Docker daemon at unix:///x. Is the docker daemon running?",
            "start",
        ),
        (
            'docker: error during connect: Get "http://%2Fx%2Fsocket/v1.41/version": read unix '
            "@->/x/socket: read: connection reset by peer",
            "start",
        ),
        (
            'docker: Error response from daemon: could not select device driver "" with '
            "capabilities: [[gpu]].\nSee 'docker run --help'.",
            "NVIDIA Container Toolkit",
        ),
        (
            "Error: setting up CDI devices: unresolvable CDI devices nvidia.com/gpu=all",
            "nvidia-ctk",
        ),
        ("nvidia-container-cli: requirement error: unsatisfied condition: cuda>=13.0", "GPU"),
        ("write /var/lib/docker/tmp/x: no space left on device", "docker system prune"),
        ("docker: Error response from daemon: No such image: worklogs/a:1.", "BASE_IMAGE"),
        ("Error: worklogs/a:1: image not known", "BASE_IMAGE"),
        ("ERROR (catatonit:2): failed to exec pid1: No such file or directory", "--mount"),
        ('exec: "ncu": executable file not found in $PATH: unknown', "PATH"),
        ("ERROR: BuildKit is enabled but the buildx component is missing or broken.", "buildx"),
        ("Traceback (most recent call last):\nValueError: 7", ""),
    ],
)
def test_each_trouble_has_its_remedy(log: str, remedy: str) -> None:
    line = explained(log)
    assert remedy in line
    assert bool(line) == bool(remedy)
    assert "\n" not in line


def program(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_the_client_that_can_build_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    for name, answer in (("new", "ERROR: buildx component is missing"), ("old", "--secret list")):
        (tmp_path / name).mkdir()
        program(tmp_path / name, "docker", f"echo '{answer}'")
    monkeypatch.setenv("PATH", f"{tmp_path}/new:{tmp_path}/old:/usr/bin:/bin")
    assert Client("docker").program == f"{tmp_path}/old/docker"
    monkeypatch.setenv("PATH", f"{tmp_path}/new")
    with pytest.raises(ToolError, match="cannot build images"):
        Client("docker")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolError, match="not found on PATH"):
        Client("podman")


def test_an_engine_that_hangs_is_left_at_the_deadline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path, "docker", 'echo "$@" >> "$0.log"; sleep 60')
    monkeypatch.setattr(docker_cli, "_builders", lambda _: [str(tmp_path / "docker")])
    monkeypatch.setattr(docker_cli, "_END_S", 0.3)
    assert "no answer" in Client("docker").end("c")
    assert (tmp_path / "docker.log").read_text().split() == shlex.split("rm --force c")


def test_a_resume_removes_the_containers_of_its_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = 'echo "$@" >> "$0.log"; case $1 in ps) echo one; echo two;; esac'
    program(tmp_path, "podman", script)
    monkeypatch.setattr(docker_cli, "_builders", lambda _: [str(tmp_path / "podman")])
    engine("podman", here()).end_run(SCRATCH.parent)
    assert (tmp_path / "podman.log").read_text().splitlines() == [
        f"ps --all --filter=label=worklogs.run={PLACE} --format={{{{.Names}}}}",
        "rm --force --time=0 one",
        "rm --force --time=0 two",
    ]


def test_a_resume_stops_where_a_container_of_its_run_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path, "docker", "case $1 in ps) echo one;; *) echo busy >&2; exit 1;; esac")
    monkeypatch.setattr(docker_cli, "_builders", lambda _: [str(tmp_path / "docker")])
    with pytest.raises(ToolError, match=r"container one: .*busy"):
        engine("docker", here()).end_run(SCRATCH.parent)


def test_a_container_that_is_gone_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path, "docker", "echo 'Error: No such container: c' >&2; exit 1")
    monkeypatch.setattr(docker_cli, "_builders", lambda _: [str(tmp_path / "docker")])
    assert Client("docker").end("c") == ""


def test_strays_are_those_whose_harness_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    label, machine = "worklogs.harness", maker.name().split("-")[0]
    lines = f"mine a=1,{label}={maker.name()}\nleft {label}={machine}-99999998-1,b=2"
    lines += f"\nother map[a:1 {label}:{machine}-99999999-1]\nfar a=1,{label}=00000000-1-1,b=2"
    program(tmp_path, "docker", f"cat <<'END'\n{lines}\nEND")
    monkeypatch.setattr(docker_cli, "_builders", lambda _: [str(tmp_path / "docker")])
    assert Client("docker").strays() == ["left", "other"]


def test_auto_takes_a_container_before_the_host_where_one_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Client, "version", lambda _self: "1")
    monkeypatch.setattr(Client, "has_gpus", lambda self: self.name == "podman")
    assert [name for name, _ in choose("auto", here())] == ["podman", "local"]
    cpu = [name for name, _ in choose("auto", here(gpu=False))]
    assert cpu == ["docker", "podman", "local"]


def test_cdi_names_are_read_and_other_files_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(docker_cli, "_CDI", (tmp_path, tmp_path / "absent"))
    (tmp_path / "a.json").write_text(
        '{"kind": "nvidia.com/gpu", "devices": [{"name": "0"}, {"name": "all"}]}'
    )
    (tmp_path / "b.yaml").write_text("kind: other/nic\ndevices: [{name: x}]\n")
    (tmp_path / "c.yaml").write_text("{")
    assert cdi_devices() == ["0", "all"]
