"""``harness browse``: the reports as a static site, on this machine alone or as a folder."""

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from harness.cli.waiting import Waiting
    from harness.problem.model import Problem
    from harness.report.page import Page


def browse(
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="The folder to write, instead of serving.", metavar="FOLDER"
        ),
    ] = None,
    port: Annotated[
        int, typer.Option("--port", help="The port on 127.0.0.1.", min=0, max=65535)
    ] = 8000,
) -> None:
    """Show the reports as a site.

    Builds the site and serves it to this machine alone, until Ctrl-C. A folder written with -o is
    opened by its index.html: it needs no server and asks no other host for anything.
    """
    os.environ.setdefault("POLARS_MAX_THREADS", "1")  # handing out small tables costs more CPU
    from harness.cli import output as printed
    from harness.cli.waiting import Waiting
    from harness.ground import checkout, files
    from harness.site import build, pages, serve

    build.check_installed()
    site = output or checkout.site()
    if output:
        files.check_output_folder(output, "a site of harness browse", build.MARK)
    files.check_writable(site)
    with Waiting() as waiting:
        studies, complaints = _studies(waiting)
        waiting.work_on("drawing timelines")
        sources = pages.sources(checkout.CHECKOUT, studies, _without(studies))
        waiting.work_on("building the site")
        complaints += build.build(sources, site)
    for complaint in complaints:
        printed.say(f"note: {complaint}", to_stderr=True)
    if output:
        printed.say(f"{site / 'index.html'}: open it in a browser")
        return
    with serve.server(site, port) as server:
        printed.say(f"http://127.0.0.1:{server.server_port}/ (Ctrl-C ends it)")
        server.serve_forever()


def _studies(waiting: "Waiting") -> "tuple[list[Page], list[str]]":
    """Return the reports that the site shows, and a line on each that cannot be read."""
    from harness.cli.resolve import problem_of_report
    from harness.ground import checkout
    from harness.ground.errors import HarnessError
    from harness.report import index, publish

    studies, errors = [], []
    for folder in index.reports(checkout.reports()):
        waiting.work_on(f"reading {folder.relative_to(checkout.reports())}")
        try:
            studies.append(publish.page_of(problem_of_report(None, folder), folder))
        except HarnessError as error:
            errors.append(f"not shown: {folder}: {error}")
    return studies, errors


def _without(studies: "list[Page]") -> "list[Problem]":
    """Return the problems without a report; those that cannot be read stay out."""
    from harness.ground import checkout
    from harness.ground.errors import HarnessError
    from harness.problem import manifest

    shown = {study.problem.folder.name for study in studies}
    problems = []
    for folder in manifest.folders(checkout.problems()):
        if folder.name not in shown:
            with suppress(HarnessError):
                problems.append(manifest.load(folder))
    return problems
