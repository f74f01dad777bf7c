"""``harness new``: the draft of a study that runs at once."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer


@dataclass(frozen=True)
class Drafted:
    """The folder of a new problem, and its test."""

    problem: str
    number: int
    test: str | None


def new(
    name: Annotated[str, typer.Argument(help="What to call it, such as slow-attention.")],
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Write the draft of a study, which runs at once.

    It is a folder in problems/ to change part by part; it runs with a GPU and without.
    """
    from harness.cli import output
    from harness.ground import checkout
    from harness.problem import new as drafts

    draft = drafts.write(checkout.problems(), name)
    if json:
        test = str(draft.test) if draft.test else None
        output.as_json(Drafted(str(draft.folder), int(draft.number), test))
        return
    output.say(f"written: {draft.folder}")
    if draft.test:
        output.say(f"its test: {draft.test}")
    elsewhere = Path.cwd() != checkout.CHECKOUT
    output.say(f"next, in {checkout.CHECKOUT}:" if elsewhere else "next:")
    for command, purpose in (
        (f"make problem-{draft.number}", "run it, judge its claims, write its worklog"),
        (f"harness lint {draft.number}", "review it as you change it"),
        (f"harness report {draft.number}", "write the worklog again"),
    ):
        output.say(f"  {command}  # {purpose}")
