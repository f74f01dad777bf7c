"""The commands' documents with ``--json``, and their exit codes; ``harness schema`` shows both.

A document is a dataclass that its command prints. Documents of analysis that have further keys,
which are those of the kind of capture, are described here.
"""

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from harness.analysis.busy import Busy
from harness.analysis.diagnose.finding import Evidence, Level
from harness.analysis.recording import Recording
from harness.cli import check, contribute, doctor, inspect, report, run
from harness.cli.new import Drafted
from harness.cli.studies import Copied
from harness.problem.manifest import Outline


class _Open(BaseModel):
    """A document with further keys, of its kind of capture."""

    model_config = ConfigDict(extra="allow")


class Inspected(_Open):
    """A capture file, by its kind."""

    kind: str
    conditions: dict[str, str]
    recording: Recording | None
    step: Busy | None
    findings: list[dict[str, Any]] | None
    label: str = ""


class Differing(_Open):
    """What changed from A to B, by what both hold; of two folders, by cell or by capture.

    ``judged``: with ``--fail-above``, each time that was held against it.
    """

    a: str
    b: str
    headline: str = ""
    judged: list[dict[str, str]] = []


class Found(_Open):
    """A finding: its share of the time, what removing it gains by estimate, how sure it is.

    ``parts``: the findings that it tells together, as one fix removes them.
    """

    id: str
    level: Level
    where: str
    kernel: str | None
    share: float | None
    gain: float | None
    confidence: float
    evidence: list[Evidence]
    fix: list[str]
    next: list[str]
    parts: list["Found"]


class Diagnosed(_Open):
    """The findings on a subject, most important first; ``step``: what their shares are of.

    ``recording``: what the captures are, and what is wrong with them.
    """

    recording: Recording | None
    step: Busy | None
    findings: list[Found]
    label: str = ""


def _lint() -> Any:
    from harness.lint.study import Remark

    return list[Remark]


def _run() -> Any:
    from harness.cli.bisected import Bisected
    from harness.cli.planned import PlannedCell

    return run.Ran | list[PlannedCell] | Bisected


def _check() -> Any:
    from harness.cli.explained import Explained
    from harness.cli.judgement import Judged

    return list[Judged] | dict[str, list[Judged]] | check.Compared | check.FilesChecked | Explained


def _diagnose() -> Any:
    from harness.cli.tested import TestedCommand

    return Diagnosed | list[Diagnosed] | TestedCommand


def _audit() -> Any:
    from harness.analysis.audit.conclude import Audit

    return Audit


def _doctor() -> Any:
    from harness.evidence.provenance import Ceilings

    return doctor.Doctored | Ceilings | doctor.Cleaned


OUTPUTS: Mapping[str, Callable[[], Any]] = {
    "list": lambda: list[Outline],
    "studies": lambda: Copied,
    "new": lambda: Drafted,
    "lint": _lint,
    "run": _run,
    "check": _check,
    "report": lambda: report.Rendered | report.Extracted | report.Joined,
    "inspect": lambda: Inspected | inspect.Cells | list[Inspected | inspect.Unread],
    "diff": lambda: Differing,
    "diagnose": _diagnose,
    "audit": _audit,
    "contribute": lambda: (
        contribute.Packed | contribute.Received | contribute.Imported | contribute.Transferred
    ),
    "doctor": _doctor,
}
"""Each command's document, made when it is asked for: some need the readers of captures."""

_EXITS = {
    0: "done",
    1: "a program that the work needs is absent or failed, or output cannot be written",
    2: "what was asked for cannot be used: one line on stderr says where, what, and what to do",
    130: "interrupted",
}
_OWN_EXITS: dict[str, dict[int, str]] = {
    "run": {4: "some cells failed"},
    "check": {
        1: "a claim is refuted; with --strict also one tested and not reproduced; with --against:"
        " a metric got worse;"
        " with --deep: a file is not as recorded",
        3: "no claim was tested, cells lack, or nothing can be compared",
    },
    "diff": {
        1: "with --fail-above: B takes longer by more, with the whole interval",
        3: "with --fail-above: undecided, as the steps vary too much or cannot be compared",
    },
    "diagnose": {
        1: "with --test: the cause is not borne out",
        3: "with --test: no prediction of the cause is decided",
    },
    "audit": {1: "more than 1 % of the GPU's time is unattributed"},
    "lint": {1: "there are remarks"},
    "doctor": {
        1: "something is not as it has to be; with --clean: a container is still there, or an"
        " engine could not tell"
    },
    "contribute": {
        1: "with --check: the report has faults; with --push and --fetch: captures are missing"
    },
}


def schema_of(command: str) -> dict[str, Any]:
    """Return the JSON schema of a command's document, with its exit codes by number."""
    exits = {
        str(code): text for code, text in sorted((_EXITS | _OWN_EXITS.get(command, {})).items())
    }
    adapter = TypeAdapter(OUTPUTS[command]())
    schema = adapter.json_schema(schema_generator=_Schemas)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"harness {command} --json",
        **{key: value for key, value in schema.items() if key != "title"},
        "x-exit-codes": exits,
    }


class _Schemas(GenerateJsonSchema):
    """Makes the schemas; a dataclass is a document without other keys than its own."""

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> JsonSchemaValue:
        """Return the schema of a dataclass."""
        return super().dataclass_schema(schema) | {"additionalProperties": False}
