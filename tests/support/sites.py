"""The site of the committed reports, and its pages as a test reads them."""

import os
import re
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from html import unescape
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from tests.support.paths import ROOT

_BROWSE = """
import sys
from itertools import islice
from harness.report import index
from harness.site import timelines
numbers, most = sys.argv.pop(1).split(), int(sys.argv.pop(1))
every, panels = index.reports, timelines._panels
index.reports = lambda folder: [
    each for each in every(folder)
    if not numbers or each.parent.name.partition("-")[0] in numbers
]
if most:
    timelines._panels = lambda *study: islice(panels(*study), most)
from harness.cli import main
main()
"""


def built(folder: Path, numbers: Iterable[str] = (), most_timelines: int = 0) -> str:
    """Build the site of these problems' reports, or all; return what it said on stderr.

    ``most_timelines`` of each report, the first ones; 0 for all: they take most of the time.
    """
    chosen = " ".join(numbers), str(most_timelines)
    argv = [sys.executable, "-c", _BROWSE, *chosen, "browse", "-o", str(folder)]
    done = subprocess.run(argv, cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stderr


_LEFT_OUT = re.compile(r"(<(script|style)\b[^>]*>).*?</\2>|<base\b[^>]*>|<!--.*?-->", re.DOTALL)
_TAG = re.compile(r'<[a-z][^<>"]*(?:"[^"]*"[^<>"]*)*>')
_NAME_OR_LINK = re.compile(r'\s(id|name|src|href)=(?:"([^"]*)"|([^\s>"]+))')


class _Names(NamedTuple):
    """Where a page leads to, and the names in it that a link can lead to."""

    links: list[str]
    ids: set[str]


@cache
def names(page: Path) -> _Names:
    """Return links and names of a page; a parser would take five times as long."""
    found = _Names([], set())
    for tag in _TAG.findall(_LEFT_OUT.sub(r"\1", page.read_text(encoding="utf-8"))):
        for attribute, quoted, bare in _NAME_OR_LINK.findall(tag):
            if value := unescape(quoted or bare):
                (found.links.append if attribute in ("src", "href") else found.ids.add)(value)
    return found


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
