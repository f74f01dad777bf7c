"""``harness list``: the problems, and what each is made of."""

from typing import Annotated

import typer


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
                {
                    "number": problem.number,
                    "name": problem.folder.name,
                    "title": problem.title,
                    "variants": list(problem.variants),
                    "cases": list(problem.cases),
                    "captures": list(problem.captures),
                    "claims": len(problem.claims),
                }
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
