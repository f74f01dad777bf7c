"""What a worklog's templates conclude: blocks as they are rendered, sentences outside of them."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jinja2

from harness.report.escape import Markdown
from harness.report.page import Page
from harness.report.sections import concludes

CONCLUDING = re.compile(
    r"\b(faster|slower|better(?! of| library)|worse"
    r"|(is|are|was|were) (the )?(fastest|slowest|best|worst)"
    r"|cures?|cured|wins?|beats?|outperforms?|costs? nothing|for free|proves?|proven|confirms?"
    r"|confirmed|because|therefore|hence|thus|due to|caused by|that is why|which is why"
    r"|rules? out|ruled out)\b",
    re.IGNORECASE,
)
"""Words of a sentence that says what the evidence means."""

ALLOWED = "no conclusion:"
"""Begins the comment before a sentence that defines or quotes, and then gives the reason."""

_MARK = "\x00"
_CONDITIONS = ("concludes(", "holds(")


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


def unconditional(template: Path) -> Iterator[tuple[int, str]]:
    """Yield line and text of each concluding sentence that stands whatever its claims' verdicts."""
    text, starts = "", []
    for number, piece in _always(template.read_text(encoding="utf-8")):
        for offset, line in enumerate(piece.splitlines(keepends=True)):
            starts.append((len(text), number + offset))
            text += line
    text = re.sub(r"^```.*?^```", lambda match: " " * len(match[0]), text, flags=re.M | re.S)
    for place, sentence in _sentences(text):
        words = re.sub(r"`[^`]*`", "", sentence)
        if _MARK not in sentence and CONCLUDING.search(words):
            first = place + len(sentence) - len(sentence.lstrip())
            number = next(number for start, number in reversed(starts) if start <= first)
            yield number, " ".join(sentence.strip("| \n").split())


def _always(text: str) -> Iterator[tuple[int, str]]:
    """Yield line and text of what a template prints on any evidence, with the captions."""
    conditional = [False]
    statement: list[str] | None = None
    for line, kind, value in jinja2.Environment(autoescape=True).lex(text):
        if kind == "block_begin":
            statement = []
        elif kind == "block_end":
            _enter(conditional, "".join(statement or []).split())
            statement = None
        elif statement is not None:
            statement.append(value)
        elif kind == "comment" and ALLOWED in value:
            yield line, _MARK
        elif kind == "data" and not any(conditional):
            yield line, value
        elif kind == "string" and " " in value and not any(conditional):
            yield line, f"|{value[1:-1]}|"
        elif kind == "variable_begin":
            yield line, "•"


def _enter(conditional: list[bool], words: list[str]) -> None:
    """Follow a statement into a block, or out of it."""
    name = words[0] if words else ""
    if name.startswith("end"):
        conditional.pop()
    elif name in ("if", "for", "call", "macro", "filter") or (name == "set" and "=" not in words):
        text = " ".join(words)
        conditional.append(any(condition in text for condition in _CONDITIONS))


def _sentences(text: str) -> Iterator[tuple[int, str]]:
    """Yield where each sentence starts, and the sentence; a cell of a table is one."""
    start = 0
    for end in [*(match.end() for match in re.finditer(r"[.!?:;]\s|\n\s*\n|\|", text)), len(text)]:
        yield start, text[start:end]
        start = end
