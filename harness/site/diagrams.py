"""Diagrams that a forge draws from Mermaid's text, drawn for the site as rows of boxes and arrows.

Mermaid itself is a program of several megabytes for the browser. What worklogs have, edges of a
flowchart and messages of a sequence, reads well as a row each: from, what, to.
"""

import re
from html import escape

_BLOCK = re.compile(r"^```mermaid\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_NODE = r'(?P<{0}>\w+)(?:\[\("?(?P<{0}_store>[^)"]+)"?\)\]|\["?(?P<{0}_box>[^\]"]+)"?\])?'
_EDGE = re.compile(
    _NODE.format("a")
    + r'\s*(?:--|-\.)\s*(?:"(?P<quoted>[^"]+)"|(?P<bare>[^">.-][^">-]*?))?\s*(?:-->|\.->|->|>)\s*'
    + _NODE.format("b")
)
_ACTOR = re.compile(r"participant (?P<name>\w+) as (?P<label>.+)")
_MESSAGE = re.compile(r"(?P<a>\w+)--?>>(?P<b>\w+): (?P<what>.+)")
_NOTE = re.compile(r"Note over [\w,]+: (?P<what>.+)")

Row = tuple[str, str, str]
"""From, what, to; of a note what alone."""


def drawn(markdown: str) -> str:
    """Return Markdown whose diagrams are HTML; one that is not understood stays as it is."""
    return _BLOCK.sub(lambda block: _html(block["text"]) or block[0], markdown)


def _html(text: str) -> str:
    """Return a diagram's rows as a list, "" where a line is not understood."""
    kind, *lines = [line.strip() for line in text.strip().splitlines()]
    reads = {"flowchart": _flowchart, "sequenceDiagram": _sequence}.get(kind.split(" ")[0])
    rows = reads(lines) if reads else None
    if not rows:
        return ""
    items = "".join(f"<li>{_item(row)}</li>" for row in rows)
    return f'<ol class="diagram">{items}</ol>'


def _item(row: Row) -> str:
    source, what, target = map(escape, row)
    if not target:
        return f"<i>{what}</i>"
    arrow = f'<span class="arrow">{what}</span>'
    return f'<span class="node">{source}</span>{arrow}<span class="node">{target}</span>'


def _flowchart(lines: list[str]) -> list[Row] | None:
    matches = [_EDGE.fullmatch(line) for line in lines]
    edges = [edge for edge in matches if edge]
    if len(edges) < len(matches):
        return None
    labels: dict[str, str] = {}
    for edge in edges:
        for side in ("a", "b"):
            label = edge[f"{side}_store"] or edge[f"{side}_box"]
            labels.update({edge[side]: label} if label else {})

    def end(edge: re.Match[str], side: str) -> str:
        return labels.get(edge[side], edge[side])

    return [
        (end(edge, "a"), edge["quoted"] or edge["bare"] or "", end(edge, "b")) for edge in edges
    ]


def _sequence(lines: list[str]) -> list[Row] | None:
    labels: dict[str, str] = {}
    rows: list[Row] = []
    for line in lines:
        if actor := _ACTOR.fullmatch(line):
            labels[actor["name"]] = actor["label"]
        elif message := _MESSAGE.fullmatch(line):
            ends = [labels.get(message[side], message[side]) for side in ("a", "b")]
            rows.append((ends[0], message["what"], ends[1]))
        elif note := _NOTE.fullmatch(line):
            rows.append(("", note["what"], ""))
        else:
            return None
    return rows
