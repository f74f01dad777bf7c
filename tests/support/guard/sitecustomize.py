"""Refuses package installers, in the tests' own process and in every Python that they start.

Python imports this file when it starts with this folder on PYTHONPATH; tests/conftest.py puts it
there and calls ``install`` itself. What was refused is noted in the file that WORKLOGS_REFUSED
names, so that a test fails even if the program under test handles the error.

Where WORKLOGS_TEST_LOCKS names a folder, these Pythons have their locks of GPU and CPU there, so
that a job of a cluster is in no other test's way.
"""

import os
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_PROGRAMS = {
    *("apt", "apt-get", "aptitude", "brew", "conda", "dnf", "easy_install", "mamba", "micromamba"),
    *("npm", "npx", "pip", "pip3", "pipx", "poetry", "snap", "uv", "uvx", "yarn", "yum"),
}
_MODULES = {"ensurepip", "pip", "uv"}
_IN_A_SHELL = re.compile(
    r"\b(?:apt|apt-get|conda|mamba|npm|pip(?:3[.\d]*)?|uv)\s+(?:\S+\s+)*?install\b"
)
_SHELLS = {"bash", "dash", "sh", "zsh"}


def installer(argv: Sequence[str]) -> bool:
    """Return whether an argument list starts a package installer, by itself or through a shell."""
    program = re.sub(r"(?<=pip)3\.\d+$", "3", Path(argv[0]).name)
    if program in _PROGRAMS:
        return True
    if re.fullmatch(r"python[\d.]*", program) and "-m" in argv[:-1]:
        return argv[argv.index("-m") + 1].split(".")[0] in _MODULES
    return program in _SHELLS and any(_IN_A_SHELL.search(argument) for argument in argv[1:])


def install() -> None:
    """Watch this process from now on; there is no way to stop."""
    sys.addaudithook(_audit)


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if event in ("subprocess.Popen", "os.posix_spawn", "os.exec"):
        argv = arguments[1]
    elif event == "os.system":
        argv = ("sh", "-c", arguments[0])
    else:
        return
    if refused := os.environ.get("WORKLOGS_REFUSED"):
        words = [argv] if isinstance(argv, str | bytes | os.PathLike) else argv
        line = _below_a_warden([os.fsdecode(word) for word in words])
        if line and installer(line) and not _own_script(line[0], Path(refused).parent):
            with Path(refused).open("a", encoding="utf-8") as file:
                file.write(" ".join(line) + "\n")
            raise RuntimeError(f"a test starts a package installer: {' '.join(line)}")


def _below_a_warden(line: list[str]) -> list[str]:
    """Return the argument list that a warden of the harness would run, else the list itself."""
    script = next(
        (at for at, word in enumerate(line) if word.endswith("/harness/ground/warden.py")), None
    )
    return line if script is None else line[script + 3 + int(line[script + 2]) :]


def _own_script(program: str, folder: Path) -> bool:
    """Return whether the test wrote the program itself, whatever it is called."""
    place = shutil.which(program)
    return place is not None and Path(place).resolve().is_relative_to(folder.resolve())


if os.environ.get("WORKLOGS_REFUSED"):
    install()
if locks := os.environ.get("WORKLOGS_TEST_LOCKS"):
    from harness.machine import gpu_lock

    gpu_lock.FOLDER = Path(locks)
