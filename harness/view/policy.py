"""The content security policy of a page that we write: what it may run, by hash, and load.

A script, a style sheet, an attribute ``style`` or a handler that somebody's words brought into the
page has no hash here, and a browser neither runs nor applies it. MkDocs loads this file by its
path, as a hook, so it imports the standard library alone.
"""

import base64
import hashlib
from html.parser import HTMLParser
from typing import Any

_NOTHING = "'none'"
_NEVER = ("object-src 'none'", "base-uri 'none'", "form-action 'none'")


def of(written: str, **places: str) -> str:
    """Return the policy of a page whose only inline scripts and styles are those of ``written``.

    ``written`` is HTML of our own, without a word of a capture or a report. ``places`` are where
    the page loads content from, by the content's kind: ``img="data:"``.
    """
    inline = _Inline()
    inline.feed(written)
    inline.close()
    allowed = {"default": [], **inline.hashes}
    for kind, place in places.items():
        allowed[kind] = [place, *allowed.get(kind, [])]
    rules = [f"{kind}-src {' '.join(each) or _NOTHING}" for kind, each in allowed.items()]
    return "; ".join([*rules, *_NEVER])


def on_env(env: Any, **_: Any) -> Any:
    """Give MkDocs' templates :func:`of` as a filter."""
    env.filters["policy"] = of
    return env


class _Inline(HTMLParser):
    """Hashes the text of each inline script and style sheet; data in a script is not run."""

    def __init__(self) -> None:
        super().__init__()
        self.hashes: dict[str, list[str]] = {"script": [], "style": []}
        self._text: list[str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin to take the text of an element."""
        if tag in self.hashes and not {"src", "type"} & {name for name, _ in attrs}:
            self._text = []

    def handle_data(self, data: str) -> None:
        """Take a piece of text."""
        if self._text is not None:
            self._text.append(data)

    def handle_endtag(self, tag: str) -> None:
        """Hash what was taken."""
        if self._text is not None:
            digest = hashlib.sha256("".join(self._text).encode()).digest()
            self.hashes[tag].append(f"'sha256-{base64.b64encode(digest).decode()}'")
            self._text = None
