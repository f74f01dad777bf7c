"""The SDK's client, connected over stdio to a server of its own."""

import contextlib
import os
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

from tests.support.paths import ROOT


class Connection:
    """A session with a server; each method waits for the answer."""

    def __init__(self, portal: Any, session: Any) -> None:
        self._portal, self._session = portal, session

    def tools(self) -> list[Any]:
        """Return the tools that the server lists."""
        tools: list[Any] = self._portal.call(self._session.list_tools).tools
        return tools

    def call(self, name: str, **arguments: object) -> Any:
        """Return a tool's document."""
        return self.answer(name, **arguments)[0]

    def answer(self, name: str, **arguments: object) -> tuple[Any, str]:
        """Return a tool's document and its text; the client holds it to the tool's schema."""
        result = self.result(name, **arguments)
        assert not result.is_error, result.content
        return result.structured_content["document"], framed(result)[0]

    def refusal(self, name: str, **arguments: object) -> str:
        """Return the one line with which a tool refuses."""
        result = self.result(name, **arguments)
        assert result.is_error
        (line,) = framed(result)
        assert "\n" not in line
        return line

    def result(self, name: str, **arguments: object) -> Any:
        """Return a tool's answer as the SDK has it."""
        return self._portal.call(self._session.call_tool, name, arguments)


def framed(result: Any) -> list[str]:
    """Return the texts of an answer that stand in the server's frame."""
    said, *texts, end = [content.text for content in result.content]
    assert repr(end) in said
    assert not any(end in text for text in texts)
    return texts


@contextlib.contextmanager
def connected(*folders: Path, checkout: Path = ROOT) -> Iterator[Connection]:
    """Start ``harness mcp`` on folders, and end it by closing its stdin."""
    from anyio.from_thread import start_blocking_portal

    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(_session(folders, checkout)) as session,
    ):
        yield Connection(portal, session)


@contextlib.asynccontextmanager
async def _session(folders: tuple[Path, ...], checkout: Path) -> AsyncIterator[Any]:
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    environment = dict(os.environ) | {"WORKLOGS_CHECKOUT": str(checkout)}
    arguments = ["-m", "harness", "mcp", *map(str, folders)]
    server = StdioServerParameters(
        command=sys.executable, args=arguments, env=environment, cwd=ROOT
    )
    async with stdio_client(server) as (received, sent), ClientSession(received, sent) as session:
        await session.initialize()
        yield session
