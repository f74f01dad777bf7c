"""``harness contribute``: what crosses machines: reports, their captures, captures of others."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import completion, output
from harness.ground.errors import UsageError

if TYPE_CHECKING:
    from harness.evidence.capture_list import StoredFile
    from harness.store.capture_store import Transfer

_FAULTS, _MISSING = 1, 1
_HISTORY = "git"
"""What ``--fetch`` calls the history of this repository."""


@dataclass(frozen=True)
class Packed:
    """An archive, the report's folder in it, and the captures that stayed behind."""

    archive: str
    report: str
    left_out: list[str]


@dataclass(frozen=True)
class Received:
    """With ``--check``: the faults of a report that came in, and the verdicts on its claims."""

    report: str
    verdicts: str
    faults: list[str]


@dataclass(frozen=True)
class Imported:
    """With ``--as``: the run that holds the captures, and the cells that they became."""

    run: str
    cells: list[str]


@dataclass(frozen=True)
class Copied:
    """A capture that a report keeps."""

    name: str
    sha256: str
    bytes: int


@dataclass(frozen=True)
class Missing(Copied):
    """A capture that was not copied, and why."""

    reason: str


@dataclass(frozen=True)
class Transferred:
    """With ``--push`` or ``--fetch``: what became of each capture."""

    copied: list[Copied]
    already_there: list[Copied]
    missing: list[Missing]


Report = Annotated[
    Path | None,
    typer.Option(
        "--report",
        metavar="FOLDER",
        help="The report to pack, or whose captures to copy; those of all reports if absent.",
    ),
]
Archive = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="The archive to write.")
]
Words = Annotated[
    list[str] | None,
    typer.Option("--word", metavar="WORD", help="Also leave this word out; may be repeated."),
]
Place = Annotated[
    str | None,
    typer.Option(
        "--as",
        metavar="PROBLEM/CASE/VARIANT",
        help="Make these captures evidence of a study: cells of a new run.",
    ),
]
Step = Annotated[
    str | None,
    typer.Option("--range", help="With --as: the NVTX range or annotation that marks a step."),
]
Into = Annotated[
    Path | None,
    typer.Option("--run", metavar="FOLDER", help="With --as: add to this run of such captures."),
]


