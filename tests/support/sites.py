"""The site of the committed reports, and its pages as a test reads them."""

import os
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

from tests.support.paths import ROOT

_BROWSE = """
import sys
from harness.report import index
numbers, every = sys.argv.pop(1).split(), index.reports
index.reports = lambda folder: [
    each for each in every(folder)
    if not numbers or each.parent.name.partition("-")[0] in numbers
]
from harness.cli import main
main()
"""


def built(folder: Path, numbers: Iterable[str] = ()) -> str:
    """Build the site of these problems' reports, or all; return what it said on stderr."""
    argv = [sys.executable, "-c", _BROWSE, " ".join(numbers), "browse", "-o", str(folder)]
    done = subprocess.run(argv, cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stderr


class _Names(HTMLParser):
    """Where a page leads to, and the names in it that a link can lead to."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        self.ids |= {name for name in (known.get("id"), known.get("name")) if name}
        link = known.get("src") or (known.get("href") if tag != "base" else None)
        if link:
            self.links.append(link)


@cache
def names(page: Path) -> _Names:
    """Return links and names of a page."""
    parser = _Names()
    parser.feed(page.read_text(encoding="utf-8"))
    return parser


def broken(page: Path) -> list[str]:
    """Return the links of a page that lead to no file, or to no place in it."""
    return [link for link in names(page).links if not _leads_somewhere(page, link)]


def _leads_somewhere(page: Path, link: str) -> bool:
    if link.startswith(("https://", "http://", "data:", "mailto:")):
        return True
    place, _, fragment = link.partition("#")
    target = Path(os.path.normpath(page.parent / unquote(place))) if place else page
    if not target.is_file():
        return False
    if not fragment or "=" in fragment or target.suffix != ".html":
        return True  # with "=" it is for the page's script
    return unquote(fragment) in names(target).ids
