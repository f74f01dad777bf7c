"""``harness run --bisect``: few variants run, one line says where the metric changes."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from harness.cli.app import app
from harness.engines.engine import Command
from harness.ground.errors import UsageError
from harness.problem.plan import Cell
from tests.support.bench import WELL
from tests.support.manifests import GOOD, written
from tests.support.toy_engine import Toy, settle

RELEASES = [f"r{number}" for number in range(9)]
VARIANTS = "".join(f"  {name}: {{label: {name}, environment: plain}}\n" for name in RELEASES)
SLOWER_FROM = 6

pytestmark = pytest.mark.usefixtures("a_lock_of_our_own")


class Releases(Toy):
    """Cells take 2.0 ms, from release 6 on 2.6 ms; release 4 fails."""

    def command(self, cell: Cell, out: Path, scratch: Path) -> Command:
        number = int(cell.variant.removeprefix("r"))
        value = (2.6 if number >= SLOWER_FROM else 2.0) + 1e-3 * cell.round
        script = "exit 1" if number == 4 else WELL.replace("2.0", f"{value}")
        return Command(["bash", "-c", script], {"OUT": str(out)}, out)


@pytest.fixture(autouse=True)
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkout with problem 9 of nine releases."""
    settle(tmp_path, monkeypatch, Releases)
    text = GOOD.replace("baseline: slow", "baseline: r0")
    before, rest = text.split("variants:\n")
    rest = rest[rest.index("cases:") :].replace("variant: fast", "variant: r1")
    written(tmp_path / "problems", f"{before}variants:\n{VARIANTS}{rest.replace('slow', 'r0')}")


def harness(*arguments: str) -> Result:
    asked = ("run", "9", "--engine", "toy", "--rounds", "3", "--jobs", "1", *arguments)
    return CliRunner().invoke(app, asked)


def test_the_release_that_is_slower_is_found_by_few_runs() -> None:
    done = harness("--bisect", "time", "--case", "small", "--json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert (told["before"], told["after"]) == ("r5", "r6")
    assert told["is_told"]
    assert told["ratio"] == pytest.approx(1.3, abs=0.01)
    assert told["low"] <= told["ratio"] <= told["high"]
    assert told["without"] == ["r4"]
    assert len(told["measured"]) < len(RELEASES) - 1
    cells = [each.name for each in (Path(told["run"]) / "cells").iterdir()]
    assert len(cells) == 3 * len(told["measured"] + told["without"])


def test_it_says_so_in_words() -> None:
    done = harness("--bisect", "time", "--case", "small", "--variant", "r5", "--variant", "r6")
    assert "it changes between r5 and r6: 1.30" in done.output
    assert "2 of 2 variants were run" in done.output


def test_variants_that_do_not_differ_are_told_apart_from_those_that_do() -> None:
    done = harness("--bisect", "time", "--case", "small", "--variant", "r0", "--variant", "r3")
    assert "no change is told between r0 and r3" in done.output


@pytest.mark.parametrize(
    ("arguments", "mistake"),
    [
        (("--bisect", "speed", "--case", "small"), "no metric 'speed' (there are: time)"),
        (("--bisect", "time"), "--bisect needs one --case"),
        (("--bisect", "time", "--case", "small", "--dry-run"), "goes without --dry-run"),
        (("--bisect", "time", "--case", "small", "--on", "slurm"), "goes without --on"),
        (("--bisect", "time", "--case", "large"), "--bisect needs one --case"),
        (("--bisect", "time", "--case", "small", "--variant", "r1"), "fewer than two"),
        (("--bisect", "time", "--case", "small", "--variant", "x"), "no variant 'x'"),
        (
            ("--bisect", "time", "--case", "small", "--variant", "r0", "--variant", "r4"),
            "no value of the first or the last",
        ),
    ],
)
def test_what_cannot_be_bisected_is_told_in_a_line(
    arguments: tuple[str, ...], mistake: str
) -> None:
    done = harness(*arguments)
    assert isinstance(done.exception, UsageError)
    assert mistake in str(done.exception)
