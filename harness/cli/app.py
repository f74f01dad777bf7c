"""The command tree."""

import typer

from harness.cli.calibrate import calibrate
from harness.cli.captures import app as captures
from harness.cli.clean import clean
from harness.cli.diagnose import diagnose
from harness.cli.diff import diff
from harness.cli.doctor import doctor
from harness.cli.inspect import inspect
from harness.cli.join import join
from harness.cli.list import list_problems
from harness.cli.report import check, extract, report, schema
from harness.cli.run import run
from harness.cli.view import view

app = typer.Typer(
    help="Reproduce, measure and explain GPU performance problems.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # importing rich's Markdown takes longer than all the rest of --help
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("list")(list_problems)
app.command()(run)
app.command()(join)
app.command()(extract)
app.command()(check)
app.command()(report)
app.command()(inspect)
app.command()(diff)
app.command()(diagnose)
app.command()(view)
app.command()(doctor)
app.command()(calibrate)
app.command()(clean)
app.command()(schema)
app.add_typer(captures, name="captures")
