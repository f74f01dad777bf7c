"""The command tree, with help that names values by a word, and old names told."""

import re
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from harness.cli import examples, renamed
from harness.cli.audit import audit
from harness.cli.browse import browse
from harness.cli.check import check
from harness.cli.contribute import contribute
from harness.cli.diagnose import diagnose
from harness.cli.diff import diff
from harness.cli.doctor import doctor
from harness.cli.fleet import fleet
from harness.cli.inspect import inspect
from harness.cli.lint import lint
from harness.cli.list import list_problems
from harness.cli.mcp import mcp
from harness.cli.new import new
from harness.cli.report import report
from harness.cli.run import run
from harness.cli.schema import schema
from harness.cli.start import start
from harness.cli.studies import studies
from harness.cli.view import view

_WORDS = {"str": "NAME", "path": "PATH", "Path": "PATH", "int": "N", "int range": "N"}
"""The word for an option's value by the type that typer shows, where it has no ``metavar``."""
_TYPE = re.compile(r"<(?:list\[)?([A-Za-z ]+)\]?>")


class Commands(TyperGroup):
    """The commands; the name that one had before is a UsageError that says its new name."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the arguments begin with."""
        renamed.refuse(args[0])
        return super().resolve_command(ctx, args)


class ManPageCommand(TyperCommand):
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


app = typer.Typer(
    cls=Commands,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # importing rich's Markdown takes longer than all the rest of --help
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.callback()(start)
app.command("list")(list_problems)
app.command()(studies)
app.command()(new)
app.command()(lint)
app.command()(run)
app.command()(fleet)
app.command()(check)
app.command()(report)
app.command()(inspect)
app.command()(diff)
app.command()(diagnose)
app.command()(audit)
app.command()(view)
app.command()(browse)
app.command()(mcp)
app.command()(contribute)
app.command()(doctor)
app.command()(schema)

for command in app.registered_commands:
    command.cls = ManPageCommand
    name = command.name or str(getattr(command.callback, "__name__", ""))
    command.epilog = examples.epilog(name)
