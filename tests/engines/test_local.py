"""The local engine: exact commands, offline installs, and what is laid over what."""

import json
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from harness.engines import ENGINES
from harness.engines.choose import choose, make, ready
from harness.engines.local import Local
from harness.engines.options import Options
from harness.ground import files, process
from harness.ground.checkout import CHECKOUT
from harness.ground.errors import ManifestError, ToolError, UsageError
from harness.machine import target
from harness.machine.host import Host
from harness.machine.target import Gpu, Target
from harness.problem import manifest
from harness.problem.plan import Cell, Selected, plan
from tests.support.manifests import GOOD, written

GPU = Gpu(0, "GPU-1", "NVIDIA H200", "9.0", 150 << 30, "580.1", "13.0")
OUT, SCRATCH = Path("/out"), Path("/scratch")


@pytest.fixture
def here() -> Target:
    return replace(target.detect(), gpu=GPU)


@pytest.fixture
def engine(here: Target) -> Local:
    problem = manifest.find(CHECKOUT / "problems", "1")
    built = make("local", problem, Host(here), Options(python=Path("/opt/python")))
    assert isinstance(built, Local)
    return built


def cell(capture: str, variant: str = "f8-0.13.0-eager") -> Cell:
    problem = manifest.find(CHECKOUT / "problems", "1")
    selected = Selected((variant,), ("stack-m1",), (capture,))
    return plan(problem, selected, "cuda")[0]


WORKLOAD = ["/opt/python", str(CHECKOUT / "problems/1-torchao-float8/repro.py")]
NSYS = (
    "nsys profile --trace=cuda,nvtx,cublas --sample=none --cpuctxsw=none --cuda-graph-trace=node "
    "--capture-range=cudaProfilerApi --capture-range-end=stop --force-overwrite=true "
    "--output=/out/trace.nsys-rep"
)
NCU = (
    "ncu --clock-control=none --profile-from-start=off --config-file=off --set=basic "
    "--section=MemoryWorkloadAnalysis --section=ComputeWorkloadAnalysis --section=SchedulerStats "
    "--section=WarpStateStats --section=SourceCounters "
    "--metrics=dram__bytes_read.sum,dram__bytes_write.sum,smsp__thread_inst_executed.sum "
    "--force-overwrite --export=/out/counters.ncu-rep"
)


@pytest.mark.parametrize(
    ("capture", "wrapper"),
    [("timing", ""), ("torch", ""), ("memory", ""), ("nsys", NSYS), ("ncu", NCU)],
)
def test_the_command_of_each_capture_is_exactly_this(
    engine: Local, capture: str, wrapper: str
) -> None:
    command = engine.command(cell(capture), OUT, SCRATCH)
    assert command.argv == [*wrapper.split(), *WORKLOAD]
    content = json.loads(command.env["HARNESS_CELL"])
    assert (content["capture"], content["device"], content["out"]) == (capture, "cuda", "/out")
    assert content["params"]["quantise"] == "float8wo"


def test_a_case_can_have_a_script_of_its_own(engine: Local) -> None:
    command = engine.command(replace(cell("timing"), script="other.py"), OUT, SCRATCH)
    assert command.argv == [WORKLOAD[0], WORKLOAD[1].replace("repro.py", "other.py")]


def test_a_cell_sees_the_targets_gpu_and_no_other(engine: Local, here: Target) -> None:
    assert here.gpu
    assert engine.command(cell("timing"), OUT, SCRATCH).env["CUDA_VISIBLE_DEVICES"] == here.gpu.uuid


def test_inductor_has_few_compile_processes_and_none_under_a_profiler(engine: Local) -> None:
    threads = {
        capture: engine.command(cell(capture), OUT, SCRATCH).env["TORCHINDUCTOR_COMPILE_THREADS"]
        for capture in ("timing", "memory", "nsys", "ncu")
    }
    few = str(min(4, engine.node.target.cores))
    assert threads == {"timing": few, "memory": few, "nsys": "1", "ncu": "1"}


