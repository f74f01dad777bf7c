"""What a worklog's templates conclude: the blocks of w.concludes as they are rendered."""

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from harness.report.escape import Markdown
from harness.report.page import Page
from harness.report.sections import SECTIONS, concludes
from harness.report.worklog import render


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


def blocks(
    template: Path, page: Page, monkeypatch: pytest.MonkeyPatch, silenced: Iterable[str] = ()
) -> list[Block]:
    """Return the blocks of a page that say something; the sections ``silenced`` draw nothing."""
    for name in silenced:
        monkeypatch.setitem(SECTIONS, name, silent)
    monkeypatch.setitem(SECTIONS, "concludes", recorded)
    RENDERED.clear()
    render(template, page)
    return [block for block in RENDERED if block.body]


def assert_each_follows_its_claims(
    template: Path, page: Page, told: Sequence[Block], verdict: Any = "refuted"
) -> None:
    """With each claim's verdict turned in turn, the blocks that name it go, and no others."""
    for claim in sorted({claim for block in told for claim in block.ids}):
        flipped = [
            dataclasses.replace(one, verdict=verdict) if one.claim.id == claim else one
            for one in page.results
        ]
        text = render(template, dataclasses.replace(page, results=flipped, figures={}))
        for other in told:
            assert (other.body in text) == (claim not in other.ids), (claim, other.body)
