"""What stands on top of a capture's tables: how it was recorded, and its first findings."""

import textwrap
from typing import Any

from harness.analysis.diagnose.finding import MEMORY
from harness.analysis.kernels import short_name
from harness.cli import output
from harness.evidence.capture import SAID
from harness.evidence.dropped import DROPPED
from harness.evidence.tables import LARGE
from harness.ground.plain import plain
from harness.report import finding_text

_FINDINGS = 3
_MACHINE = ("GPU", "driver", "CUDA", "CUDA runtime", "ROCm")
"""Conditions that stand on one line; the name of the first says itself."""
_FLAWS = (DROPPED, SAID)
"""Conditions that are told as flaws, where these were looked for."""
_PERCENT = "\N{NO-BREAK SPACE}%"


def show(document: dict[str, Any], label: str, width: int) -> None:
    """Print conditions, how busy the GPU was, and the first findings, at ``width`` columns."""
    conditions = document["conditions"]
    machine = [
        conditions[name] if name == "GPU" else f"{name} {conditions[name]}"
        for name in _MACHINE
        if name in conditions
    ]
    rows = [("machine", ", ".join(machine))] if machine else []
    elsewhere = (*_MACHINE, *(_FLAWS if document["recording"] else ()))
    rows += [(name, value) for name, value in conditions.items() if name not in elsewhere]
    margin = max((len(name) for name, _ in rows), default=0) + 2
    for name, value in rows:
        _print(f"{name}:".ljust(margin), value, width)
    if rows:
        output.say()
    if document["recording"]:
        for line in finding_text.recorded(document["recording"], width):
            output.say(line)
        output.say()
    _findings(document["findings"], label, width)


def _findings(findings: list[dict[str, Any]] | None, label: str, width: int) -> None:
    """Print a sentence a finding; None if the diagnosis was skipped."""
    command = f"harness diagnose {label}"
    if findings is None:
        what = f"More than {LARGE:,} GPU operations: what the host did and what is wrong says"
        _print("", what, width)
        output.say(f"   {command}")
        output.say()
        return
    for place, finding in enumerate(findings[:_FINDINGS], start=1):
        _print(f"{place}. ", _sentence(finding), width)
    if findings:
        output.say(f"   evidence, fix and more: {command}")
        output.say()


def _sentence(finding: dict[str, Any]) -> str:
    kernel = short_name(finding["kernel"]) if finding["kernel"] else ""
    whole = "peak" if finding["level"] == MEMORY else "time"
    share = f"{finding['share'] * 100:.1f} % of the {whole}" if finding["share"] else ""
    about = ", ".join(part for part in (share, finding["where"], kernel) if part)
    return f"{finding['id']}: {finding['title'].removesuffix('.')} ({about})"


def _print(first: str, text: str, width: int) -> None:
    lines = textwrap.wrap(
        plain(text).replace(" %", _PERCENT),
        width,
        initial_indent=first,
        subsequent_indent=" " * len(first),
        break_on_hyphens=False,
    )
    for line in lines:
        output.say(line.replace(_PERCENT, " %"))
