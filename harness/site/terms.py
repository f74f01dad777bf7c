"""What the hook of the site links: words of the glossary, and findings."""

import re

from harness.analysis.diagnose.known_findings import kinds
from harness.site.tree import Tree, built_path

_GLOSSARY, _FINDINGS = "docs/glossary.md", "docs/findings.md"
_CONCEPTS = "concepts"
_ROW = re.compile(r"^\| (?P<words>.+?) \| (?P<meaning>.+) \|$")
_MARKUP = re.compile(r"\[([^\]]*)\]\([^)]*\)|`([^`]*)`")
_DISTINCT = re.compile(r"[_ -]")
"""What a word has that means the same wherever it stands as code; `part` or `torch` may not."""
_EVERYDAY = {
    *(
        "problem",
        "cell",
        "run",
        "target",
        "evidence",
        "report",
        "finding",
        "share",
        "token",
        "wave",
    ),
    *("subject", "gain", "peak", "step", "warm-up", "word", "verdict", "interval", "ceiling"),
    *("sustained", "burst", "advice", "manifest"),
}
"""Concepts that sentences mostly name in their everyday sense: they are linked as code alone."""


Places = dict[str, list[str]]
"""A word's meaning, and the page that says so, by word."""


def terms(tree: Tree, pages: dict[str, str]) -> dict[str, Places]:
    """Return the ``words``, ``codes`` and ``findings`` that the hook links.

    ``pages`` are the pages of findings, by id; the others lead to their entry in the list of all.
    """
    words: Places = {}
    codes: Places = {}
    section = ""
    for line in tree.pages[_GLOSSARY].splitlines():
        if line.startswith("## "):
            section = line[3:].lower().replace(" ", "-")
        row = _ROW.match(line)
        if row is None or row["words"] in ("word", "---"):
            continue
        meaning = _MARKUP.sub(lambda mark: mark[1] or mark[2], row["meaning"])
        place = [meaning, f"{built_path(_GLOSSARY)}#{section}"]
        for word in row["words"].split(", "):
            if _DISTINCT.search(word):
                codes[word.strip("`")] = place
            if section == _CONCEPTS and word not in _EVERYDAY:
                words[word] = place
    entries = built_path(_FINDINGS)
    findings = {
        id_: [kind.title, built_path(pages[id_]) if id_ in pages else f"{entries}#{id_}"]
        for id_, kind in kinds().items()
    }
    return {"words": words, "codes": codes, "findings": findings}
