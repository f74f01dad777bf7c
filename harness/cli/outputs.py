"""The commands' documents with ``--json``, and their exit codes; ``harness schema`` shows both.

A document of a kind of capture has further keys, which are those of its kind.
"""

from typing import Any

from pydantic import BaseModel, ConfigDict, TypeAdapter

from harness.cli.claim_outputs import Compared, Exact, Explained, FilesChecked, Judged
from harness.evidence.provenance import Ceilings
from harness.ground.references import resolve


class _Open(BaseModel):
    """A document with further keys, of its kind of capture."""

    model_config = ConfigDict(extra="allow")


class Listed(Exact):
    """A problem."""

    number: int
    name: str
    title: str
    variants: list[str]
    cases: list[str]
    captures: list[str]
    claims: int


class Drafted(Exact):
    """The folder of a new problem, and its test."""

    problem: str
    number: int
    test: str | None


class Remarked(Exact):
    """A remark on a study."""

    rule: str
    path: str
    line: int
    what: str
    remedy: str


class PlannedCell(Exact):
    """A cell of ``harness run --dry-run``, with the seconds that it took before."""

    id: str
    variant: str
    case: str
    capture: str
    round: int
    expected_s: float | None


class RanCell(Exact):
    """A cell of a run."""

    id: str
    variant: str
    case: str
    capture: str
    round: int
    status: str
    reason: str
    wall_s: float


class Ran(Exact):
    """A run, what was told of it, and its worklog if one was written."""

    run: str
    engine: str
    told: list[str]
    cells: list[RanCell]
    worklog: str | None


class Joined(Exact):
    """The run that holds several, and how many cells it has."""

    run: str
    cells: int


class Extracted(Exact):
    """The folder of evidence, and the rows of each table."""

    evidence: str
    rows: dict[str, int]


class Rendered(Exact):
    """The worklogs that were written; the lacks of a partial report; captures outside of git."""

    worklogs: list[str]
    partial: str
    outside_git: int


class Busy(Exact):
    """How long GPUs worked in the steps (``of``), and from their first operation to their last."""

    of: str
    busy_ns: int
    span_ns: int
    whole_busy_ns: int
    whole_span_ns: int


class Inspected(_Open):
    """A capture file, by its kind."""

    kind: str
    conditions: dict[str, str]
    step: Busy | None
    findings: list[dict[str, Any]]
    label: str = ""


class InspectedCell(Exact):
    """A cell of a run or a report, and its captures."""

    case: str
    variant: str
    captures: list[str]


class InspectedFolder(Exact):
    """A run or a report."""

    label: str
    run: str
    cells: list[InspectedCell]


class Unread(Exact):
    """A file of a folder that could not be read."""

    label: str
    error: str


class Differing(_Open):
    """What changed from A to B, by what both hold."""

    a: str
    b: str
    headline: str


class Evidence(Exact):
    """A number that a finding rests on; ``threshold`` is what decided."""

    metric: str
    value: float
    threshold: float | None
    source: str
    unit: str


class Found(_Open):
    """A finding: its share of the time, what removing it gains at most, how sure it is."""

    id: str
    level: str
    where: str
    kernel: str | None
    share: float | None
    gain: float | None
    confidence: float
    evidence: list[Evidence]
    fix: list[str]
    next: list[str]


class Diagnosed(_Open):
    """The findings on a subject, most important first; ``step``: what their shares are of."""

    step: Busy | None
    findings: list[Found]
    label: str = ""


class Checked(Exact):
    """A check of this machine; ``ok`` is null where nothing can be said."""

    name: str
    ok: bool | None
    found: str
    remedy: str


class Doctored(Exact):
    """The checks of this machine, and the machine."""

    checks: list[Checked]
    target: dict[str, Any]


class Capture(Exact):
    """A capture that a report keeps."""

    name: str
    sha256: str
    bytes: int
    reason: str = ""


class Transferred(Exact):
    """What became of each capture."""

    copied: list[Capture]
    already_there: list[Capture]
    missing: list[Capture]


class Cleaned(Exact):
    """Containers that were removed, those still there, and errors of engines."""

    removed: list[str]
    still_there: list[str]
    cannot_tell: list[str]


class Packed(Exact):
    """An archive, the report's folder in it, and the captures that stayed behind."""

    archive: str
    report: str
    left_out: list[str]


class Received(Exact):
    """The faults of a report that came in (``--check``), and the verdicts on its claims."""

    report: str
    verdicts: str
    faults: list[str]


class Imported(Exact):
    """The run that holds the captures, and the cells that they became."""

    run: str
    cells: list[str]


OUTPUTS: dict[str, Any] = {
    "list": list[Listed],
    "new": Drafted,
    "lint": list[Remarked],
    "run": Ran | list[PlannedCell],
    "matrix": list[dict[str, str]],
    "join": Joined,
    "extract": Extracted,
    "check": list[Judged] | Compared | FilesChecked,
    "explain-claim": Explained,
    "report": Rendered,
    "inspect": Inspected | InspectedFolder | list[Inspected | Unread],
    "diff": Differing,
    "diagnose": Diagnosed | list[Diagnosed],
    "audit": "harness.analysis.audit.conclude:Audit",
    "import": Imported,
    "contribute": Packed | Received,
    "doctor": Doctored,
    "calibrate": Ceilings,
    "clean": Cleaned,
    "captures push": Transferred,
    "captures fetch": Transferred,
}
"""Each command's document: its type, or "module:type" of a document that needs readers."""

_EXITS = {
    0: "done",
    1: "a program that the work needs is absent or failed, or output cannot be written",
    2: "what was asked for cannot be used: one line on stderr says where, what, and what to do",
    130: "interrupted",
}
_OWN_EXITS: dict[str, dict[int, str]] = {
    "run": {4: "some cells failed"},
    "matrix": {4: "some cells failed"},
    "check": {
        1: "a claim is refuted; with --strict also an inconclusive one; with --against: got worse;"
        " with --deep: a file is not as recorded",
        3: "no claim was measured, cells lack, or nothing can be compared",
    },
    "lint": {1: "there are remarks"},
    "doctor": {1: "something is not as it has to be"},
    "clean": {1: "a container is still there, or an engine could not tell"},
    "contribute": {1: "with --check: the report has faults"},
    "captures push": {1: "captures are missing"},
    "captures fetch": {1: "captures are missing"},
}


def schema_of(command: str) -> dict[str, Any]:
    """Return the JSON schema of a command's document, with its exit codes by number."""
    exits = {
        str(code): text for code, text in sorted((_EXITS | _OWN_EXITS.get(command, {})).items())
    }
    known = OUTPUTS[command]
    printed = resolve(known) if isinstance(known, str) else known
    schema = TypeAdapter(printed).json_schema()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"harness {command} --json",
        **{key: value for key, value in schema.items() if key != "title"},
        "x-exit-codes": exits,
    }
