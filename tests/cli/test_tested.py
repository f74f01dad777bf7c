"""``harness diagnose --test``: real commands under interventions, whose sensitivities are known."""

import json
import os
import re
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from harness.cli.app import app
from harness.ground.errors import HarnessError
from harness.run.intervene import last_number

CORES = len(os.sched_getaffinity(0))
PLAYED = """
import os, sys
kind, extra = os.environ["HARNESS_SLOW"].split(":")
name = os.environ["HARNESS_SLOW_LOG"] + f"/{os.getpid()}"
open(name, "w").write(sys.argv[1] + chr(10))
cores = len(os.sched_getaffinity(0))
if cores == 1 and "--threads" in sys.argv:
    print("step: 20 ms")
elif "PYTORCH_NO_CUDA_MEMORY_CACHING" in os.environ:
    sys.exit("out of memory")
elif "--rate" in sys.argv:
    print("rate:", 1000 / (10 + 8 * float(extra) * (kind == "host")))
else:
    size = int(sys.argv[-1]) if sys.argv[-1].isdigit() else 1
    print("step: 1 ms", "step:", 2 + size + 8 * float(extra) * (kind == "host"), "ms")
"""
"""A program of which 8 of 10 or 11 ms are the host's, and 1 a sample's; it says ``begin`` as the
library does that lengthens calls, or what its arguments say."""


@pytest.fixture
def played(tmp_path: Path) -> str:
    file = tmp_path / "played.py"
    file.write_text(PLAYED)
    return str(file)


def outcome(cause: str, *words: str, options: tuple[str, ...] = ()) -> tuple[int, str]:
    head = ["diagnose", "--test", cause, "--repeats", "3", *options]
    done = CliRunner().invoke(app, [*head, "--", sys.executable, "-S", *words])
    if isinstance(done.exception, HarnessError):
        raise done.exception
    return done.exit_code, done.stdout


METRIC = ("--metric", r"step: (\S+) ms")


def test_a_cause_that_holds_is_borne_out_and_its_share_is_measured(played: str) -> None:
    code, text = outcome("host-bound", played, "begin", "8", options=(*METRIC, "--json"))
    document = json.loads(text)
    (slowed,) = document["interventions"]
    assert code == 0
    assert slowed["id"] == "slow-host"
    assert slowed["ratio"] == pytest.approx(1.4)
    assert slowed["sensitivity"] == slowed["low"] == pytest.approx(0.8)
    (cause,) = document["causes"]
    assert cause["borne_out"] is True
    assert cause["predictions"][0]["outcome"] == "agrees"


def test_another_cause_is_not_borne_out(played: str) -> None:
    code, text = outcome("launch-bound", played, "begin", options=METRIC)
    assert code == 1
    assert "launch-bound: not borne out: 0 of 1 decided tests agree" in text


def test_a_batch_that_the_command_takes_is_doubled(played: str) -> None:
    options = (*METRIC, "--batch", "38", "--json")
    code, text = outcome("dram-bound", played, "begin", "{batch}", options=options)
    by_id = {each["id"]: each for each in json.loads(text)["interventions"]}
    assert by_id["double-batch"]["ratio"] == pytest.approx(78 / 40)
    assert by_id["slow-host"]["sensitivity"] == pytest.approx(8 / 40)
    assert code == 1  # the host takes 20 % where the device should decide


@pytest.mark.skipif(CORES < 2, reason="one core is all")
def test_all_tells_which_cause_it_is_and_what_could_not_be_measured(played: str) -> None:
    code, text = outcome("all", played, "no CUPTI", "--threads", options=METRIC)
    assert code == 0
    assert "data-starved: borne out" in text
    assert "host-bound" not in text
    assert re.search(r"one-core .* 6\.67× .* 567 %", text)
    assert "not measured: slow-host: CUPTI" in " ".join(text.split())
    assert "not measured: no-caching: failed: out of memory" in " ".join(text.split())


def test_of_a_rate_more_is_faster(played: str) -> None:
    options = ("--metric", r"rate: (\S+)", "--rate", "--json")
    _, text = outcome("host-bound", played, "begin", "--rate", options=options)
    assert json.loads(text)["interventions"][0]["sensitivity"] == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("cause", "words", "options", "message"),
    [
        ("host-bund", ["-c", "0"], (), "did you mean host-bound"),
        ("leak", ["-c", "0"], (), "no test tells whether a program is 'leak'"),
        ("fragmentation", ["-c", "0"], (), "fragmentation costs memory, not time"),
        (
            "host-bound",
            ["-c", "raise SystemExit('no such model')"],
            (),
            "the command fails.*no such model",
        ),
        ("host-bound", ["-c", "0"], METRIC, "prints no positive number for 'step"),
        ("host-bound", ["-c", "0"], ("--metric", "("), "--metric: no regular expression"),
        ("host-bound", ["-c", "0"], ("--rate",), "add --metric"),
        ("host-bound", ["-c", "0"], ("--batch", "8"), "no word of the command has {batch}"),
        ("host-bound", ["-c", "{batch}"], (), "add --batch N"),
        ("host-bound", ["-c", "0"], (), "no intervention can be made: slow-host: .*not use CUDA"),
    ],
)
def test_what_cannot_be_tested_is_one_line(
    cause: str, words: list[str], options: tuple[str, ...], message: str
) -> None:
    with pytest.raises(HarnessError, match=message) as raised:
        outcome(cause, *words, options=options)
    assert raised.value.exit_code == 2


def test_options_of_a_test_need_one() -> None:
    done = CliRunner().invoke(app, ["diagnose", "x.json", "--batch", "8"])
    assert "add --test CAUSE" in str(done.exception)


@pytest.mark.parametrize(
    ("metric", "text", "number"),
    [
        (r"loss \S+", "loss 3.5\nloss 2.5e-1\n", 0.25),
        (r"(\S+) tok/s", "12,500 tok/s", 12500.0),
        ("step (.*) ms", "step 3 ms step 4 ms\nstep 7 ms", 7.0),
        ("time (.*)", "time nan", None),
        ("time (.*)", "nothing", None),
        ("time (.*)", "time 0", None),
    ],
)
def test_the_last_number_that_a_pattern_finds(metric: str, text: str, number: float | None) -> None:
    assert last_number(re.compile(metric), text) == number
