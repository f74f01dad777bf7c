"""Makes the Markdown that a template leaves as pleasant to read as the page that it renders to.

A sentence that comes from a block of its own begins a line with a space; blocks that render to
nothing leave blank lines. Markdown ignores both.
"""

import re

_FENCE = re.compile(r" {0,3}(```|~~~)")
_ON = re.compile(r" (?=\S)")
_APART = ("|", "<", "#")
"""How a line begins that ends what is above it: a table's row, HTML, a heading."""


def joined(page: str) -> str:
    """Return a page with each such sentence behind the one before it, and single blank lines."""
    lines: list[str] = []
    fence = ""
    for line in page.split("\n"):
        last = lines[-1] if lines else ""
        mark = _FENCE.match(line)
        if mark and fence in ("", mark[1]):
            fence = "" if fence else mark[1]
        elif fence:
            pass
        elif _ON.match(line) and last and not last.startswith(_APART) and not _FENCE.match(last):
            lines[-1] = last.rstrip() + line
            continue
        elif not line and lines and not last:
            continue
        lines.append(line)
    return "\n".join(lines)
