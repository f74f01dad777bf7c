"""An engine that is one file and one registry line, from the plan to published cells."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from harness.cli.app import app
from harness.engines import ENGINES
from harness.ground import checkout
from harness.store.run_folder import Run
from tests.support.manifests import GOOD, written
from tests.support.toy_engine import Toy, ToyNode

SELECTED = ("9", "--engine", "toy", "--variant", "slow", "--rounds", "1")


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with one problem, and the toy among the engines."""
    monkeypatch.setitem(ENGINES, "toy", lambda: Toy)
    monkeypatch.setattr(Toy, "nodes", [])
    monkeypatch.setattr(checkout, "CHECKOUT", tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "problems").mkdir()
    written(tmp_path / "problems", GOOD)
    return tmp_path


def ran(*arguments: str) -> tuple[Run, ToyNode]:
    done = CliRunner().invoke(app, ["run", *SELECTED, "--json", *arguments])
    assert done.exit_code == 0, done.output
    (node,) = Toy.nodes
    return Run.open(Path(json.loads(done.stdout)["run"])), node


@pytest.mark.usefixtures("house")
def test_a_toy_engine_walks_a_run_from_the_plan_to_published_cells() -> None:
    run, node = ran("--lock-clocks", "1500")
    assert (run.provenance.target.cpu, run.provenance.arguments.engine) == ("a toy CPU", "toy")
    (record,) = (record for _, record in run.records())
    assert (record.status, record.gpu) == ("ok", "GPU-toy")
    assert record.seen.sm_mhz is not None
    assert record.seen.sm_mhz.median == 1234.0
    assert [sample.value for sample in record.workload.samples] == [2.0]
    # Nobody asks this host's GPU: the node is held while its monitor watches the cell.
    assert node.calls == [
        *("check 1500 MHz", "hold 1", "hold 1500 MHz", "monitor", "release clock", "release")
    ]


def test_a_dry_run_asks_the_engine_and_writes_nothing(house: Path) -> None:
    before = sorted(house.rglob("*"))
    done = CliRunner().invoke(app, ["run", *SELECTED, "--commands"])
    lines = done.stdout.splitlines()
    assert (done.exit_code, lines[0].split()[0]) == (0, "toy-install")
    assert [line.split(".")[1] for line in lines if line.startswith("# ")] == ["slow"]
    assert sorted(house.rglob("*")) == before


def test_a_cell_that_the_engine_cannot_hold_the_gpu_for_is_not_run(
    house: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from harness.ground.errors import ToolError

    def busy(_node: ToyNode, _count: int) -> None:
        raise ToolError("another run holds GPU-toy")

    monkeypatch.setattr(ToyNode, "hold_gpus", busy)
    done = CliRunner().invoke(app, ["run", *SELECTED, "--lock-clocks", "1500"])
    assert isinstance(done.exception, ToolError)
    assert not list(house.glob("runs/*/*/cells"))
