"""``harness lint``: a study reviewed by rule."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import completion

if TYPE_CHECKING:
    from harness.lint.study import Remark
    from harness.problem.model import Problem

_REMARKS = 1
_UNREADABLE = 2


def lint(
    problem: Annotated[
        str | None,
        typer.Argument(
            help="Number, name or folder; every problem if absent.",
            autocompletion=completion.problems,
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Review studies as a reader would.

    Remarks are, among others, on claims that cannot fail, advice without an alternative, sentences
    that conclude without a claim, and numbers written by hand.
    Exit code 0 without a remark, 1 with remarks, 2 if a manifest cannot be read.
    """
    from harness.cli import output

    problems, unreadable = _asked(problem)
    remarks = [remark for each in problems for remark in _reviewed(each)]
    if json:
        output.as_json(remarks)
    else:
        for remark in remarks:
            output.say(str(remark).removeprefix(f"{Path.cwd()}/"))
        count = f"{len(remarks)} remark{'' if len(remarks) == 1 else 's'}"
        output.say(f"{count} on {len(problems)} stud{'y' if len(problems) == 1 else 'ies'}")
    raise typer.Exit(_UNREADABLE if unreadable else _REMARKS if remarks else 0)


def _asked(wanted: str | None) -> tuple[list["Problem"], bool]:
    """Return the problems to review, and whether another one cannot be read."""
    from harness.cli import output
    from harness.ground import checkout
    from harness.ground.errors import UsageError
    from harness.problem import manifest
    from harness.problem.names import MANIFEST

    if wanted is not None:
        return [manifest.find(checkout.problems(), wanted)], False
    problems, errors = manifest.load_all(checkout.problems())
    if not problems and not errors:
        what = f"no study in it: none of its folders has a {MANIFEST}"
        raise UsageError(what, where=checkout.problems(), remedy="harness new writes one")
    for error in errors:
        output.say(f"not reviewed: {error}", to_stderr=True)
    return problems, bool(errors)


def _reviewed(problem: "Problem") -> list["Remark"]:
    from harness import lint as rules
    from harness.ground import checkout
    from harness.lint.study import Study
    from harness.report import index

    name = problem.folder.name
    reports = [path for path in index.reports(checkout.reports()) if path.parent.name == name]
    glossary = checkout.CHECKOUT / "docs" / "glossary.md"
    words = glossary.read_text(encoding="utf-8") if glossary.is_file() else ""
    return rules.review(Study.read(problem, tuple(reports), words))