def test_a_cell_that_tunes_alone_compiles_on_all_cores(here: Target) -> None:
    problem = manifest.find(CHECKOUT / "problems", "1")
    host = Host(replace(here, cores=16))
    engine = make("local", problem, host, Options(python=Path("/opt/python")))
    threads = [
        engine.command(replace(cell(capture), alone=alone), OUT, SCRATCH).env[
            "TORCHINDUCTOR_COMPILE_THREADS"
        ]
        for capture, alone in (("timing", True), ("timing", False), ("ncu", True))
    ]
    assert threads == ["16", "4", "1"]


def test_caches_are_the_variants_own_and_scratch_the_cells(engine: Local) -> None:
    env = {
        variant: engine.command(cell("timing", variant), OUT, SCRATCH).env
        for variant in ("f8-0.13.0-eager", "f8-0.14.1-eager")
    }
    for name in ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "TMPDIR", "PYTHONPATH"):
        assert env["f8-0.13.0-eager"][name] != env["f8-0.14.1-eager"][name]


def test_a_variants_environment_variables_reach_its_process(engine: Local) -> None:
    of_variant = replace(cell("timing"), variables={"ABC": "1"})
    env = engine.command(of_variant, OUT, SCRATCH).env
    assert env["ABC"] == "1"
    assert env["PYTHONUNBUFFERED"] == "1"


def test_no_variant_sets_what_the_harness_sets(engine: Local, tmp_path: Path) -> None:
    env = engine.command(cell("timing"), OUT, SCRATCH).env
    for name in [*env, process.RUN]:
        text = GOOD.replace("plain}\n  fast", f"plain, variables: {{{name}: x}}}}\n  fast")
        with pytest.raises(ManifestError, match=f"variables.{name}: the harness sets it itself"):
            manifest.load(written(tmp_path, text))


def test_a_problem_finds_the_workloads_that_it_shares(here: Target) -> None:
    paths = {}
    for number in ("1", "2"):
        problem = manifest.find(CHECKOUT / "problems", number)
        local = make("local", problem, Host(here), Options(python=Path("/opt/python")))
        planned = plan(problem, Selected((problem.baseline,), captures=("timing",)), "cuda")[0]
        paths[number] = local.command(planned, OUT, SCRATCH).env["PYTHONPATH"]
        probe = str(local.probe_overlay)  # type: ignore[attr-defined]
    assert paths == {
        "1": f"{CHECKOUT}:{CHECKOUT / 'problems'}:{probe}",
        "2": f"{CHECKOUT}:{probe}",
    }


