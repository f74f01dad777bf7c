"""One host, two GPUs: cells side by side where they may be, each GPU under a lock of its own."""

import json
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from harness.cli.app import app
from harness.engines import ENGINES
from harness.engines.engine import Command, Node
from harness.engines.options import Options
from harness.ground import checkout
from harness.ground.errors import HarnessError, ToolError
from harness.machine import gpu_lock
from harness.machine.host import Host
from harness.machine.target import Target
from harness.problem.model import Problem
from harness.problem.plan import Cell
from harness.run.session import Request, session
from harness.store.run_folder import Run
from tests.support.bench import WELL, Scripts
from tests.support.manifests import GOOD, written

pytestmark = pytest.mark.usefixtures("a_lock_of_our_own")

CASES = "  left: {label: Left}\n  right: {label: Right}\n  busy: {label: Busy, loads_host: true}\n"
TEXT = GOOD.replace("  small: {label: Small}\n", CASES).replace("case: small", "case: left")

MEET = """touch "$SCRATCH/$CASE"; for _ in $(seq 400); do
 test -e "$SCRATCH/left" && test -e "$SCRATCH/right" && break; sleep 0.05; done
test -e "$SCRATCH/left" && test -e "$SCRATCH/right" || { echo alone; exit 1; }
"""
"""A cell that ends well only if the other case's cell runs meanwhile, or did before."""
AWAIT_LATER = """for _ in $(seq 400); do test -e "$SCRATCH/later" && break; sleep 0.05; done
test -e "$SCRATCH/later" || { echo "nobody took it over"; exit 1; }
"""
QUIET = 'ls "$SCRATCH"/running.* 2>/dev/null && { echo "not alone"; exit 1; }\n'


class TwoGpus(Scripts):
    """Cells as scripts on a machine with two GPUs; notes which GPU each cell was given."""

    target: Target
    seen: list[tuple[str, str]]
    by_case: dict[str, str]

    def __init__(self, problem: Problem, node: Node, options: Options) -> None:
        super().__init__({}, node)

    @classmethod
    def find_node(cls, _options: Options) -> Node:
        return Host(cls.target)

    def command(self, cell: Cell, out: Path, scratch: Path) -> Command:
        gpu = self.node.target.gpu
        assert gpu is not None
        self.seen.append((cell.case, gpu.uuid))
        script = self.by_case.get(cell.case, QUIET if cell.loads_host else MEET)
        name = f'"$SCRATCH/running.{cell.id}"'
        env = {"OUT": str(out), "SCRATCH": str(scratch), "CASE": cell.case}
        whole = f"{'' if cell.loads_host else f'touch {name};'}{script}{WELL}; rm -f {name}"
        return Command(["bash", "-c", whole], env, out, cell.id)


@pytest.fixture
def house(tmp_path: Path, with_gpu: Target, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with one problem, on a machine with the GPUs 0 and 2."""
    first = with_gpu.gpus[0]
    TwoGpus.target = replace(with_gpu, more_gpus=(replace(first, index=2, uuid="GPU-2222"),))
    TwoGpus.seen, TwoGpus.by_case = [], {}
    monkeypatch.setitem(ENGINES, "two", lambda: TwoGpus)
    monkeypatch.setattr(checkout, "CHECKOUT", tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("harness.run.calibrate.at_hand", lambda *_: None)
    (tmp_path / "problems").mkdir()
    written(tmp_path / "problems", TEXT)
    return tmp_path


def ran(*arguments: str) -> Run:
    argv = ["run", "9", "--engine", "two", "--rounds", "2", "--capture", "timing", "--json"]
    done = CliRunner().invoke(app, [*argv, *arguments])
    assert done.exit_code == 0, (done.output, done.exception)
    return Run.open(Path(json.loads(done.stdout)["run"]))


@pytest.mark.usefixtures("house")
@pytest.mark.parametrize("jobs", ["1", "4"])
def test_two_gpus_work_side_by_side_and_comparisons_stay_on_one(jobs: str) -> None:
    run = ran("--gpus", "0,2", "--jobs", jobs)
    records = [record for _, record in run.records()]
    assert [record.status for record in records] == ["ok"] * 12
    gpus = {case: {gpu for of, gpu in TwoGpus.seen if of == case} for case in ("left", "right")}
    assert all(len(of) == 1 for of in gpus.values())
    assert set.union(*gpus.values()) == {"GPU-1234", "GPU-2222"}
    assert {record.gpu for record in records if record.case == "left"} == gpus["left"]
    by_origin = [origin.target.gpu.uuid for origin in run.provenance.origins if origin.target.gpu]
    assert by_origin == ["GPU-1234", "GPU-2222"]


def test_a_gpu_that_is_done_takes_over_what_no_other_has_begun(house: Path) -> None:
    """Two cells of "left" or "later" fill a GPU's memory, so "later" waits behind "left"."""
    cases = "".join(
        f"  {case}: {{label: {case}, gpu_memory_gb: {size}}}\n"
        for case, size in (("left", 100), ("right", 1), ("later", 100))
    )
    written(house / "problems", TEXT.replace(CASES, cases))
    TwoGpus.by_case = {"left": AWAIT_LATER, "right": "", "later": 'touch "$SCRATCH/later"\n'}
    run = ran("--gpus", "0,2", "--jobs", "8")
    records = [record for _, record in run.records()]
    assert [record.status for record in records] == ["ok"] * 12
    gpus = {case: {gpu for of, gpu in TwoGpus.seen if of == case} for case in TwoGpus.by_case}
    assert all(len(of) == 1 for of in gpus.values())
    assert gpus["right"] == gpus["later"] != gpus["left"]


@pytest.mark.usefixtures("house")
def test_a_gpu_that_another_run_holds_stops_the_run_and_frees_the_other() -> None:
    argv = ["run", "9", "--engine", "two", "--gpus", "0,2", "--case", "right", "--case", "left"]
    with gpu_lock.held("GPU-2222"):
        done = CliRunner().invoke(app, argv)
    assert isinstance(done.exception, ToolError)
    assert "holds GPU-2222" in str(done.exception)
    with gpu_lock.held("GPU-1234"):
        pass
    assert threading.active_count() == 1


@pytest.mark.usefixtures("house")
@pytest.mark.parametrize(
    ("gpus", "mistake"),
    [
        (("0", "1"), r"no GPU '1' \(there are: 0 \(NVIDIA H200\), 2 \(NVIDIA H200\)\)"),
        (("0", "GPU-12"), "names GPU 0 twice"),
        (("0", ""), "no GPU ''"),
    ],
)
def test_a_gpu_that_is_not_there_is_told(gpus: tuple[str, ...], mistake: str) -> None:
    with pytest.raises(HarnessError, match=mistake):
        session(Request("9", engine="two", gpus=gpus))


@pytest.mark.usefixtures("house")
def test_gpus_of_two_models_are_refused() -> None:
    first, second = TwoGpus.target.gpus
    TwoGpus.target = replace(TwoGpus.target, more_gpus=(replace(second, name="NVIDIA A100"),))
    with pytest.raises(HarnessError, match="0 is NVIDIA H200, 2 is NVIDIA A100"):
        session(Request("9", engine="two", gpus=(str(first.index), str(second.index))))
