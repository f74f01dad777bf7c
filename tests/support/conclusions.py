"""What a worklog's templates conclude: the blocks of w.concludes as they are rendered."""

import dataclasses
import functools
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from harness.analysis.verdict import Verdict
from harness.report import own_sections
from harness.report.escape import Markdown
from harness.report.page import Page
from harness.report.sandbox import Sandbox
from harness.report.sections import SECTIONS, Section, concludes
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


class _Watched(Page):
    """A page that notes whether its results are read."""

    def __getattribute__(self, name: str) -> Any:
        if name == "results":
            vars(self)["judged"] = True
        return super().__getattribute__(name)


def draw_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Call each of a study's own sections once that reads no verdict, and draw no lines.

    Of the templates, which each page compiles anew, the code is kept as well.
    """
    known_to = own_sections.known_to
    drawn: dict[tuple[str, str], object] = {}

    def once(name: str, section: Section) -> Section:
        @functools.wraps(section)
        def called(page: Page, *given: Any, **named: Any) -> Any:
            key = (name, repr((given, named)))
            if key in drawn:
                return drawn[key]
            watched = object.__new__(_Watched)
            vars(watched).update(vars(page))
            text = section(watched, *given, **named)
            if "judged" not in vars(watched) and "caller" not in named:
                drawn[key] = text
            return text

        return called

    def known(study: Path) -> dict[str, Section]:
        return {name: once(name, section) for name, section in known_to(study).items()}

    codes: dict[tuple[str, Any], Any] = {}
    compiled = Sandbox.compile

    def compiled_once(sandbox: Sandbox, source: str, *named: Any) -> Any:
        if (source, named) not in codes:
            codes[source, named] = compiled(sandbox, source, *named)
        return codes[source, named]

    monkeypatch.setattr(Sandbox, "compile", compiled_once)
    monkeypatch.setattr(own_sections, "known_to", known)
    monkeypatch.setattr("vl_convert.vegalite_to_svg", lambda *_, **__: "<svg/>")


def turned(page: Page, claim: str, verdict: Verdict) -> Page:
    """Return the page with another verdict on a claim, of the same scripts."""
    results = [
        dataclasses.replace(one, verdict=verdict) if one.claim.id == claim else one
        for one in page.results
    ]
    made = dataclasses.replace(page, results=results)
    vars(made)["changed"] = page.changed  # is read from every script of the study
    return made


def blocks(
    template: Path, page: Page, monkeypatch: pytest.MonkeyPatch, silenced: Iterable[str] = ()
) -> list[Block]:
    """Return the blocks of a page that say something; the sections ``silenced`` draw nothing."""
    for name in silenced:
        monkeypatch.setitem(SECTIONS, name, silent)
    monkeypatch.setitem(SECTIONS, "concludes", recorded)
    draw_once(monkeypatch)
    RENDERED.clear()
    render(template, page)
    return [block for block in RENDERED if block.body]


def assert_each_follows_its_claims(
    template: Path, page: Page, told: Sequence[Block], verdict: Any = "refuted"
) -> None:
    """With each claim's verdict turned in turn, the blocks that name it go, and no others."""
    for claim in sorted({claim for block in told for claim in block.ids}):
        text = render(template, turned(page, claim, verdict))
        for other in told:
            assert (other.body in text) == (claim not in other.ids), (claim, other.body)
