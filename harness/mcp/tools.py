"""The tools: each is a command of the harness, with its arguments as an agent gives them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harness.ground import json_text
from harness.ground.errors import UsageError
from harness.mcp.folders import Folders

Text = Annotated[str, Field(min_length=1, max_length=4096)]
_CAPTURE = (
    "a capture file of nsys, ncu, torch.profiler or the memory snapshot, a folder of them,"
    " a run or report folder, or FOLDER:CASE.VARIANT; relative to a folder of this server"
)
_STUDY = "a run folder or a report folder of a study, relative to a folder of this server"


class Arguments(BaseModel):
    """The arguments of a tool."""

    model_config = ConfigDict(extra="forbid", strict=True)

    def words(self, folders: Folders) -> list[str]:
        """Return the command's arguments; UsageError if a path leads out of ``folders``."""
        raise NotImplementedError


class Inspect(Arguments):
    """Show what a capture holds: kernels, copies, idle time, ranges, counters or memory."""

    subject: Text = Field(description=_CAPTURE)

    def words(self, folders: Folders) -> list[str]:
        """Return the arguments of ``harness inspect``."""
        return [folders.subject(self.subject)]


class Diff(Arguments):
    """Say what changed from capture, cell, run or report A to B, in parts that sum up."""

    a: Text = Field(description=_CAPTURE)
    b: Text = Field(description="what to compare A with, of the same sort")
    range: Text | None = Field(None, description="the NVTX range or annotation of a step")

    def words(self, folders: Folders) -> list[str]:
        """Return the arguments of ``harness diff``."""
        options = [f"--range={self.range}"] if self.range else []
        return [*options, folders.subject(self.a), folders.subject(self.b)]


class Diagnose(Arguments):
    """Say what costs a program the most time or memory, with evidence, gain and remedy."""

    subjects: Annotated[list[Text], Field(min_length=1, max_length=20)] = Field(
        description=f"captures of one program, each {_CAPTURE}"
    )

    def words(self, folders: Folders) -> list[str]:
        """Return the arguments of ``harness diagnose``."""
        return [folders.subject(subject) for subject in self.subjects]


class Check(Arguments):
    """Judge the claims of a study by a run or report, say what got worse, or explain a claim."""

    subject: Text = Field(description=_STUDY)
    against: Text | None = Field(None, description=f"compare with {_STUDY}")
    claim: Text | None = Field(
        None, description="show what this claim rests on: bound, verdict, samples, captures, sha256"
    )

    def words(self, folders: Folders) -> list[str]:
        """Return the arguments of ``harness check``."""
        options = [f"--against={folders.subject(self.against)}"] if self.against else []
        options += [f"--claim={self.claim}"] if self.claim else []
        return [*options, _study(folders.subject(self.subject))]


TOOLS: Mapping[str, type[Arguments]] = {
    "inspect": Inspect,
    "diff": Diff,
    "diagnose": Diagnose,
    "check": Check,
}
"""Each tool by its name, which is that of the command."""


def command(name: str, given: Mapping[str, Any], folders: Folders) -> list[str]:
    """Return the command line of a tool's call, without the program.

    Raises UsageError if there is no such tool, an argument is missing, unknown or of another type,
    or a path leads out of ``folders``.
    """
    if name not in TOOLS:
        raise UsageError("no such tool", where=name, remedy=f"there are: {', '.join(TOOLS)}")
    try:
        arguments = TOOLS[name].model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = f"{name}: {json_text.path(first['loc'])}"
        listed = ", ".join(TOOLS[name].model_fields)
        raise UsageError(first["msg"], where=where, remedy=f"its arguments: {listed}") from None
    return [name, "--json", *arguments.words(folders)]


def _study(folder: str) -> str:
    """Return the option that gives a command a run or a report."""
    return f"--{'run' if (Path(folder) / 'run.json').exists() else 'report'}={folder}"
