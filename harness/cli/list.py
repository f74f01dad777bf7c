"""``harness list``: the problems, and what each is made of."""

from typing import Annotated

import typer


def list_problems(
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """List the problems with their variants, cases and captures."""
    from harness import checkout
    from harness.cli import output
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
            ", ".join(problem.cases),
            ", ".join(problem.captures),
            str(len(problem.claims)),
        )
        for problem in problems
    ]
    output.table(("", "problem", "variants", "cases", "captures", "claims"), rows)
