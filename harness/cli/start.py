"""``harness`` alone: its version, or what to type next."""

from typing import Annotated

import typer

_NEXT = (
    (
        "Reproduce a study",
        (("harness list", "the studies here"), ("harness run 1 --worklog", "run one")),
    ),
    (
        "Look at your own capture, of nsys, ncu, torch.profiler or the memory snapshot",
        (
            ("harness diagnose FILE", "what is wrong, and what the fix gains"),
            ("harness view FILE", "one HTML page with its timeline"),
            ("harness diff A B", "what changed between two"),
        ),
    ),
    (
        "Write a study",
        (
            ("harness new NAME", "a draft that runs at once"),
            ("harness lint", "what a reviewer says"),
        ),
    ),
    (
        "Help",
        (
            ("harness doctor", "what this machine lacks"),
            ("harness --help", "every command; harness COMMAND --help has examples"),
        ),
    ),
)
_WIDTH = 26


def start(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", is_eager=True)
    ] = False,
) -> None:
    """Reproduce, measure and explain GPU performance problems."""
    from harness import __version__
    from harness.cli import output

    if version:
        output.say(f"harness {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is not None:
        return
    output.say("harness: reproduce, measure and explain GPU performance problems")
    for title, commands in _NEXT:
        output.say()
        output.say(title)
        for command, purpose in commands:
            output.say(f"  {command:{_WIDTH}}{purpose}")
