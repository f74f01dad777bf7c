"""Transcripts of commands in a page: ``python -m tests.support.transcripts`` writes them anew."""

import re

from typer.testing import CliRunner

from harness.cli.app import app
from tests.support.paths import ROOT

PAGE = ROOT / "docs" / "inspect.md"
_BLOCK = re.compile(
    r"^```console\n\$ harness (?P<command>.+)\n(?P<printed>[\s\S]*?)```$", re.MULTILINE
)


def blocks(page: str) -> dict[str, str]:
    """Return each command of a page, without ``harness``, and what the page says that it prints."""
    return {block["command"]: block["printed"] for block in _BLOCK.finditer(page)}


def printed(command: str) -> str:
    """Return what a command prints on 80 columns, without spaces at the ends of lines."""
    result = CliRunner().invoke(app, command.split(), env={"COLUMNS": "80"}, catch_exceptions=False)
    return re.sub(r" +$", "", result.stdout, flags=re.MULTILINE).rstrip("\n") + "\n"


def rewritten(page: str) -> str:
    """Return a page with what its commands print now; run it in the checkout's root."""
    return _BLOCK.sub(
        lambda block: f"```console\n$ harness {block['command']}\n{printed(block['command'])}```",
        page,
    )


if __name__ == "__main__":
    PAGE.write_text(rewritten(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
