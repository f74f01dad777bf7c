"""The parts of a problem that decide what its cells do, and which of them changed after a run."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.evidence.provenance import Origin, is_script
from harness.problem import meaning
from harness.problem.model import Case, Problem, Variant

_MOST_SHOWN = 4
_OF_NO_CELL = {"label", "rounds", "gpu_memory_gb", "capability"}
"""Fields of variants and cases that change nothing of what one cell does."""


def scripts(problem: Problem) -> dict[str, str]:
    """Return the digest of each script and data file that the problem's cells run or read."""
    own = {_name(problem, path): path for path in problem.scripts}
    return {name: meaning.of_script(path) for name, path in (own | problem.used).items()}


def state(problem: Problem) -> dict[str, str]:
    """Return the digest of each part of a problem that decides what its cells do.

    Names are as readers know them: "repro.py", "case burst". What only words for readers change
    has the same digest (:mod:`harness.problem.meaning`).
    """
    locks = sorted({each.lock for each in problem.environments.values() if each.lock})
    settings: dict[str, Any] = {
        **{f"lock {name}": _lock(problem.folder / name) for name in locks},
        **{f"variant {name}": _variant(problem, each) for name, each in problem.variants.items()},
        **{f"case {name}": _case(each) for name, each in problem.cases.items()},
        **{
            f"capture {name}": [each.settings.given(), each.flags]
            for name, each in problem.captures.items()
        },
    }
    return scripts(problem) | {part: meaning.digest(value) for part, value in settings.items()}


def changed_parts(origins: Sequence[Origin], now: Mapping[str, str]) -> list[str]:
    """Return the parts of which a call of ``harness run`` recorded another digest than ``now``.

    Scripts come first. A new part changes nothing of what ran, nor does a setting that is gone.
    """
    changed = {
        part
        for origin in origins
        for part, digest in (origin.state or {}).items()
        if now.get(part, "" if is_script(part) else digest) != digest
    }
    return sorted(changed, key=lambda part: (not is_script(part), part))


def changed_since(problem: Problem, origins: Sequence[Origin]) -> list[str]:
    """Return the parts of a problem that changed after a run whose calls are ``origins``.

    Calls of an earlier harness recorded the bytes of all scripts together, or nothing.
    """
    changed = changed_parts(origins, state(problem))
    used = {origin.sources_sha256 for origin in origins if origin.state is None} - {None}
    return changed if used <= {_bytes(problem)} else [*changed, "the scripts"]


def in_words(parts: Sequence[str]) -> str:
    """Return "ring.cuh, repro.py and case burst" of changed parts, four at most."""
    more = len(parts) - _MOST_SHOWN
    *first, last = [*parts[:_MOST_SHOWN], f"{more} more"] if more > 0 else parts
    return f"{', '.join(first)} and {last}" if first else last


def _name(problem: Problem, path: Path) -> str:
    is_shared = path.is_relative_to(problem.shared)
    return path.relative_to(problem.shared.parent if is_shared else problem.folder).as_posix()


def _lock(path: Path) -> list[str]:
    return meaning.of_lock(path.read_text(encoding="utf-8"))


def _variant(problem: Problem, variant: Variant) -> dict[str, Any]:
    """Return what a variant's cells are told; an environment is what its lock or image says."""
    environment = problem.environments[variant.environment]
    return _fields(variant) | {"environment": environment.lock or environment.image}


def _case(case: Case) -> dict[str, Any]:
    """Return what a case's cells are told.

    What runs beside the set-up of several ranks is no part of it: they measure alone either way.
    """
    fields = _fields(case)
    if case.gpus > 1:
        fields.pop("loads_host", None)
    return fields


def _fields(of: Case | Variant) -> dict[str, Any]:
    return of.model_dump(exclude=_OF_NO_CELL, exclude_defaults=True)


def _bytes(problem: Problem) -> str:
    """Return the sha256 of the scripts' bytes, as an earlier harness recorded it."""
    digest = hashlib.sha256()
    for path in problem.scripts:
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()
