"""What a worklog's templates conclude: the blocks of w.concludes as they are rendered."""

from collections.abc import Callable
from typing import Any, NamedTuple

from harness.report.escape import Markdown
from harness.report.page import Page
from harness.report.sections import concludes


class Block(NamedTuple):
    """A block of ``w.concludes``: the claims that it names, and its text."""

    ids: tuple[str, ...]
    body: str


RENDERED: list[Block] = []
"""The blocks of the page that was rendered last; cleared by the test."""


def recorded(page: Page, *ids: str, caller: Callable[[], str]) -> Markdown:
    """Note the block, whether or not its claims hold, and return what stands on the page."""
    RENDERED.append(Block(ids, caller().strip()))
    return concludes.concludes(page, *ids, caller=caller)


def silent(_page: Page, *_: Any, caller: Callable[[], str] | None = None, **__: Any) -> Markdown:
    """Return nothing, or the block, in place of a section that draws or lists."""
    return Markdown(caller() if caller else "")
