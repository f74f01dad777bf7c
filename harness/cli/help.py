"""The commands as typer knows them: old names are told, and help shows values by a word."""

import re
from typing import Any

from typer.core import TyperCommand, TyperGroup

from harness.cli import renamed

_WORDS = {"str": "NAME", "path": "PATH", "Path": "PATH", "int": "N", "int range": "N"}
"""The word for an option's value by the type that typer shows, where it has no ``metavar``."""
_TYPE = re.compile(r"<(?:list\[)?([A-Za-z ]+)\]?>")


class Commands(TyperGroup):
    """The commands; the name that one had before is a UsageError that says its new name."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the arguments begin with."""
        renamed.refuse(args[0])
        return super().resolve_command(ctx, args)


class Command(TyperCommand):
    """A command whose help names values as a manual page does: FILE, [PROBLEM], SUBJECTS..."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words after a command's name in its usage."""
        pieces = super().collect_usage_pieces(ctx)
        return [re.sub(r"^\{(.*)\}", r"\1", piece).upper() for piece in pieces]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, then the options, each with its help."""
        for title, kind in (("Arguments", "argument"), ("Options", "option")):
            parameters = [each for each in self.get_params(ctx) if each.param_type_name == kind]
            records = [each.get_help_record(ctx) for each in parameters]
            rows = [(_named(record[0], kind), record[1]) for record in records if record]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


def _named(shown: str, kind: str) -> str:
    """Return an argument or option as the help shows it."""
    if kind == "argument":
        return _TYPE.sub("", shown).strip().upper()
    return _TYPE.sub(lambda match: _WORDS.get(match[1], match[1].upper()), shown)
