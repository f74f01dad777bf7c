"""Writes the draft of a new problem: a study that runs at once, to be changed part by part."""

import re
from dataclasses import dataclass
from pathlib import Path

from harness.ground import files
from harness.ground.errors import UsageError
from harness.problem.located_yaml import shown

_DRAFT = Path(__file__).with_name("draft")
_SUFFIX = ".draft"
_TEST = f"test.py{_SUFFIX}"
_NAME = re.compile(r"[a-z][a-z0-9-]{0,59}")


@dataclass(frozen=True)
class Draft:
    """The folder of a new problem and its test; None in a checkout without tests of problems."""

    folder: Path
    test: Path | None

    @property
    def number(self) -> str:
        """Return the problem's number."""
        return self.folder.name.split("-")[0]


def write(problems: Path, name: str) -> Draft:
    """Write the draft of problem ``name`` under the next free number.

    Raises UsageError for a name that no folder can have, or that a problem has already.
    """
    if not _NAME.fullmatch(name):
        remedy = "up to 60 lower-case letters, digits and '-', the first a letter; no number"
        raise UsageError(f"{shown(name)} is no name of a problem", remedy=remedy)
    here = [folder.name.partition("-") for folder in problems.glob("[0-9]*-*")]
    for number, _, taken in here:
        if taken == name:
            raise UsageError(
                f"problem {number} is called {shown(name)}",
                where=problems / f"{number}-{taken}",
                remedy="choose another name, or change that problem",
            )
    following = 1 + max((int(number) for number, _, _ in here if number.isdigit()), default=0)
    folder = problems / f"{following}-{name}"
    words = {
        "@NUMBER@": str(following),
        "@NAME@": folder.name,
        "@TITLE@": name.replace("-", " ").capitalize(),
    }

    def fill(building: Path) -> None:
        for source in sorted(_DRAFT.glob(f"*{_SUFFIX}")):
            if source.name != _TEST:
                text = _filled(source, words)
                (building / source.name.removesuffix(_SUFFIX)).write_text(text, encoding="utf-8")

    if not files.filled_folder(folder, fill):
        raise UsageError("was made meanwhile", where=folder, remedy="try again")
    return Draft(folder, _write_test(problems.parent / "tests" / "problems", name, words))


def _write_test(tests: Path, name: str, words: dict[str, str]) -> Path | None:
    """Write the problem's test beside those of the others, and return its path."""
    test = tests / f"test_{name.replace('-', '_')}.py"
    if not tests.is_dir() or test.exists():
        return None
    files.write_text(test, _filled(_DRAFT / _TEST, words))
    return test


def _filled(source: Path, words: dict[str, str]) -> str:
    text = source.read_text(encoding="utf-8")
    for mark, word in words.items():
        text = text.replace(mark, word)
    return text
