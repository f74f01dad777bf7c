"""``harness list``: the problems, and what each is made of."""

from typing import Annotated

import typer


def list_problems(
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """List the problems.

    A row says how many variants, cases and claims a problem has; --json names them. Whether a
    problem can be run is checked by `harness lint` and `harness run`.
    """
    from harness.cli import output
    from harness.ground import checkout
    from harness.problem import manifest

    problems, errors = manifest.outlines(checkout.problems())
    for error in errors:
        output.say(f"not listed: {error}", to_stderr=True)
    if json:
        output.as_json(problems)
        return
    rows = [
        (
            str(problem.number),
            problem.title,
            str(len(problem.variants)),
            str(len(problem.cases)),
            str(problem.claims),
            ", ".join(problem.captures),
        )
        for problem in problems
    ]
    output.table(("", "problem", "variants", "cases", "claims", "captures"), rows)
