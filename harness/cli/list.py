"""``harness list``: the problems, and what each is made of."""

from dataclasses import dataclass
from typing import Annotated

import typer


@dataclass(frozen=True)
class Listed:
    """A problem."""

    number: int
    name: str
    title: str
    variants: list[str]
    cases: list[str]
    captures: list[str]
    claims: int


def list_problems(
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """List the problems.

    A row says how many variants, cases and claims a problem has; --json names them.
    """
    from harness.cli import output
    from harness.ground import checkout
    from harness.problem import manifest

    problems, errors = manifest.load_all(checkout.problems())
    for error in errors:
        output.say(f"not listed: {error}", to_stderr=True)
    if json:
        output.as_json(
            [
                Listed(
                    problem.number,
                    problem.folder.name,
                    problem.title,
                    list(problem.variants),
                    list(problem.cases),
                    list(problem.captures),
                    len(problem.claims),
                )
                for problem in problems
            ]
        )
        return
    rows = [
        (
            str(problem.number),
            problem.title,
            str(len(problem.variants)),
            str(len(problem.cases)),
            str(len(problem.claims)),
            ", ".join(problem.captures),
        )
        for problem in problems
    ]
    output.table(("", "problem", "variants", "cases", "claims", "captures"), rows)
