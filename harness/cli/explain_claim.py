"""``harness explain-claim``: a claim's verdict, back to samples, captures and their sha256."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness.cli import completion
from harness.cli.problem_argument import MaybeProblem, ReportFolder, RunFolder

if TYPE_CHECKING:
    from harness.analysis.origins import CellOrigin, MetricOrigin
    from harness.evidence.subject import Folder
    from harness.problem.model import Problem
    from harness.store.run_folder import Run

    Files = Mapping[tuple[str, str], "dict[str, Any]"]
    """By cell and artifact, the file that lies in a run or that a report keeps."""


def explain_claim(
    claim: Annotated[
        str,
        typer.Argument(
            help="The claim's id, as harness check prints it.", autocompletion=completion.claims
        ),
    ],
    problem: MaybeProblem = None,
    run: RunFolder = None,
    report: ReportFolder = None,
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Show what a claim rests on.

    Its verdict, the metrics that decide it, and of each the cells, samples, captures and sha256.
    """
    from harness.analysis.origins import origins
    from harness.cli import judgement, output
    from harness.cli.resolve import run_or_report
    from harness.extract import door
    from harness.ground.errors import UsageError
    from harness.problem.names import nearest

    study, source = run_or_report(problem, run, report)
    evidence = door.whole(source if isinstance(source, Path) else source.folder)
    results, scope = judgement.judge(study, evidence)
    known = {result.claim.id: result for result in results}
    if claim not in known:
        remedy = nearest(claim, list(known))
        raise UsageError(f"no claim {claim!r}", where=study.folder.name, remedy=remedy)
    result = known[claim]
    found = origins(study, judgement.metrics(study, evidence), evidence.origin, result)
    kept = _kept(source) if isinstance(source, Path) else _left(source, evidence)
    if json:
        document = judgement.as_json(study, [result], scope)[0]
        output.as_json(document | _document(study, evidence, found, kept, result.claim.bound))
        return
    judgement.tell(study, result)
    output.say(f"judged: {evidence.label}")
    for each in found:
        output.say()
        for line in _lines(each, kept):
            output.say(line)
    output.say()
    for line in _tables(found):
        output.say(line)


def _kept(report: Path) -> "Files":
    """Return the captures that a report keeps."""
    from harness.evidence import capture_list

    listed = capture_list.read(report / "evidence")
    return {
        (each.cell, each.artifact): {
            "file": str(report / "captures" / each.name) if each.in_git else None,
            "sha256": each.sha256,
            "bytes": each.bytes,
        }
        for each in (listed.captures if listed else ())
    }


def _left(run: "Run", evidence: "Folder") -> "Files":
    """Return the artifacts that a run's cells left, of the attempts that the evidence is from."""
    began = {cell.cell: cell.started for cell in evidence.origin.cells}
    return {
        (record.name, name): {"file": str(folder / name), **artifact.model_dump(mode="json")}
        for folder, record in run.records()
        if record.started == began.get(record.name)
        for name, artifact in record.artifacts.items()
    }


def _document(
    study: "Problem",
    evidence: "Folder",
    found: "tuple[MetricOrigin, ...]",
    files: "Files",
    bound: Any,
) -> dict[str, Any]:
    from harness.analysis.verdict import limits

    least, most = (None if abs(end) == float("inf") else end for end in limits(bound))
    origin = evidence.origin.run
    return {
        "least": least,
        "most": most,
        "problem": study.folder.name,
        "subject": evidence.label,
        "run": origin.id,
        "target": origin.target.name,
        "metrics": [_metric(each, files) for each in found],
    }


def _metric(each: "MetricOrigin", files: "Files") -> dict[str, Any]:
    value = each.measured
    return {
        "metric": each.name,
        "variant": each.variant,
        "case": each.case,
        "capture": each.definition.capture,
        "source": f"{each.source} {getattr(each.definition, each.source)}",
        **{key: getattr(value, key) for key in ("value", "low", "high", "unit", "why", "doubt")},
        "tables": {name: table.model_dump(mode="json") for name, table in each.tables.items()},
        "cells": [
            {
                "cell": origin.cell.cell,
                "gpu": origin.cell.gpu,
                "values": list(origin.values),
                "artifact": _artifact(origin, files),
            }
            for origin in each.cells
        ],
    }


def _artifact(origin: "CellOrigin", files: "Files") -> dict[str, Any] | None:
    """Return the artifact as the cell left it, and the file that is still there of it."""
    if origin.artifact is None or origin.recorded is None:
        return None
    kept = files.get((origin.cell.cell, origin.artifact))
    return {"name": origin.artifact, **origin.recorded.model_dump(mode="json"), "kept": kept}


def _lines(each: "MetricOrigin", files: "Files") -> Iterator[str]:
    """Yield the lines on a metric: its value, what it is read off, and each cell behind it."""
    from harness.report.numbers import in_full, number, size

    value = each.measured
    told = in_full(value) if value.value is not None else f"not measured: {value.why}"
    yield f"{each.name} of {each.variant} in {each.case}: {told}"
    source = getattr(each.definition, each.source)
    yield f"  {each.source} {source} of the {each.definition.capture} capture"
    for origin in each.cells:
        count, middle = len(origin.values), number(median(origin.values))
        values = middle if count == 1 else f"{count} values, median {middle}"
        yield f"  {origin.cell.cell}: {values} {value.unit}".rstrip()
        artifact = _artifact(origin, files)
        if artifact is None:
            continue
        yield f"    {artifact['name']}, {size(artifact['bytes'])}"
        yield f"    sha256 {artifact['sha256']}"
        if kept := artifact["kept"]:
            where = kept["file"] or "outside git (harness captures fetch)"
            yield f"    kept: {where}"
            yield f"    sha256 {kept['sha256']}"


def _tables(found: "tuple[MetricOrigin, ...]") -> Iterator[str]:
    """Yield the lines on the tables that the metrics are read off, each table once."""
    from harness.report.numbers import size

    tables = {name: table for each in found for name, table in each.tables.items()}
    for name, table in tables.items():
        yield f"evidence/{name}.parquet, {size(table.bytes)}"
        yield f"  sha256 {table.sha256}"
