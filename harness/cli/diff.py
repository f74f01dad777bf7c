"""``harness diff``: what changed from one capture, cell, run or report to another."""

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness.cli import output
from harness.cli.results import Github, Junit, pass_on
from harness.ground.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.analysis.diff.cells import CellDiff
    from harness.evidence.subject import CaptureFiles, Folder, Subject
    from harness.ground.errors import HarnessError
    from harness.report.check_results import Result
    from harness.report.section_text import Section

_SIDE = "A capture file, a folder of them, a run or report folder, or FOLDER:CASE.VARIANT."
_FAILED, _UNDECIDED = 1, 3


def diff(
    a: Annotated[str, typer.Argument(help=_SIDE)],
    b: Annotated[str, typer.Argument(help="The same: what to compare the first with.")],
    ranges: Annotated[
        str | None, typer.Option("--range", help="The NVTX range or annotation of a step.")
    ] = None,
    fail_above: Annotated[
        str | None,
        typer.Option(metavar="PERCENT", help="Exit with 1 if B's step takes longer by more."),
    ] = None,
    junit: Junit = None,
    github: Github = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print as Markdown.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Say what changed from A to B, in parts that sum up.

    With --fail-above: exit code 1 if B's step, or all kernels under Nsight Compute, takes longer
    than A's by more than this, with the whole 99 % interval; 0 if by no more, with the whole
    interval; else, or if the two cannot be compared, 3. With it go --junit and --github.
    """
    from harness.cli.opening import section_of

    if json and markdown:
        raise UsageError("--json and --markdown exclude each other")
    most = None if fail_above is None else _most(fail_above)
    if most is None and (junit or github):
        raise UsageError("nothing is judged to write or annotate", remedy="add --fail-above 5%")
    sides = section_of(a), section_of(b)
    for side in sides if most is not None else ():
        _refuse_recorded(side)
    compared = _compared(*sides, ranges)
    results = [] if most is None else _judged(compared, most)
    if json:
        judged = {} if most is None else {"judged": results}
        output.as_json(compared.document | judged)
    else:
        _show(compared, results, markdown=markdown)
    if most is not None:
        pass_on(results, "harness diff", junit, github=github)
        statuses = {result.status for result in results}
        raise typer.Exit(
            _FAILED if "failed" in statuses else _UNDECIDED if "skipped" in statuses else 0
        )


def _most(percent: str) -> float:
    """Return the ratio of B to A that ``5%`` or ``5`` allows."""
    bare = percent.strip()
    try:
        allowed = float(bare.removesuffix("%"))
    except ValueError:
        allowed = math.nan
    if not 0 <= allowed < math.inf:
        what = f"{percent!r} is not a percentage of 0 or more"
        raise UsageError(what, where="--fail-above", remedy="such as 5%")
    if 0 < allowed < 1 and not bare.endswith("%"):
        raise UsageError(f"{bare} % or {100 * allowed:g} %?", where="--fail-above", remedy="add %")
    return 1 + allowed / 100


def _refuse_recorded(side: "Subject | CaptureFiles | Folder") -> None:
    from harness.evidence.subject import Folder, Subject

    if isinstance(side, Folder) or (isinstance(side, Subject) and side.run):
        raise UsageError(
            "--fail-above is for captures of your own",
            where=side.label,
            remedy="harness check --against judges runs and reports, by their unprofiled times",
        )


@dataclass(frozen=True)
class _Compared:
    """What is printed: a document, or for each pair the labels and sections, then lines.

    ``pairs``: B's labels with what changed. ``absent``: the lines on captures that B lacks or that
    cannot be read.
    """

    document: dict[str, Any]
    parts: "Sequence[tuple[str, str, Sequence[Section]]]"
    pairs: "list[tuple[str, CellDiff]]"
    lines: "Sequence[str]" = ()
    absent: "Sequence[str]" = ()


def _compared(
    a: "Subject | CaptureFiles | Folder",
    b: "Subject | CaptureFiles | Folder",
    ranges: str | None,
) -> _Compared:
    """Return the difference as a document and as sections, and lines on captures left out."""
    from harness.analysis.diff import compare
    from harness.evidence.subject import CaptureFiles, Folder
    from harness.report import difference

    if isinstance(a, Folder) and isinstance(b, Folder):
        folders = compare.compare_folders(a, b)
        sections = [difference.folders(folders)]
        document = {"a": a.label, "b": b.label, **asdict(folders)}
        return _Compared(document, [(a.label, b.label, sections)], [])
    if isinstance(a, Folder) or isinstance(b, Folder):
        raise UsageError(
            "one side is a whole run or report, the other is not",
            remedy="name a cell of it: FOLDER:CASE.VARIANT",
        )
    if isinstance(a, CaptureFiles) and isinstance(b, CaptureFiles):
        return _folders_of_captures(a, b, ranges)
    first, second = (side.subject() if isinstance(side, CaptureFiles) else side for side in (a, b))
    change = compare.compare(first, second, ranges)
    sentence = difference.headline(change)
    document = {"a": first.label, "b": second.label, "headline": sentence, **asdict(change)}
    parts = [(first.label, second.label, difference.sections(change))]
    return _Compared(document, parts, [(second.label, change)])


def _folders_of_captures(a: "CaptureFiles", b: "CaptureFiles", ranges: str | None) -> _Compared:
    """Return the differences of two folders, capture by capture."""
    from harness.analysis.diff import pairs

    pairing = pairs.paired(a, b)
    compared = [_compared(first, second, ranges) for first, second in pairing.both]
    refused: list[HarnessError] = [*a.refused, *b.refused]
    document: dict[str, Any] = {
        "a": a.label,
        "b": b.label,
        "pairs": [each.document for each in compared],
        "only_a": pairing.only_a,
        "only_b": pairing.only_b,
        "not_read": [str(error) for error in refused],
    }
    only_a, only_b = (
        [f"Only in {side}: {label}." for label in labels]
        for side, labels in (("A", pairing.only_a), ("B", pairing.only_b))
    )
    unread = [f"Not read: {error}" for error in refused]
    lines = only_a + only_b + unread
    if len(compared) == 1 and not lines:
        document = compared[0].document
    return _Compared(
        document,
        [part for each in compared for part in each.parts],
        [pair for each in compared for pair in each.pairs],
        lines,
        only_a + unread,
    )


def _judged(compared: _Compared, most: float) -> "list[Result]":
    """Return each pair's time held against the ratio that is allowed; what is absent is skipped."""
    from harness.analysis.diff import gate
    from harness.report import check_results
    from harness.report.check_results import Result

    results = [
        check_results.of_judged(label, judged, most)
        for label, change in compared.pairs
        if (judged := gate.judged(change, most))
    ]
    label = compared.document["b"]
    results += [Result(label, line, "skipped", f"undecided: {line}") for line in compared.absent]
    what = "undecided: the two hold neither steps nor kernels whose time could be judged"
    return results or [Result(label, "time", "skipped", what)]


def _show(compared: _Compared, results: "Sequence[Result]", *, markdown: bool) -> None:
    show = _print_markdown if markdown else _print
    for first, second, sections in compared.parts:
        show(first, second, sections)
    for line in [*compared.lines, *(f"{each.suite}: {each.message}" for each in results)]:
        output.say(line)


def _print_markdown(a: str, b: str, sections: "Sequence[Section]") -> None:
    from harness.report import section_text
    from harness.report.escape import escape

    page = f"A: {escape(a)}  \nB: {escape(b)}\n\n{section_text.markdown(sections)}"
    for line in page.split("\n"):
        output.say(line)


def _print(a: str, b: str, sections: "Sequence[Section]") -> None:
    from harness.report import section_text

    for line in (f"A: {a}", f"B: {b}", ""):
        output.say(line)
    for section in sections:
        if section.lead:
            for line in [*section_text.wrapped(section.lead), ""]:
                output.say(line)
        if section.rows:
            output.table(section.head, section.rows, section.title)
        elif section.title:
            output.say(section.title)
        for line in section_text.printed(section):
            output.say(line)
        output.say()
