"""``harness contribute``: a report of this machine for a pull request, and the check of one."""

from pathlib import Path
from typing import Annotated

import typer

from harness.cli import completion

_FAULTS = 1


def contribute(
    problem: Annotated[
        str | None,
        typer.Argument(
            help="Number, name or folder; the report's if absent.",
            autocompletion=completion.problems,
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option("--report", metavar="FOLDER", help="The folder of the report to pack."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="The archive to write.")
    ] = None,
    word: Annotated[
        list[str] | None,
        typer.Option("--word", metavar="WORD", help="Also leave this word out; may be repeated."),
    ] = None,
    check: Annotated[
        Path | None, typer.Option("--check", help="Check this archive or report instead.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Pack a report for a pull request.

    Leaves out what names this machine or you: commands, host, user, home folders; UUIDs of GPUs are
    hashed. With --check: exit code 1 if the report is not one that can be merged.
    """
    if check is not None:
        _check(check, json=json)
    else:
        _pack(problem, report, output, word or [], json=json)


def _check(source: Path, *, json: bool) -> None:
    from harness.cli import output
    from harness.contribute import receive
    from harness.ground import checkout

    received = receive.check(source, checkout.problems())
    if json:
        known = {"report": received.folder, "verdicts": received.verdicts}
        output.as_json(known | {"faults": list(received.faults)})
    else:
        for fault in received.faults:
            output.say(f"{received.folder}: {fault}")
        if received.verdicts:
            output.say(f"{received.folder}: {received.verdicts}")
    if received.faults:
        raise typer.Exit(_FAULTS)


def _pack(
    wanted: str | None, report: Path | None, to: Path | None, words: list[str], *, json: bool
) -> None:
    from harness.cli import output
    from harness.cli.resolve import published_report
    from harness.contribute import pack
    from harness.contribute.private import Private
    from harness.extract import door

    problem, folder = published_report(wanted, report)
    target = door.provenance_of(folder).run.target
    here = Private.here(public=(target.name, target.slug, problem.folder.name))
    archive = to or Path(f"{problem.folder.name}-{target.slug}.tar.gz")
    packed = pack.pack(problem, folder, archive, Private((*here.words, *words)))
    if json:
        known = {"archive": str(archive), "report": packed.folder}
        output.as_json(known | {"left_out": list(packed.left_out)})
        return
    output.say(f"packed: {archive}")
    for name in packed.left_out:
        output.say(f"left out, as it names this machine: {name}")
    output.say("next:")
    output.say(f"  harness contribute --check {archive}  # what the project's CI will say")
    output.say(f"  tar xzf {archive} in your fork, and open a pull request with {packed.folder}")
