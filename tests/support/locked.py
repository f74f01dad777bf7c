"""The part of requirements/harness.lock that some extras need: ``python -m … EXTRA…`` prints it."""

import re
import sys
import tomllib
from collections.abc import Iterable
from importlib.metadata import distribution

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.support.paths import ROOT

_ENTRY = re.compile(r"^([\w.-]+)==.*\n(?:[ \t].*\n)*", re.MULTILINE)


def needed(requirements: Iterable[str]) -> set[str]:
    """Return the names of what requirements need on this system, at any distance."""
    names: set[str] = set()
    waiting: list[tuple[Requirement, tuple[str, ...]]]
    waiting = [(Requirement(text), ("",)) for text in requirements]
    while waiting:
        requirement, extras = waiting.pop()
        name = canonicalize_name(requirement.name)
        marker = requirement.marker
        if name in names or not (
            marker is None or any(marker.evaluate({"extra": e}) for e in extras)
        ):
            continue
        names.add(name)
        inner = ("", *requirement.extras)
        waiting += [(Requirement(text), inner) for text in distribution(name).requires or []]
    return names


def locked(extras: Iterable[str]) -> str:
    """Return the lock's entries, hashes included, of the project's dependencies and ``extras``."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    listed = [*project["dependencies"]]
    for extra in extras:
        listed += project["optional-dependencies"][extra]
    names = needed(listed)
    lock = (ROOT / "requirements" / "harness.lock").read_text(encoding="utf-8")
    return "".join(match[0] for match in _ENTRY.finditer(lock) if match[1] in names)


if __name__ == "__main__":
    print(locked(sys.argv[1:]), end="")
