"""The types of a manifest's fields: names of kinds, lines, texts, numbers of rounds."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, WithJsonSchema

from harness.evidence.kinds import KINDS


def _of_a_kind(kind: str) -> str:
    if kind not in KINDS:
        raise ValueError(f"no kind of capture {kind!r} (there are: {', '.join(KINDS)})")
    return kind


def one_line(text: str) -> str:
    """Return a text of one line; ValueError if it has several."""
    if "\n" in text.strip():
        raise ValueError("has several lines (write it in one)")
    return text


CaptureKind = Annotated[
    str, AfterValidator(_of_a_kind), WithJsonSchema({"type": "string", "enum": list(KINDS)})
]
Device = Literal["cuda", "cpu"]
DEVICES: tuple[Device, ...] = ("cuda", "cpu")
Name = str

Capability = Annotated[str, Field(pattern=r"^[0-9]{1,2}\.[0-9]\+?$")]
"""A GPU's compute capability: "9.0" for that one alone, "8.0+" for it and later ones."""

Variable = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,99}$")]
"""The name of an environment variable."""

SCRIPT = "repro.py"
"""The script of a problem that its cells run, where their case names no other."""
Script = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,59}\.py$")]
"""The name of a script that lies beside the manifest."""

MOST_ROUNDS = 1000
Rounds = Annotated[int, Field(ge=1, le=MOST_ROUNDS)]

Line = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(one_line)]
Text = Annotated[str, Field(min_length=1, max_length=2000)]
