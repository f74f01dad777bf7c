"""The names that a shell's completion offers, none where they cannot be read."""

from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from harness.problem.model import Problem


def problems(incomplete: str) -> list[str]:
    """Return the names of the problems here that begin with what was typed."""
    from harness.ground import checkout
    from harness.ground.errors import HarnessError
    from harness.problem import manifest

    try:
        here = [folder.name for folder in manifest.folders(checkout.problems())]
    except HarnessError:
        return []
    return [name for name in here if name.startswith(incomplete)]


def engines(incomplete: str) -> list[str]:
    """Return the engines."""
    from harness.engines import ENGINES

    return [name for name in ("auto", *ENGINES) if name.startswith(incomplete)]


def variants(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the variants of the problem that the line names."""
    return [name for each in _named(ctx) for name in each.variants if name.startswith(incomplete)]


def cases(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the cases of the problem that the line names."""
    return [name for each in _named(ctx) for name in each.cases if name.startswith(incomplete)]


def captures(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the kinds of capture of the problem that the line names."""
    return [name for each in _named(ctx) for name in each.captures if name.startswith(incomplete)]


def claims(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the claims of the problem that the line names, of all problems if it names none."""
    named = _named(ctx) or [each for name in problems("") for each in _problem(name)]
    return [claim.id for each in named for claim in each.claims if claim.id.startswith(incomplete)]


def _named(ctx: typer.Context) -> "list[Problem]":
    # As the option at the end lacks its value, typer leaves the words before it unread.
    wanted = ctx.params.get("problem") or next(iter(ctx.args), "")
    return _problem(str(wanted))


def _problem(wanted: str) -> "list[Problem]":
    """Return the problem of that number, name or folder, none if it cannot be read."""
    from harness.ground import checkout
    from harness.ground.errors import HarnessError
    from harness.problem import manifest

    try:
        return [manifest.find(checkout.problems(), wanted)]
    except HarnessError:
        return []