@pytest.mark.parametrize("named", ["bin/python", "../venv/bin/python", "worklogs-python"])
def test_an_interpreter_is_found_from_the_folder_of_the_call(
    here: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    venv = tmp_path / "venv"
    (venv / "bin").mkdir(parents=True)
    for name in ("python", "worklogs-python"):
        (venv / "bin" / name).symlink_to(sys.executable)
    monkeypatch.chdir(venv)
    monkeypatch.setenv("PATH", str(venv / "bin"), prepend=os.pathsep)
    options = Options(python=Path(named))
    options.check()
    problem = manifest.find(CHECKOUT / "problems", "1")
    command = make("local", problem, Host(here), options).command(cell("timing"), OUT, SCRATCH)
    found = command.argv[0]
    assert Path(found).is_absolute()
    assert Path(found).is_symlink()  # followed, it would be no longer the venv's
    assert os.path.normpath(found) == str(venv / "bin" / Path(named).name)


def test_without_a_network_everything_comes_from_the_wheels(here: Target) -> None:
    problem = manifest.find(CHECKOUT / "problems", "1")
    options = Options(python=Path("/opt/python"), wheels=Path("/wheels"))
    engine = make("local", problem, Host(here), options)
    engine.store = Path("/nowhere")  # type: ignore[attr-defined]  # as on a fresh machine
    commands = engine.preparation(["torchao-0.13.0"])
    for argv in commands:
        assert argv[:4] == ["/opt/python", "-m", "pip", "install"]
        assert {"--no-index", "--require-hashes", "--no-deps"} <= set(argv)
        assert argv[argv.index("--find-links") + 1] == "/wheels"
    locks = ("requirements/probe.lock", "problems/1-torchao-float8/env/torchao-0.13.0.lock")
    assert [argv[-1] for argv in commands] == [str(CHECKOUT / lock) for lock in locks]


def test_an_install_that_fails_leaves_no_environment(
    here: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing = tmp_path / "python"
    failing.write_text("#!/bin/sh\necho no such wheel >&2; exit 1\n")
    failing.chmod(0o755)
    problem = manifest.find(CHECKOUT / "problems", "1")
    engine = make("local", problem, Host(here), Options(python=failing))
    monkeypatch.setattr(engine, "store", tmp_path / "envs")
    with pytest.raises(ToolError, match=r"no such wheel.*--wheels"):
        engine.prepare(["torchao-0.13.0"], tmp_path / "log.txt")
    assert list((tmp_path / "envs").iterdir()) == []


def test_auto_says_what_it_chose_and_why(here: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.engines.choose._answering", lambda **_: [])
    assert choose("auto", here) == [("local", "auto chose the local engine: a local NVIDIA H200")]
    assert "no GPU here" in choose("auto", replace(here, gpu=None))[0][1]


def test_auto_goes_on_to_the_next_engine_and_says_what_kept_the_first(
    here: Target, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class Broken(Local):
        def prepare(self, environments: list[str], log: Path) -> None:
            raise ToolError("no registry")

    monkeypatch.setattr("harness.engines.choose._answering", lambda **_: ["docker"])
    monkeypatch.setitem(ENGINES, "docker", lambda: Broken)
    problem = manifest.find(CHECKOUT / "problems", "1")
    monkeypatch.setattr(Local, "probe_overlay", None)  # nothing to install
    messages: list[str] = []
    options = Options(python=tmp_path / "python")
    name, _ = ready("auto", problem, Host(here), options, ["plain"], messages.append)
    assert name == "local"
    assert messages == [
        "auto passed docker over: no registry",
        "auto chose the local engine: a local NVIDIA H200",
    ]
    with pytest.raises(ToolError, match="no registry"):
        ready("docker", problem, Host(here), options, ["plain"], messages.append)


def test_runs_of_one_checkout_install_one_after_another(
    here: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = threading.Barrier(2)

    class Slow(Local):
        def prepare(self, environments: list[str], log: Path) -> None:
            together.wait(timeout=0.3)  # a second one in here would pass

    monkeypatch.setitem(ENGINES, "local", lambda: Slow)
    problem = manifest.find(CHECKOUT / "problems", "1")
    asked = (problem, Host(here), Options(python=Path("/opt/python")), ["plain"], lambda _: None)
    with ThreadPoolExecutor(2) as pool:
        first, second = (pool.submit(ready, "local", *asked) for _ in range(2))
    assert isinstance(first.exception(), threading.BrokenBarrierError)
    assert isinstance(second.exception(), threading.BrokenBarrierError)


def test_an_engine_that_does_not_exist_is_told(here: Target) -> None:
    with pytest.raises(UsageError, match="no engine 'cloud'"):
        choose("cloud", here)


def test_locks_carry_hashes_and_no_address() -> None:
    locks = [*CHECKOUT.glob("requirements/*.lock"), *CHECKOUT.glob("problems/*/env/*.lock")]
    assert len(locks) >= 7
    for lock in locks:
        text = lock.read_text()
        assert "--hash=sha256:" in text
        assert "://" not in text
        assert files.safe_name(lock.name)
