"""Remarks on locks: a package without version and hash is another one next month."""

import re
from collections.abc import Iterator
from pathlib import Path

from harness.lint.study import Remark, Study

_PINNED = re.compile(r"[A-Za-z0-9._-]+(\[[^\]]*\])?==[^\s*;]+")
_HASHED = re.compile(r"--hash=sha\d+:[0-9a-f]{32,}")


def unpinned(study: Study) -> Iterator[Remark]:
    """Yield a remark on each package of a lock without a version, or without a hash of it."""
    for environment in study.problem.environments.values():
        if environment.lock is not None:
            yield from _in_lock(study.problem.folder / environment.lock)


def _in_lock(path: Path) -> Iterator[Remark]:
    remedy = "write the lock with `uv pip compile --generate-hashes --no-header`"
    for line, requirement in _requirements(path.read_text(encoding="utf-8")):
        name = re.split(r"[\s=<>!~;@\[]", requirement)[0]
        if not _PINNED.match(requirement):
            yield Remark("unpinned", path, line, f"{name} has no exact version", remedy)
        elif not _HASHED.search(requirement):
            yield Remark("unpinned", path, line, f"{name} has no hash", remedy)


def _requirements(text: str) -> Iterator[tuple[int, str]]:
    """Yield line and text of each requirement; lines that end in a backslash go on."""
    joined, start = "", 0
    for number, line in enumerate(text.splitlines(), start=1):
        words = re.sub(r"(^|\s)#.*", "", line).strip()
        start = start or number
        joined += words.removesuffix("\\")
        if words.endswith("\\"):
            continue
        if joined.strip() and not joined.startswith("-"):
            yield start, joined
        joined, start = "", 0
