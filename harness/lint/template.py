"""The sentences that a worklog's template prints, with their lines."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_MARK = "\x00"

_BLOCKS = ("if", "for", "call", "macro", "filter")
_OF_CODE = {"source", "kept"}
"""Sections whose arguments are lines of code, not captions."""


class _Block(NamedTuple):
    """Whether what a block prints rests on a condition: its first branch, and the other one."""

    first: bool = False
    other: bool = False


def printed(
    text: str, *, allowed: str, conditions: Sequence[str] = ()
) -> Iterator[tuple[int, str]]:
    """Yield line and text of each sentence, captions included; "•" stands for a looked-up value.

    Code blocks are left out, and sentences that follow a comment which begins with ``allowed``. So
    is what stands in a block whose statement has one of ``conditions``, but not in its other
    branch: where a claim does not hold, it may be undecided as well as refuted.
    """
    whole, starts = "", []
    for number, piece in _pieces(text, allowed, conditions):
        for offset, line in enumerate(piece.splitlines(keepends=True)):
            starts.append((len(whole), number + offset))
            whole += line
    whole = re.sub(r"^```.*?^```", lambda match: " " * len(match[0]), whole, flags=re.M | re.S)
    for place, sentence in _sentences(whole):
        if _MARK not in sentence and sentence.strip():
            first = place + len(sentence) - len(sentence.lstrip())
            number = next(number for start, number in reversed(starts) if start <= first)
            yield number, " ".join(sentence.strip("| \n").split())


def _pieces(text: str, allowed: str, conditions: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield line and text of a template's output outside of blocks with these conditions."""
    import jinja2

    blocks = [_Block()]
    statement: list[str] | None = None
    called: set[str] = set()
    for line, kind, value in jinja2.Environment(autoescape=True).lex(text):
        if kind == "block_begin":
            statement = []
        elif kind == "block_end":
            _enter(blocks, "".join(statement or []).split(), conditions)
            statement = None
        elif statement is not None:
            statement.append(value)
        elif kind == "comment" and value.strip().startswith(allowed):
            yield line, _MARK
        elif kind == "data" and not _left_out(blocks):
            yield line, value
        elif kind == "name":
            called.add(value)
        elif kind == "string" and " " in value and not _left_out(blocks) and not called & _OF_CODE:
            yield line, f"|{value[1:-1]}|"
        elif kind == "variable_begin":
            called.clear()
            yield line, "•"


def _left_out(blocks: Sequence[_Block]) -> bool:
    """Return whether what follows rests on a condition."""
    return any(block.first for block in blocks)


def _enter(blocks: list[_Block], words: list[str], conditions: Sequence[str]) -> None:
    """Follow a statement into a block, into its other branch, or out of it."""
    name = words[0] if words else ""
    if name.startswith("end"):
        blocks.pop()
    elif name in ("else", "elif"):
        blocks[-1] = _Block(blocks[-1].other, blocks[-1].other)
    elif name in _BLOCKS or (name == "set" and "=" not in words):
        text = " ".join(words)
        denied = [each for each in conditions if re.search(rf"\bnot \w+\.{re.escape(each)}", text)]
        asked = [each for each in conditions if each in text and each not in denied]
        blocks.append(_Block(bool(asked), bool(denied)))


def _sentences(text: str) -> Iterator[tuple[int, str]]:
    """Yield where each sentence starts, and the sentence; a cell of a table is one."""
    start = 0
    for end in [*(match.end() for match in re.finditer(r"[.!?:;]\s|\n\s*\n|\|", text)), len(text)]:
        yield start, text[start:end]
        start = end
