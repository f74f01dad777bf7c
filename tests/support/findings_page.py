"""Writes docs/findings.md and its pictures: ``python -m tests.support.findings_page``."""

import re
import sys
from pathlib import Path
from types import ModuleType
from typing import get_args

from harness.analysis.diagnose import (
    conclude,
    kernel_thresholds,
    memory_thresholds,
    serving_thresholds,
    thresholds,
)
from harness.analysis.diagnose.finding import Finding, FindingKind, Level
from harness.analysis.diagnose.known_findings import KERNEL, MEMORY, SERVING, TIMELINE, kinds
from harness.ground import files
from harness.problem.manifest import find
from harness.report.escape import escape
from harness.report.finding_text import costs, number_of
from tests.support.finding_signs import Sign, capture_of, signs
from tests.support.paths import ROOT

PAGE = ROOT / "docs" / "findings.md"
PICTURES = PAGE.parent / "pictures" / "findings"
REPORT = Path("reports/6-bottleneck-zoo/nvidia-h200/pages")
SPECIMENS = Path("problems/6-bottleneck-zoo/specimens")
_HEAD = """\
# Findings

What `harness diagnose` can name, top down: first what a serving engine does with its requests,
then what several GPUs do, then one GPU's timeline, then how a kernel uses the SMs, the warp
schedulers, a warp and a thread; then memory. Read a slow program in this order, and go down a level
only where the one above is healthy. Beside these, `healthy` says that nothing costs enough to
matter, and `abstain` that the evidence does not reach, with what to capture next.

Each finding leads to the page on which [problem 6](../problems/6-bottleneck-zoo/README.md)
shows it beside a healthy twin, or to its [entry below](#entries), with a capture that has it.
How a finding is made: [diagnosis.md](diagnosis.md); of a memory snapshot: [memory.md](memory.md).
"""
_ENTRIES = """\
## Entries

What a finding is, how it looks in a profiler, what the diagnosis has to see, what to do, and what
is easily mistaken for it. The numbers are those of the capture that each entry names.
"""
_LABELS = ("Where to look", "Neighbours", "Gain", "Source")
"""What paragraphs of a finding's docstring begin with; the first one has none."""
_FAMILIES = (SERVING, TIMELINE, KERNEL, MEMORY)
_THRESHOLDS = (thresholds, serving_thresholds, kernel_thresholds, memory_thresholds)
_CONSTANT = re.compile(r"\b_?[A-Z]{3,}(?:_[A-Z]+)*\b")
_CODE = re.compile(r"(?<![`\w.])\w[\w.]*_[\w.]*\w(?:\([^)]*\))?(?!`)")
_IDS = re.compile(rf"(?<![\w-])({'|'.join(kinds())})(?![\w-])")


def text() -> str:
    """Return the page."""
    parts = [_HEAD]
    for level in get_args(Level):
        rows = [
            f"| [`{kind.id}`]({_place(kind.id)}) | {kind.title} |"
            for kind in kinds().values()
            if kind.level == level
        ]
        if rows:
            title = level[:1].upper() + level[1:]
            parts.append(
                "\n".join([f"## {title}\n", "| finding | what is wrong |", "| --- | --- |"])
            )
            parts[-1] += "\n" + "\n".join(rows) + "\n"
    entries = [_entry(kinds()[id_], sign) for id_, sign in signs().items()]
    return "\n".join([*parts, _ENTRIES, *entries])


def pictures() -> dict[str, str]:
    """Return the SVG of each entry's picture, by the file's name."""
    return {f"{id_}.svg": sign.draw(capture_of(id_)) or "" for id_, sign in signs().items()}


def words(kind: FindingKind) -> dict[str, str]:
    """Return what a finding's docstring says, by label, "" for what it is; as Markdown.

    Constants of its module and of the thresholds are given by their values.
    """
    every = (each for family in _FAMILIES for each in family.findings)
    module = next(sys.modules[each.found.__module__] for each in every if each.KIND is kind)
    flat = re.sub(r"(?<!\n)\n(?!\n)", " ", (module.__doc__ or "").strip())
    pieces = re.split(rf"\s*\b({'|'.join(_LABELS)}): ", flat)
    labelled = dict(zip(["", *pieces[1::2]], pieces[::2], strict=True))
    return {label: _markdown(text, module) for label, text in labelled.items()}


def _markdown(text: str, module: ModuleType) -> str:
    """Return a docstring's text with values for constants, and code and links marked."""

    def value(name: re.Match[str]) -> str:
        found = (getattr(each, name[0], None) for each in (module, *_THRESHOLDS))
        return next((f"{each:g}" for each in found if isinstance(each, int | float)), name[0])

    parts = _CONSTANT.sub(value, text.replace("``", "`")).split("`")
    parts[::2] = [_IDS.sub(_linked, _coded(part)) for part in parts[::2]]
    made = "`".join(parts)
    return made[:1].upper() + made[1:]


def _coded(text: str) -> str:
    """Return a text with names that have an underscore as code."""
    return _CODE.sub(r"`\g<0>`", text)


def _linked(named: re.Match[str]) -> str:
    return f"[`{named[0]}`]({_place(named[0])})"


def _entry(kind: FindingKind, sign: Sign) -> str:
    """Return a finding's part of the page."""
    said = words(kind)
    finding = found(kind.id)
    numbers = "\n".join(f"- {_coded(number_of(each))}" for each in finding.evidence)
    fixes = "\n".join(f"- {escape(fix)}" for fix in kind.fix)
    return (
        "\n\n".join(
            [
                f"### `{kind.id}`",
                said[""],
                f"**Where to look.** {said['Where to look']}",
                f"**What the diagnosis sees** in {sign.source}. The finding {costs(finding)}.",
                numbers,
                f"![{kind.id}](pictures/findings/{kind.id}.svg)",
                f"*{sign.caption}*",
                f"**What to do.**\n\n{fixes}",
                f"**Its neighbours.** {said['Neighbours']}",
                *(f"**{label}.** {said[label]}" for label in _LABELS[2:] if label in said),
            ]
        )
        + "\n"
    )


def found(id_: str) -> Finding:
    """Return the finding on the capture of its sign."""
    findings = conclude.diagnose([capture_of(id_)]).findings
    return next(each for each in findings if each.id == id_)


def _place(finding: str) -> str:
    """Return where a finding is shown: its page in the report, until then its specimens' folder.

    One that no specimen shows has an entry on the page.
    """
    page = REPORT / f"{finding}.md"
    if (ROOT / page).exists():
        return f"../{page}"
    if finding in signs():
        return f"#{finding}"
    cases = find(ROOT / "problems", "6").cases.values()
    specimen = next(case.params["specimen"] for case in cases if case.params["finding"] == finding)
    return f"../{(SPECIMENS / str(specimen)).parent}"


def main() -> None:
    """Write the page and its pictures."""
    files.write_text(PAGE, text())
    PICTURES.mkdir(parents=True, exist_ok=True)
    for name, picture in pictures().items():
        files.write_text(PICTURES / name, picture)


if __name__ == "__main__":
    main()
