"""A hook of MkDocs: words of the glossary and names of findings explain themselves on every page.

MkDocs loads this file by its path, so it imports the standard library alone. What it links lies in
the configuration, where ``harness/site/build.py`` puts it.
"""

import re
from html import escape, unescape
from html.parser import HTMLParser
from typing import Any

_LEFT_ALONE = frozenset(
    {
        *("a", "button", "h1", "h2", "h3", "h4", "pre", "script", "style", "summary", "svg"),
        *("textarea", "th"),
    }
)
"""Elements within which nothing is linked; a table's heads become buttons that sort."""
_VOID = frozenset(("area", "br", "col", "embed", "hr", "img", "input", "link", "meta", "wbr"))

Place = list[str]
"""What a word means, and the page that says so, from the site's root."""


def on_page_content(html: str, *, page: Any, config: Any, **_: Any) -> str:
    """Return a page whose first mention of each word leads to what it means."""
    terms = config.extra["terms"]
    if page.file.src_uri == "docs/glossary.md":
        return html
    root = "../" * page.url.count("/")
    findings = {id_: place for id_, place in terms["findings"].items() if place[1] != page.url}
    linked = _Linked(terms["words"], terms["codes"], findings, root)
    linked.feed(html)
    linked.close()
    return "".join(linked.made)


class _Linked(HTMLParser):
    """Writes a page again, with links; ``made`` are its pieces.

    ``words`` are linked in sentences, ``codes`` where they stand alone as code, and ``findings``
    as code or in bold.
    """

    # A listing is kept as it is: to parse its thousands of elements takes most of the time.
    CDATA_CONTENT_ELEMENTS = (*HTMLParser.CDATA_CONTENT_ELEMENTS, "pre")  # type: ignore[misc]  # for a type checker alone it is final

    def __init__(
        self,
        words: dict[str, Place],
        codes: dict[str, Place],
        findings: dict[str, Place],
        root: str,
    ) -> None:
        super().__init__(convert_charrefs=False)
        self.made: list[str] = []
        self._open: list[str] = []
        self._words, self._root = words, root
        self._alone = {"code": codes | findings, "strong": findings}
        self._left = set(words) | set(codes) | set(findings)
        any_word = "|".join(sorted(map(re.escape, words), key=len, reverse=True)) or r"(?!)"
        self._word = re.compile(rf"(?<![\w-])(?:{any_word})(?![\w-])")

    def handle_starttag(self, tag: str, _attrs: list[tuple[str, str | None]]) -> None:
        """Keep a tag as it was written."""
        self.made.append(self.get_starttag_text() or "")
        if tag not in _VOID:
            self._open.append(tag)

    def handle_startendtag(self, _tag: str, _attrs: list[tuple[str, str | None]]) -> None:
        """Keep a tag that holds nothing."""
        self.made.append(self.get_starttag_text() or "")

    def handle_endtag(self, tag: str) -> None:
        """Keep an end, of whatever is open within as well."""
        self.made.append(f"</{tag}>")
        if tag in self._open:
            while self._open.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        """Link the words of a text, or the text if it is one that stands alone."""
        within = self._open[-1] if self._open else ""
        if not _LEFT_ALONE.isdisjoint(self._open):
            self.made.append(data)
        elif within in self._alone and data in self._alone[within]:
            self.made.append(self._link(data, self._alone[within]))
        elif within == "code":
            self.made.append(data)
        else:
            self.made.append(self._word.sub(lambda word: self._link(word[0], self._words), data))

    def handle_entityref(self, name: str) -> None:
        """Keep a named entity."""
        self.made.append(f"&{name};")

    def handle_charref(self, name: str) -> None:
        """Keep a numeric entity."""
        self.made.append(f"&#{name};")

    def handle_comment(self, data: str) -> None:
        """Keep a comment."""
        self.made.append(f"<!--{data}-->")

    def _link(self, word: str, places: dict[str, Place]) -> str:
        if word not in self._left:
            return word
        self._left.remove(word)
        meaning, page = places[word]
        title = escape(unescape(meaning))
        return f'<a class="term" href="{self._root}{escape(page)}" title="{title}">{word}</a>'
