"""The sentences that a worklog's template prints, with their lines."""

import re
from collections.abc import Iterator, Sequence

_MARK = "\x00"
_BLOCKS = ("if", "for", "call", "macro", "filter")


def printed(
    text: str, *, allowed: str, conditions: Sequence[str] = ()
) -> Iterator[tuple[int, str]]:
    """Yield line and text of each sentence, captions included; "•" stands for a looked-up value.

    Code blocks are left out, and sentences that follow a comment which begins with ``allowed``. So
    is what stands in a block whose statement has one of ``conditions``.
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

    left_out = [False]
    statement: list[str] | None = None
    for line, kind, value in jinja2.Environment(autoescape=True).lex(text):
        if kind == "block_begin":
            statement = []
        elif kind == "block_end":
            _enter(left_out, "".join(statement or []).split(), conditions)
            statement = None
        elif statement is not None:
            statement.append(value)
        elif kind == "comment" and value.strip().startswith(allowed):
            yield line, _MARK
        elif kind == "data" and not any(left_out):
            yield line, value
        elif kind == "string" and " " in value and not any(left_out):
            yield line, f"|{value[1:-1]}|"
        elif kind == "variable_begin":
            yield line, "•"


def _enter(left_out: list[bool], words: list[str], conditions: Sequence[str]) -> None:
    """Follow a statement into a block, or out of it."""
    name = words[0] if words else ""
    if name.startswith("end"):
        left_out.pop()
    elif name in _BLOCKS or (name == "set" and "=" not in words):
        text = " ".join(words)
        left_out.append(any(condition in text for condition in conditions))


def _sentences(text: str) -> Iterator[tuple[int, str]]:
    """Yield where each sentence starts, and the sentence; a cell of a table is one."""
    start = 0
    for end in [*(match.end() for match in re.finditer(r"[.!?:;]\s|\n\s*\n|\|", text)), len(text)]:
        yield start, text[start:end]
        start = end
