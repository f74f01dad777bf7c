"""Transcripts of commands in pages: ``python -m tests.support.transcripts`` writes them anew."""

import re
import tempfile
from collections.abc import Callable
from pathlib import Path

from typer.testing import CliRunner

from harness.cli.app import app
from tests.support.paths import ROOT

PAGE = ROOT / "docs" / "inspect.md"
AUDIT = ROOT / "docs" / "audit.md"
DIAGNOSIS = ROOT / "docs" / "diagnosis.md"
MEMORY = ROOT / "docs" / "memory.md"
_BLOCK = re.compile(
    r"^```console\n\$ harness ?(?P<command>.*)\n(?P<printed>[\s\S]*?)```$", re.MULTILINE
)


def blocks(page: str) -> dict[str, str]:
    """Return each command of a page, without ``harness``, and what the page says that it prints."""
    return {block["command"]: block["printed"] for block in _BLOCK.finditer(page)}


def printed(command: str) -> str:
    """Return what a command prints on 80 columns, without spaces at the ends of lines.

    Of ``COMMAND | head -N``, that is the first N lines.
    """
    words, _, most = command.partition(" | head -")
    result = CliRunner().invoke(app, words.split(), env={"COLUMNS": "80"}, catch_exceptions=False)
    text = re.sub(r" +$", "", result.stdout, flags=re.MULTILINE).rstrip("\n")
    return "\n".join(text.split("\n")[: int(most) if most else None]) + "\n"


def with_printed(page: str, of: Callable[[str], str]) -> str:
    """Return a page with what its commands print, as ``of`` says."""

    def block(match: re.Match[str]) -> str:
        command = match["command"]
        typed = f"$ harness {command}".rstrip()
        return f"```console\n{typed}\n{of(command)}```"

    return _BLOCK.sub(block, page)


if __name__ == "__main__":
    from tests.support import visit

    for written in (PAGE, AUDIT, DIAGNOSIS, MEMORY):
        text = with_printed(written.read_text(encoding="utf-8"), printed)
        written.write_text(text, encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        page = visit.rewritten(visit.PAGE.read_text(encoding="utf-8"), Path(folder).resolve())
        visit.PAGE.write_text(page, encoding="utf-8")
