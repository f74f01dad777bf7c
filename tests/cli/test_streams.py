"""The standard streams at their worst: a poor locale, a full disk, a reader that has left."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT

pytestmark = pytest.mark.slow

HARNESS = (sys.executable, "-m", "harness")
DRY_RUN = ("run", "1", "--commands", "--engine", "local")
REPORT = str(ROOT / "reports" / "1-torchao-float8" / "nvidia-h200")

COMMANDS = [("--help",), ("list",), ("list", "--json"), DRY_RUN, ("inspect", REPORT)]
LOCALES = {
    "ASCII": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "ASCII output": {"LC_ALL": "C", "PYTHONIOENCODING": "ascii"},
    "Latin-1 output": {"PYTHONIOENCODING": "latin-1"},
}


@pytest.mark.parametrize("locale", LOCALES)
@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_any_locale_prints(arguments: tuple[str, ...], locale: str) -> None:
    env = os.environ | LOCALES[locale]
    done = subprocess.run([*HARNESS, *arguments], cwd=ROOT, env=env, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout


def test_a_character_that_the_locale_lacks_is_an_escape() -> None:
    code = "from harness.cli import streams\nwith streams.guarded(): print('1.5 µs ±5 % \\ud800')"
    env = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=env, capture_output=True)
    assert done.stdout == b"1.5 \\xb5s \\xb15 % \\ud800\n"


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_a_full_disk_is_one_line(arguments: tuple[str, ...]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run([*HARNESS, *arguments], cwd=ROOT, stdout=full, stderr=subprocess.PIPE)
    line = b"harness: stdout: not printed: No space left on device\n"
    assert (done.returncode, done.stderr) == (1, line)


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_a_reader_that_has_left_is_no_error_to_report(arguments: tuple[str, ...]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [*HARNESS, *arguments], cwd=ROOT, stdout=writer, stderr=subprocess.PIPE
        )
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (1, b"")


@pytest.mark.parametrize(
    ("arguments", "status"), [(("list",), 0), (("run", "77"), 2)], ids=["list", "run 77"]
)
@pytest.mark.parametrize("closed", ["1", "2", "1 2", "0 1 2"])
def test_closed_streams_change_no_exit_code(
    arguments: tuple[str, ...], status: int, closed: str
) -> None:
    code = f"import os; [os.close(int(fd)) for fd in {closed!r}.split()]; os.execv({HARNESS[0]!r}, "
    code += f"{[*HARNESS, *arguments]!r})"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True)
    assert done.returncode == status
    assert b"Traceback" not in done.stderr


def test_an_error_that_cannot_be_told_keeps_its_exit_code() -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run([*HARNESS, "run", "77"], cwd=ROOT, stderr=full)
    assert done.returncode == 2
