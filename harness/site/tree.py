"""The sources of the site: Markdown and files, at the paths that they have in the checkout.

So a link between two of them holds as it stands. A link to any other file of the checkout leads to
a page with that file's text.
"""

import posixpath
import re
from dataclasses import dataclass, field
from pathlib import Path

from harness.report import escape

WIDE = "---\nhide: [toc]\n---\n\n"
"""Begins a page that needs the room of its table of contents."""

_UNSEARCHED = "---\nsearch: {exclude: true}\n---\n\n"
"""Begins the page of a file's text: code would be most of what a search loads on every page."""

_FENCE = re.compile(r"^\s*(`{3,}|~{3,})")
_LINK = re.compile(r"(?P<picture>!?)\[(?P<text>(?:[^\[\]]|\[[^\[\]]*\])*)\]\((?P<to>[^()\s]+)\)")
_RAW_LINK = re.compile(r'(?<=<a href=")(?P<page>[^":#]+)\.md(?=["#])')
_OUTSIDE = re.compile(r"[a-z][a-z0-9+.-]*:|//|#", re.IGNORECASE)
_BEGINS_BLOCK = re.compile(r"[-*+] |\d+[.)] |\|")
_LANGUAGES = {
    ".cpp": "cpp",
    ".cu": "cuda",
    ".cuh": "cuda",
    ".py": "python",
    ".yaml": "yaml",
    ".toml": "toml",
}
_MOST_TEXT_BYTES = 400_000


@dataclass
class Tree:
    """Pages and other files (a path to copy, or a text) by path in the checkout.

    ``pages`` are Markdown as a forge shows it, ``made`` Markdown and HTML for MkDocs alone.
    """

    checkout: Path
    pages: dict[str, str] = field(default_factory=dict)
    made: dict[str, str] = field(default_factory=dict)
    files: dict[str, Path | str] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        """Write the sources of the site into a folder; links between them are settled here."""
        written = {path: self._adapted(path, text) for path, text in self.pages.items()}
        for path, text in (written | self.made | self._sources).items():
            _place(folder, path).write_text(text, encoding="utf-8")
        for path, content in self.files.items():
            target = _place(folder, path)
            if isinstance(content, Path):
                target.write_bytes(content.read_bytes())
            else:
                target.write_text(content, encoding="utf-8")

    def __post_init__(self) -> None:
        self._sources: dict[str, str] = {}

    def _adapted(self, path: str, text: str) -> str:
        """Return a page as Python-Markdown has to see it to show what a forge shows."""
        lines: list[str] = []
        paragraph: list[str] = []
        fence = ""
        for line in [*text.splitlines(), ""]:
            mark = _FENCE.match(line)
            if not (fence or mark) and line.strip():
                paragraph.append(line)
                continue
            for settled in self._settled(path, "\n".join(paragraph)).splitlines():
                if _interrupts(settled, lines[-1] if lines else ""):
                    lines.append("")
                lines.append(settled)
            paragraph.clear()
            if mark and (not fence or mark[1].startswith(fence)):
                fence = "" if fence else mark[1]
            lines.append(line)
        return "\n".join(lines)

    def _settled(self, path: str, paragraph: str) -> str:
        """Return lines without a blank one between them, with the links that the site has."""
        text = re.sub("^<details>", '<details markdown="1">', paragraph, flags=re.MULTILINE)
        text = _RAW_LINK.sub(lambda raw: built_path(raw["page"]), text)  # MkDocs leaves it alone
        return _LINK.sub(lambda link: self._link(path, link), text)

    def _link(self, path: str, link: re.Match[str]) -> str:
        """Return a link as the site has it; its text alone where it leads to nothing there."""
        place, _, fragment = link["to"].partition("#")
        if _OUTSIDE.match(link["to"]):
            return link[0]
        target = posixpath.normpath(posixpath.join(posixpath.dirname(path), place))
        if any(target in files for files in (self.pages, self.made, self.files)):
            return link[0]
        if not self._has_source(target):
            return link["text"]
        line = re.fullmatch(r"L(\d+)(?:-L\d+)?", fragment)
        anchor = f"#__codelineno-0-{line[1]}" if line else ""
        return f"{link['picture']}[{link['text']}]({place}.md{anchor})"

    def _has_source(self, path: str) -> bool:
        """Return whether there is a page with the text of this file; it is made if need be."""
        page = f"{path}.md"
        file = self.checkout / path
        if page in self._sources:
            return True
        inside = file.resolve().is_relative_to(self.checkout)
        if not inside or not file.is_file() or file.stat().st_size > _MOST_TEXT_BYTES:
            return False
        try:
            text = file.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            return False
        language = _LANGUAGES.get(file.suffix, "text")
        shown = escape.listing(text.splitlines(), f'{language} linenums="1"')
        self._sources[page] = f"{_UNSEARCHED}# {escape.code(path)}\n\n{shown}\n"
        return True


def built_path(page: str) -> str:
    """Return the path of the HTML that MkDocs makes of a page of Markdown."""
    return re.sub(r"(?<![^/])README$", "index", page.removesuffix(".md")) + ".html"


def _interrupts(line: str, before: str) -> bool:
    """Return whether a line begins a list or a table right below a paragraph."""
    if not before.strip() or not _BEGINS_BLOCK.match(line):
        return False
    return not _BEGINS_BLOCK.match(before) and before[0] not in " #<"


def _place(folder: Path, path: str) -> Path:
    """Return where a file of the tree stands; its folder exists then."""
    target = folder / path
    target.parent.mkdir(parents=True, exist_ok=True)
    return target
