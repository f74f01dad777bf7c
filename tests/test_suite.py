"""Rules of the tests themselves: what they may share, and what they leave alone."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.guard.sitecustomize import installer


@pytest.mark.parametrize(
    "line",
    [
        "pip install x",
        "/usr/bin/pip3.11 install x",
        "/v/bin/python3.11 -m pip install --quiet x",
        "uv pip sync x.lock",
        "apt-get install -y runc",
        "npm ci",
    ],
)
def test_an_installer_is_recognised(line: str) -> None:
    assert installer(line.split())
    assert installer(["bash", "-c", f"set -e; {line}"]) == ("install" in line)


@pytest.mark.parametrize(
    "line", ["python -c pip", "echo pip install", "git -m pip", "python -m pytest pip", "nvcc uv"]
)
def test_another_program_is_none(line: str) -> None:
    assert not installer(line.split())


@pytest.mark.parametrize("through", ["itself", "a child"])
def test_a_test_that_starts_one_is_noted(refused_installers: Path, through: str) -> None:
    argv = [sys.executable, "-m", "pip", "--version"]
    if through == "itself":
        with pytest.raises(RuntimeError, match="package installer"):
            subprocess.run(argv, check=True)
    else:
        code = f"import subprocess; subprocess.run({argv!r})"
        done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True)
        assert b"package installer" in done.stderr
    assert "-m pip --version" in refused_installers.read_text()
    refused_installers.unlink()  # or this test fails, as any other would


def test_a_script_of_the_tests_own_may_be_called_as_it_likes(tmp_path: Path) -> None:
    script = tmp_path / "pip"
    script.write_text("#!/bin/sh\necho mine\n")
    script.chmod(0o755)
    assert subprocess.run([script, "install"], check=True, capture_output=True).stdout == b"mine\n"
