"""Repositories of git that a test makes."""

import subprocess
from pathlib import Path

_AUTHOR = ("-c", "user.name=A", "-c", "user.email=a@example.org")


def git(folder: Path, *arguments: str) -> str:
    """Return the answer of git, asked in a folder."""
    call = ["git", "-C", str(folder), *_AUTHOR, *arguments]
    return subprocess.run(call, check=True, capture_output=True, text=True).stdout.strip()


def committed(folder: Path, message: str = "One problem") -> str:
    """Commit all that lies in a folder, a repository from now on; return the commit."""
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", f"--message={message}")
    return git(folder, "rev-parse", "HEAD")
