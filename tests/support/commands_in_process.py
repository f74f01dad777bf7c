"""The commands that take a capture, called in this process, and what is shown is thrown away.

They open captures by the one door, as a user's do; only the process that confines a reader is left
out, as whoever calls this is confined, and no file is read twice.
"""

import contextlib
import io
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple
from unittest import mock

# The commands import these when they are called; here, once for all processes that are forked.
import harness.analysis.audit.conclude
import harness.analysis.diagnose.conclude
import harness.analysis.diff.compare
import harness.cli.shown.head
import harness.cli.shown.timeline
import harness.report.audit_text
import harness.report.difference
import harness.view.document  # noqa: F401
from harness.captures import reading
from harness.cli import audit, diagnose, diff, inspect, view
from harness.evidence.subject import Subject
from harness.extract import door
from harness.ground import confined


class Captures(NamedTuple):
    """A capture, another one of its kind, and one of another kind, of the same program."""

    path: Path
    other: Path
    beside: Path


def _view(*captures: Path) -> None:
    view.view([str(path) for path in captures], captures[0].with_name("view.html"))


Command = Callable[[Captures], None]

_QUICK: tuple[Command, ...] = (
    lambda of: inspect.inspect(of.path),
    lambda of: diff.diff(str(of.other), str(of.path)),
    lambda of: audit.audit([str(of.path)]),
    lambda of: diagnose.diagnose([str(of.beside), str(of.path)]),
    lambda of: diff.diff(str(of.path), str(of.other), json=True),
    lambda of: audit.audit([str(of.path), str(of.beside)]),
    lambda of: inspect.inspect(of.path, json=True, full_names=True),
    lambda of: diff.diff(str(of.path), str(of.path), markdown=True),
    lambda of: diagnose.diagnose([str(of.path)], json=True),
    lambda of: audit.audit([str(of.beside), str(of.path)], json=True),
    lambda of: diff.diff(str(of.path), str(of.path)),
)
_VIEWS: tuple[Command, ...] = (
    lambda of: _view(of.path),
    lambda of: _view(of.path, of.other),
)
COMMANDS = (*_QUICK, *_VIEWS)
"""What a user does with captures."""

TURNS = (*_QUICK * 3, *COMMANDS)
"""The same in turn, pages more rarely: they take ten times as long."""


@contextlib.contextmanager
def in_process() -> Iterator[dict[str, Subject]]:
    """Meanwhile read captures here; yield those that were read, by path, to be forgotten."""
    known: dict[str, Subject] = {}
    read = door.capture

    def capture(path: Path, *further: Any, **more: Any) -> Subject:
        if str(path) not in known:
            known[str(path)] = read(path, *further, **more)
        return known[str(path)]

    here = SimpleNamespace(call=_call, budget=confined.budget)
    with (
        mock.patch.object(reading, "confined", here),
        mock.patch.object(door, "capture", capture),
        open(os.devnull, "wb") as nowhere,  # noqa: PTH123 - no path of a user's
        io.TextIOWrapper(nowhere, encoding="utf-8", errors="backslashreplace") as text,
        contextlib.redirect_stdout(text),
    ):
        yield known


def _call(
    function: Callable[..., Any], _path: Path, _folder: Path, arguments: dict[str, Any], _: object
) -> Any:
    return function(**arguments)
