"""``harness run`` beside a GPU: with what requirements/run.lock holds, and nothing that reads."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.locked import locked
from tests.support.paths import DATA, ROOT

START = """
import sys
for name in {absent!r}:
    sys.modules[name] = None
from harness.cli import main
sys.argv = ["harness", *{arguments!r}]
main()
"""


TRACE = DATA / "torch" / "mi300x_step.json.gz"


def names(lock: str) -> set[str]:
    return modules((ROOT / "requirements" / lock).read_text())


def modules(lock: str) -> set[str]:
    """Return the packages of a lock by what most of them are imported as."""
    return {name.replace("-", "_") for name in re.findall(r"^([\w.-]+)==", lock, re.MULTILINE)}


def bare(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the harness with what requirements/run.lock holds."""
    absent = sorted(names("harness.lock") - names("run.lock"))
    assert {"polars", "altair", "jinja2"} <= set(absent)
    return without(absent, *arguments)


def without(absent: list[str], *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the harness where some packages cannot be imported."""
    code = START.format(absent=absent, arguments=arguments)
    argv = [sys.executable, "-c", code]
    return subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "arguments",
    [
        ("list",),
        ("doctor", "--json"),
        ("schema",),
        ("run", "1", "--commands", "--engine", "local", "--python", sys.executable),
    ],
)
def test_what_runs_beside_the_gpu_needs_no_reader(arguments: tuple[str, ...]) -> None:
    done = bare(*arguments)
    assert done.stderr == ""
    assert done.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("inspect", "reports/1-torchao-float8/nvidia-h200"),
        ("diff", "reports/1-torchao-float8/nvidia-h200", "reports/1-torchao-float8/nvidia-h200"),
        ("diagnose", "reports/1-torchao-float8/nvidia-h200"),
        ("check", "1"),
        ("report", "1", "--report", "reports/1-torchao-float8/nvidia-h200"),
        ("run", "1", "--engine", "local", "--python", sys.executable, "--worklog"),
    ],
)
def test_what_reads_names_the_extra_that_is_not_installed(arguments: tuple[str, ...]) -> None:
    done = bare(*arguments)
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(
        r"harness: \w+ is not installed \(in a checkout of the harness: pip install "
        r"(\.|'\.\[figures\]')\)\n",
        done.stderr,
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ("diagnose", str(TRACE)),
        ("inspect", str(TRACE)),
        ("audit", str(TRACE)),
        ("diff", str(TRACE), str(TRACE)),
        ("view", str(TRACE), "-o", "{folder}/view.html"),
    ],
)
def test_captures_are_read_by_what_is_installed_without_extras(
    arguments: tuple[str, ...], tmp_path: Path
) -> None:
    base = modules(locked([]))
    assert {"polars", "msgspec", "jinja2"} <= base
    absent = [*sorted(names("harness.lock") - base), "pynvml", "vl_convert"]
    assert {"docker", "altair", "mcp"} <= set(absent)
    done = without(absent, *(each.format(folder=tmp_path) for each in arguments))
    assert (done.returncode, done.stderr) == (0, "")


def test_doctor_says_that_what_finds_the_gpu_is_not_installed() -> None:
    done = without(["pynvml"], "doctor", "--json")
    assert (done.returncode, done.stderr) == (1, "")
    checks = {each["name"]: each for each in json.loads(done.stdout)["checks"]}
    assert "[run]" in checks["pynvml"]["remedy"]
    assert {"Python", "disk", "docker"} <= checks.keys()
    assert "GPU" not in checks


def test_a_module_of_our_own_that_is_absent_is_a_bug() -> None:
    code = "import sys; sys.modules['harness.cli.app'] = None; from harness.cli import main; main()"
    argv = [sys.executable, "-c", code]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "Traceback" in done.stderr
