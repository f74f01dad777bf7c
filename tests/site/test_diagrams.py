"""Diagrams of Mermaid as rows, and those that are left as they are."""

import re
from html import unescape

import pytest

from harness.site import diagrams
from tests.support.paths import ROOT

BLOCKS = [
    (page, block)
    for page in sorted([*ROOT.glob("reports/*/*/**/*.md"), *ROOT.glob("docs/*.md")])
    for block in re.findall(r"^```mermaid\n.*?^```$", page.read_text(), re.MULTILINE | re.DOTALL)
]


def rows(block: str) -> list[str]:
    """Return the rows that are drawn of a diagram, as text."""
    items = re.findall(r"<li>(.*?)</li>", diagrams.drawn(block))
    return [unescape(re.sub(r"(<[^>]+>)+", "|", item)).strip("|") for item in items]


def test_edges_have_the_labels_of_their_nodes() -> None:
    block = (
        "```mermaid\nflowchart LR\n"
        '    P[producer] -- "load, full[i]" --> S[(stages of <i>)]\n'
        '    S -- reads --> C["CTA 0: adds, (twice)"]\n'
        '    C -. "next tile" .-> C\n'
        "    C --> P\n```"
    )
    assert rows(block) == [
        "producer|load, full[i]|stages of <i>",
        "stages of <i>|reads|CTA 0: adds, (twice)",
        "CTA 0: adds, (twice)|next tile|CTA 0: adds, (twice)",
        "CTA 0: adds, (twice)|producer",
    ]


def test_messages_are_between_participants_and_notes_stand_alone() -> None:
    block = (
        "```mermaid\nsequenceDiagram\n    participant T as thread 0\n    participant M as TMA\n"
        "    T->>M: load\n    M-->>T: full: all here\n    Note over T,M: again\n```"
    )
    assert rows(block) == ["thread 0|load|TMA", "TMA|full: all here|thread 0", "again"]


@pytest.mark.parametrize("block", [block for _, block in BLOCKS], ids=[p.name for p, _ in BLOCKS])
def test_every_diagram_of_a_page_is_drawn_whole(block: str) -> None:
    arrows = len(re.findall(r"-->|->>|\.->", block)) - block.count("-->>")
    assert arrows > 0
    assert sum("|" in row for row in rows(block)) == block.count("-->>") + arrows


@pytest.mark.parametrize(
    "text", ["pie\n    a: 1", "flowchart LR\n    subgraph x", "sequenceDiagram\n    loop x"]
)
def test_what_is_not_understood_stays_as_it_is(text: str) -> None:
    block = f"before\n\n```mermaid\n{text}\n```\n\nafter"
    assert diagrams.drawn(block) == block
