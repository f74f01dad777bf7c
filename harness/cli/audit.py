"""``harness audit``: what each kernel of a step belongs to, and what its headroom is worth."""

from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli.graph_captures import CapturedBy

if TYPE_CHECKING:
    from harness.evidence.capture import Capture


def audit(
    subjects: Annotated[
        list[str],
        typer.Argument(
            help="A trace of torch.profiler, or an export of Nsight Systems, and a report of Nsight"
            " Compute of one step of the same program; or FOLDER:CASE.VARIANT of a run or report."
        ),
    ],
    captured_by: CapturedBy = None,
    json: Annotated[bool, typer.Option("--json", help="Print every row as JSON.")] = False,
) -> None:
    """Say what each kernel of a step belongs to and could save.

    Above 1 % of unattributed time the audit, after it is printed, fails with exit code 1.
    """
    from dataclasses import asdict

    from harness.analysis.audit import conclude
    from harness.cli import graph_captures, output
    from harness.report import audit_text

    captures = _captures(subjects)
    conclusions = conclude.audit(captures, graph_captures.of(captures, captured_by))
    if json:
        output.as_json(asdict(conclusions))
    else:
        for line in audit_text.lines(conclusions):
            output.say(line)
    conclusions.complete()


def _captures(subjects: list[str]) -> "list[Capture]":
    """Return the captures of all subjects; a whole run or report is no one program's."""
    from harness.cli.opening import section_of
    from harness.evidence.subject import CaptureFiles, Folder
    from harness.ground.errors import UsageError

    captures: list[Capture] = []
    for subject in subjects:
        opened = section_of(subject)
        if isinstance(opened, Folder):
            raise UsageError(
                "a whole run or report holds many programs",
                where=subject,
                remedy="name one of its cells: FOLDER:CASE.VARIANT",
            )
        one = opened.subject() if isinstance(opened, CaptureFiles) else opened
        captures += one.captures.values()
    return captures