def contribute(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PROBLEM | FILES",
            help="The problem whose report to pack; with --as: captures of nsys, ncu,"
            " torch.profiler or memory.",
            autocompletion=completion.problems,
        ),
    ] = None,
    report: Report = None,
    to: Archive = None,
    word: Words = None,
    check: Annotated[
        Path | None, typer.Option("--check", help="Check this archive or report instead.")
    ] = None,
    place: Place = None,
    step: Step = None,
    run: Into = None,
    push: Annotated[
        str | None,
        typer.Option(
            metavar="DEST", help="Copy captures outside git to a folder, or a URL of fsspec."
        ),
    ] = None,
    fetch: Annotated[
        str | None,
        typer.Option(
            metavar="SRC",
            help="Copy them back; what DEST was to --push, or git: from its history.",
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Pack a report for a pull request; bring captures in and out.

    Leaves out what names this machine or you: commands, host, user, home folders; UUIDs of GPUs are
    hashed. With --check: exit code 1 if the report is not one that can be merged. With --push and
    --fetch: 1 if captures are missing; sizes and sha256 are checked. What a capture that comes in
    with --as does not say stays unknown, and the page says so.
    """
    given: dict[str, object] = {"PROBLEM": what, "--report": report, "--output": to, "--word": word}
    given |= {"--check": check, "--as": place, "--range": step, "--run": run}
    _refuse_strays(given | {"--push": push, "--fetch": fetch})
    if check is not None:
        _check(check, json=json)
    elif place is not None:
        _import([Path(each) for each in what or ()], place, step, run, json=json)
    elif push is not None or fetch is not None:
        _transfer(report, push, fetch, json=json)
    elif len(what or ()) > 1:
        raise UsageError("one problem at a time", remedy="captures come in with --as")
    else:
        _pack(what[0] if what else None, report, to, word or [], json=json)


_TAKES: Mapping[str, frozenset[str]] = {
    "--check": frozenset(),
    "--as": frozenset({"PROBLEM", "--range", "--run"}),
    "--push": frozenset({"--report"}),
    "--fetch": frozenset({"--report"}),
    "": frozenset({"PROBLEM", "--report", "--output", "--word"}),
}
"""What each way to contribute takes, by the option that chooses it; none packs a report."""


def _refuse_strays(given: Mapping[str, object]) -> None:
    """Raise UsageError if what was given is not for the way that was chosen."""
    named = [name for name, value in given.items() if value]
    way = next((name for name in _TAKES if name in named), "")
    for name in named:
        if name != way and name not in _TAKES[way]:
            what = f"{name} is not for {way}" if way else f"{name} is for --as"
            raise UsageError(what, remedy="harness contribute --help")


def _pack(
    wanted: str | None, report: Path | None, to: Path | None, words: list[str], *, json: bool
) -> None:
    """Pack a report without what names this machine."""
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
        output.as_json(Packed(str(archive), packed.folder, list(packed.left_out)))
        return
    output.say(f"packed: {archive}")
    for name in packed.left_out:
        output.say(f"left out, as it names this machine: {name}")
    output.say("next:")
    output.say(f"  harness contribute --check {archive}  # what the project's CI will say")
    output.say(f"  tar xzf {archive} in your fork, and open a pull request with {packed.folder}")


def _check(source: Path, *, json: bool) -> None:
    """Say what is wrong with an archive or a report; exit code 1 if anything is."""
    from harness.contribute import receive
    from harness.ground import checkout

    received = receive.check(source, checkout.problems())
    if json:
        document = Received(received.folder, received.verdicts, list(received.faults))
        output.as_json(document)
    else:
        for fault in received.faults:
            output.say(f"{received.folder}: {fault}")
        if received.verdicts:
            output.say(f"{received.folder}: {received.verdicts}")
    if received.faults:
        raise typer.Exit(_FAULTS)


def _import(
    captures: list[Path], place: str, step: str | None, run: Path | None, *, json: bool
) -> None:
    """Make captures from elsewhere cells of a run."""
    from harness.cli.account import near
    from harness.cli.resolve import problem_of
    from harness.contribute import importing
    from harness.ground import checkout
    from harness.store.run_folder import Run

    if not captures:
        raise UsageError("no capture named", remedy="such as FILE --as 1/stack-m1/bf16-eager")
    parts = place.split("/")
    if len(parts) != 3:
        remedy = "such as --as 1/stack-m1/bf16-eager"
        raise UsageError(f"--as {place!r} is not PROBLEM/CASE/VARIANT", remedy=remedy)
    problem = problem_of(parts[0])
    at = importing.place_of(problem, parts[1], parts[2])
    into = Run.open(run) if run else None
    if into:
        importing.check_open(into, problem)
    imported = importing.import_files(captures, at, checkout.runs(), into, step)
    if json:
        output.as_json(Imported(str(imported.run.folder), list(imported.cells)))
        return
    for cell in imported.cells:
        output.say(f"imported: {cell}")
    folder = near(imported.run.folder)
    beside = f"harness contribute FILE --as {parts[0]}/CASE/VARIANT --run {folder}"
    output.say(f"run: {imported.run.folder}")
    output.say("next:")
    output.say(f"  {beside}  # what to compare")
    output.say(f"  harness check {problem.number} --run {folder}")
    output.say(f"  harness report {problem.number} --run {folder}")


def _transfer(report: Path | None, push: str | None, fetch: str | None, *, json: bool) -> None:
    """Copy captures that git has no room for; exit code 1 if some are missing."""
    from harness.evidence import capture_list
    from harness.ground import checkout
    from harness.report import index
    from harness.store import capture_store

    captures: list[StoredFile] = [
        *_outside_git([report] if report else index.reports(checkout.reports())),
        *(() if report else capture_list.stored(checkout.problems())),
    ]
    store = checkout.captures()
    if push is not None:
        done = capture_store.push(captures, store, push)
    elif fetch == _HISTORY:
        done = capture_store.fetch_from_history(captures, checkout.CHECKOUT, store)
    else:
        done = capture_store.fetch(captures, str(fetch), store)
    if json:
        output.as_json(_transferred(done))
    else:
        for capture in done.copied:
            output.say(f"copied: {capture.name} {capture.sha256}")
        for capture, reason in done.missing:
            output.say(f"missing: {capture.name} {capture.sha256}: {reason}")
        counts = (len(done.copied), len(done.already_there), len(done.missing))
        output.say("{} copied, {} already there, {} missing".format(*counts))
    raise typer.Exit(_MISSING if done.missing else 0)


def _outside_git(reports: list[Path]) -> list["StoredFile"]:
    """Return the captures outside git that reports list; older reports list none."""
    from harness.evidence import capture_list

    captures: list[StoredFile] = []
    for report in reports:
        if not (report / "evidence").is_dir():
            raise UsageError("not a report: it has no evidence folder", where=report)
        listed = capture_list.read(report / "evidence")
        captures += [capture for capture in listed.captures if not capture.in_git] if listed else []
    return captures


def _transferred(done: "Transfer") -> Transferred:
    def row(capture: "StoredFile") -> tuple[str, str, int]:
        return capture.name, capture.sha256, capture.bytes

    return Transferred(
        [Copied(*row(capture)) for capture in done.copied],
        [Copied(*row(capture)) for capture in done.already_there],
        [Missing(*row(capture), reason) for capture, reason in done.missing],
    )
