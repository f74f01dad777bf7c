"""Two folders of captures: which file of one stands beside which of the other."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePath

from harness.evidence.subject import CaptureFiles, Subject
from harness.ground.errors import UsageError


@dataclass(frozen=True)
class Pairs:
    """Subjects that stand beside each other, and the files of A and of B that stand alone."""

    both: tuple[tuple[Subject, Subject], ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]


def paired(a: CaptureFiles, b: CaptureFiles) -> Pairs:
    """Return the captures of two folders kind by kind.

    Kinds of which both have one file are one subject; files of the other kinds are paired by their
    names. Raises UsageError if nothing pairs.
    """
    single = {kind for kind in _kinds(a.files) if len(_of(a, kind)) == len(_of(b, kind)) == 1}
    both = [(_joined(a, single), _joined(b, single))] if single else []
    for kind in sorted(_kinds(a.files) - single):
        named = {PurePath(file.label).name: file for file in _of(b, kind)}
        for file in _of(a, kind):
            if PurePath(file.label).name in named:
                both.append((file, named[PurePath(file.label).name]))
    if not both:
        raise UsageError(
            "no capture of the first folder has one of its kind and name in the second",
            where=f"{a.label} and {b.label}",
            remedy="name two files",
        )
    taken = {file.label for pair in both for file in pair}
    only = [
        tuple(
            file.label
            for file in side.files
            if file.label not in taken and not single & file.captures.keys()
        )
        for side in (a, b)
    ]
    return Pairs(tuple(both), *only)


def _kinds(files: Iterable[Subject]) -> set[str]:
    return {kind for file in files for kind in file.captures}


def _of(side: CaptureFiles, kind: str) -> list[Subject]:
    return [file for file in side.files if kind in file.captures]


def _joined(side: CaptureFiles, kinds: set[str]) -> Subject:
    """Return the files of these kinds, of which there is one each, as one subject."""
    files = [file for kind in sorted(kinds) for file in _of(side, kind)]
    if len(files) == 1:
        return files[0]
    captures = [capture for file in files for capture in file.captures.values()]
    return Subject(side.label, {capture.kind: capture for capture in captures})
