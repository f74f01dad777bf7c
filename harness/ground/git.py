"""What git says of the checkout around a folder."""

from collections.abc import Sequence
from pathlib import Path

from harness.ground import process
from harness.ground.errors import HarnessError

# No fetch of contents that are not here, no lock that another process may hold, any owner.
_GIT = ("env", "GIT_NO_LAZY_FETCH=1", "git", "--no-optional-locks", "-c", "safe.directory=*")


def said(arguments: Sequence[str], folder: Path) -> str | None:
    """Return the answer of git, asked in ``folder``; None where it has none, or is absent."""
    try:
        return process.output([*_GIT, *arguments], cwd=folder)
    except HarnessError:
        return None
