"""``harness run`` beside a GPU: with what requirements/run.lock holds, and nothing that reads."""

import re
import subprocess
import sys

import pytest

from tests.support.paths import ROOT

START = """
import sys
for name in {absent!r}:
    sys.modules[name] = None
from harness.cli import main
sys.argv = ["harness", *{arguments!r}]
main()
"""


def names(lock: str) -> set[str]:
    text = (ROOT / "requirements" / lock).read_text()
    return {name.replace("-", "_") for name in re.findall(r"^([\w.-]+)==", text, re.MULTILINE)}


def bare(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the harness as where it was installed without extras."""
    absent = sorted(names("harness.lock") - names("run.lock"))
    assert {"polars", "altair", "jinja2"} <= set(absent)
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
        r"harness: \w+ is not installed \(pip install the harness with its extra: '\.\[read\]'\)\n",
        done.stderr,
    )


def test_a_module_of_our_own_that_is_absent_is_a_bug() -> None:
    code = "import sys; sys.modules['harness.cli.app'] = None; from harness.cli import main; main()"
    argv = [sys.executable, "-c", code]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "Traceback" in done.stderr
