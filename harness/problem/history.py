"""The versions of a manifest in the history of the checkout that it lies in."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from harness.ground import git
from harness.problem.names import MANIFEST

_MOST = 100
"""Versions that are read at most, the newest: a manifest here has 34."""


class Version(NamedTuple):
    """A manifest's text as a commit left it; ``name`` is the commit and its day."""

    name: str
    text: str


def versions(folder: Path, commit: str = "HEAD") -> Iterator[Version]:
    """Yield the versions of the manifest in ``folder``, from that at ``commit`` backwards.

    There are none where git does not tell: outside a checkout, in one without the contents, and in
    a shallow clone, whose oldest commit seems to add everything.
    """
    if git.said(["rev-parse", "--is-shallow-repository"], folder) != "false":
        return
    log = ["log", commit, "--diff-filter=AM", f"--max-count={_MOST}", "--format=%H"]
    commits = git.said([*log, "--", MANIFEST], folder)
    if not commits:
        return
    wanted = [name for each in commits.split() for name in (each, f"{each}:./{MANIFEST}")]
    texts = git.said(["show", "--no-patch", "--format=%x00%H %cs", *wanted], folder)
    for text in (texts or "").split("\0")[1:]:
        head, _, manifest = text.partition("\n")
        name, day = head.split()
        yield Version(f"{name[:8]} {day}", manifest)
