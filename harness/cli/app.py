"""The command tree."""

import typer
from typer.models import CommandInfo

from harness.cli import examples
from harness.cli.audit import audit
from harness.cli.browse import browse
from harness.cli.calibrate import calibrate
from harness.cli.captures import app as captures
from harness.cli.check import check
from harness.cli.clean import clean
from harness.cli.contribute import contribute
from harness.cli.diagnose import diagnose
from harness.cli.diff import diff
from harness.cli.doctor import doctor
from harness.cli.explain_claim import explain_claim
from harness.cli.help import Command
from harness.cli.import_captures import import_captures
from harness.cli.inspect import inspect
from harness.cli.join import join
from harness.cli.lint import lint
from harness.cli.list import list_problems
from harness.cli.matrix import matrix
from harness.cli.mcp import mcp
from harness.cli.new import new
from harness.cli.report import extract, report
from harness.cli.run import run
from harness.cli.schema import schema
from harness.cli.start import start
from harness.cli.view import view

app = typer.Typer(
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
app.command()(matrix)
app.command()(join)
app.command()(extract)
app.command()(check)
app.command("explain-claim")(explain_claim)
app.command()(report)
app.command()(inspect)
app.command()(diff)
app.command()(diagnose)
app.command()(audit)
app.command()(view)
app.command()(browse)
app.command()(mcp)
app.command("import")(import_captures)
app.command()(contribute)
app.command()(doctor)
app.command()(calibrate)
app.command()(clean)
app.command()(schema)
app.add_typer(captures, name="captures")


def _name(command: CommandInfo) -> str:
    """Return a command's name on the command line."""
    return command.name or str(getattr(command.callback, "__name__", ""))


for group, prefix in ((app, ""), (captures, "captures ")):
    for command in group.registered_commands:
        command.cls = Command
        command.epilog = examples.epilog(prefix + _name(command))
