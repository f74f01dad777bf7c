"""``harness diagnose``: what is wrong with a subject, by the evidence of its captures."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from harness.analysis.diagnose.finding import Diagnosis
    from harness.evidence.subject import Folder, Subject


Subjects = Annotated[
    list[str],
    typer.Argument(
        help="Captures of nsys, ncu, torch.profiler, memory or load, or folders of them: of one"
        " program. Or one run or report folder, or FOLDER:CASE.VARIANT. With --test: a command,"
        " after --."
    ),
]
Test = Annotated[
    str | None,
    typer.Option(metavar="CAUSE", help="Test this cause, or all, by running a command."),
]
Metric = Annotated[
    str | None,
    typer.Option(metavar="REGEX", help="With --test: the last number that this finds."),
]
Rate = Annotated[bool, typer.Option("--rate", help="With --metric: more is faster.")]
Batch = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="With --test: the batch size, which is doubled."),
]
Repeats = Annotated[
    int, typer.Option(min=3, metavar="N", help="With --test: runs of each way, in turn.")
]


def diagnose(
    subjects: Subjects,
    test: Test = None,
    metric: Metric = None,
    rate: Rate = False,
    batch: Batch = None,
    repeats: Repeats = 5,
    json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Say what costs the most time or memory.

    Each finding with its evidence, its gain, and how to remove it. With --test: run a command with
    one thing about its run changed, such as a slower host, and say whether its time follows as the
    cause predicts. Exit code 0 if it does, 1 if not, 3 if that is undecided.
    """
    from harness.ground.errors import UsageError

    if test is not None:
        from harness.cli import tested

        asked = tested.request(subjects, metric, is_rate=rate, batch=batch, repeats=repeats)
        raise typer.Exit(tested.run(test, asked, json=json))
    if metric is not None or rate or batch is not None:
        raise UsageError("--metric, --rate and --batch are of a test", remedy="add --test CAUSE")
    _captures(subjects, json=json)


def _captures(subjects: list[str], *, json: bool) -> None:
    """Diagnose captures of one program, or each cell of a run or report."""
    from harness.analysis.diagnose import conclude
    from harness.analysis.diagnose.finding import as_json
    from harness.cli import output
    from harness.cli.opening import section_of
    from harness.evidence.subject import Folder
    from harness.ground.errors import UsageError

    opened = [section_of(subject) for subject in subjects]
    folders = [each for each in opened if isinstance(each, Folder)]
    if folders and len(opened) > 1:
        raise UsageError(
            "a whole run or report beside another subject",
            where=folders[0].label,
            remedy="name one of its cells: FOLDER:CASE.VARIANT",
        )
    if folders:
        _cells(folders[0], json=json)
        return
    files = [file for each in opened if not isinstance(each, Folder) for file in _files(each)]
    _refuse_two_runs(files)
    diagnosis = conclude.diagnose([each for file in files for each in file.captures.values()])
    if json:
        output.as_json(as_json(diagnosis))
        return
    for label in dict.fromkeys(file.label for file in files):
        output.say(label)
    output.say()
    _show(diagnosis)


def _refuse_two_runs(files: "list[Subject]") -> None:
    """Raise UsageError where two files cannot be of one run: their sum would be of no program."""
    from harness.analysis.diagnose import timeline_view
    from harness.ground.errors import UsageError

    apart = timeline_view.of_two_runs([list(file.captures.values()) for file in files])
    if apart:
        raise UsageError(
            f"beside {apart[1].label}: two recordings of one device, and not ranks of one run",
            where=apart[0].label,
            remedy="name one of them, or compare them by harness diff",
        )


def _files(opened: Any) -> "tuple[Subject, ...]":
    """Return the files of a folder, or the subject itself; a damaged file is an error."""
    from harness.evidence.subject import CaptureFiles

    if not isinstance(opened, CaptureFiles):
        return (opened,)
    for error in opened.refused:
        raise error
    return opened.files


def _cells(folder: "Folder", *, json: bool) -> None:
    """Diagnose each finished cell of a run or a report: each is a program of its own."""
    from harness.analysis.diagnose import conclude
    from harness.analysis.diagnose.finding import as_json
    from harness.cli import output

    documents = []
    for case, variant in folder.cells:
        subject = folder.subject(case, variant)
        diagnosis = conclude.diagnose(list(subject.captures.values()))
        if json:
            documents.append({"label": subject.label, **as_json(diagnosis)})
            continue
        output.say(subject.label)
        output.say()
        _show(diagnosis)
    if json:
        output.as_json(documents)


def _show(diagnosis: "Diagnosis") -> None:
    from harness.cli import output
    from harness.report import finding_text

    if diagnosis.recording and diagnosis.recording.text:
        for line in finding_text.recorded(asdict(diagnosis.recording)):
            output.say(line)
        output.say()
    for line in finding_text.peaks(diagnosis):
        output.say(line)
    for line in finding_text.lines(diagnosis):
        output.say(line)
