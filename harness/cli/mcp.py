"""``harness mcp``: commands that only read, as tools of an agent, over stdin and stdout."""

from pathlib import Path
from typing import Annotated

import typer


def mcp(
    folders: Annotated[
        list[Path],
        typer.Argument(help="The folders to read captures, runs and reports in; no other is read."),
    ],
) -> None:
    """Serve commands that only read to an agent.

    They are inspect, diff, diagnose and check. A client of the Model Context Protocol (MCP) starts
    the server, and ends it by closing its stdin.
    """
    from harness.cli import outputs
    from harness.mcp.folders import Folders
    from harness.mcp.server import serve
    from harness.mcp.tools import TOOLS

    allowed = Folders(folders)
    serve(allowed, {name: outputs.schema_of(name) for name in TOOLS})
