"""What a reader of a worklog meets: its walk, and how many words that has."""

import re


def walk(page: str) -> str:
    """Return a page without what it folds away."""
    return re.sub(r"<details>.*?</details>", "", page, flags=re.S)


def words(markdown: str) -> int:
    """Return the number of words that are shown: no link's target, no tag, no figure's text."""
    visible = re.sub(r"!\[[^]]*\]\([^)]*\)|(?<=\])\([^)]*\)|</?\w[^>\n]*>|\|", " ", markdown)
    return sum(any(map(str.isalnum, word)) for word in visible.split())
