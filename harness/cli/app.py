"""The command tree."""

import typer

from harness.cli import examples
from harness.cli.audit import audit
from harness.cli.browse import browse
from harness.cli.check import check
from harness.cli.contribute import contribute
from harness.cli.diagnose import diagnose
from harness.cli.diff import diff
from harness.cli.doctor import doctor
from harness.cli.help import Command, Commands
from harness.cli.inspect import inspect
from harness.cli.lint import lint
from harness.cli.list import list_problems
from harness.cli.mcp import mcp
from harness.cli.new import new
from harness.cli.report import report
from harness.cli.run import run
from harness.cli.schema import schema
from harness.cli.start import start
from harness.cli.view import view

app = typer.Typer(
    cls=Commands,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # importing rich's Markdown takes longer than all the rest of --help
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.callback()(start)
app.command("list")(list_problems)
app.command()(new)
app.command()(lint)
app.command()(run)
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
    command.cls = Command
    name = command.name or str(getattr(command.callback, "__name__", ""))
    command.epilog = examples.epilog(name)
