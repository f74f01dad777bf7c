"""``harness`` alone: its version, or what to type next."""

import shlex
from importlib import util
from pathlib import Path
from typing import Annotated

import typer

_Section = tuple[str, tuple[tuple[str, str], ...]]
_REPRODUCE: _Section = (
    "Reproduce a study",
    (("harness list", "the studies here"), ("harness run 1 --worklog", "run one")),
)
_LOOK: _Section = (
    "Look at your own capture, of nsys, ncu, torch.profiler or the memory snapshot",
    (
        ("harness diagnose FILE", "what is wrong, and what the fix gains"),
        ("harness view FILE", "one HTML page with its timeline"),
        ("harness diff A B", "what changed between two"),
    ),
)
_WRITE: _Section = (
    "Write a study",
    (
        ("harness new NAME", "a draft that runs at once"),
        ("harness lint", "what a reviewer says"),
    ),
)
_COPY: _Section = (
    "Reproduce or write a study",
    (("harness studies FOLDER", "the studies in a folder, to work there"),),
)
_CLONE: _Section = (
    "Reproduce or write a study",
    (("cd CLONE", "a clone of the repository: there are harness list, run, new"),),
)
_HELP: _Section = (
    "Help",
    (
        ("harness doctor", "what this machine lacks"),
        ("harness --help", "every command; harness COMMAND --help has examples"),
    ),
)
_NEXT = (_REPRODUCE, _LOOK, _WRITE, _HELP)
_WIDTH = 26
_MOST_FILES = 100
"""Of a folder, the newest: their first bytes are read in some ms."""


def _apart() -> tuple[_Section, ...]:
    """Return the sections of an installation apart from any studies."""
    from harness.ground import studies

    return _COPY if util.find_spec(studies.PACKAGE) else _CLONE, _LOOK, _HELP


def _here() -> tuple[_Section, ...]:
    """Return what to type for the newest capture in this folder; nothing where there is none."""
    from harness.evidence.kinds import filling
    from harness.extract import door
    from harness.ground.plain import plain

    every = [(str(path), kind) for path, kind in door.newest_in(Path(), _MOST_FILES)]
    found = [(name, kind) for name, kind in every if name == plain(name)]
    if not found:
        return ()
    names = [name for name, kind in found if kind == found[0][1]]
    alike = [shlex.quote(f"./{name}" if name.startswith("-") else name) for name in names]
    commands = [(f"harness diagnose {alike[0]}", "what is wrong")]
    drawn = found[0][1] in filling("memory_timeline")  # its page has a figure, by altair
    if not drawn or util.find_spec("altair"):
        commands.append((f"harness view {alike[0]}", "one HTML page with its timeline"))
    if len(alike) > 1:
        commands.append((f"harness diff {alike[1]} {alike[0]}", "what changed"))
    return (("Look at the newest capture in this folder", tuple(commands)),)


def start(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", is_eager=True)
    ] = False,
) -> None:
    """Reproduce, measure and explain GPU performance problems."""
    from harness import __version__
    from harness.cli import output
    from harness.ground import checkout

    if version:
        output.say(f"harness {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is not None:
        return
    output.say("harness: reproduce, measure and explain GPU performance problems")
    for title, commands in (*_here(), *(_NEXT if checkout.is_one() else _apart())):
        output.say()
        output.say(title)
        width = max(_WIDTH, *(len(command) + 2 for command, _ in commands))
        for command, purpose in commands:
            output.say(f"  {command:{width}}{purpose}")
