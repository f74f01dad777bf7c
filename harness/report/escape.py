"""Strangers' words in Markdown and HTML: a name is shown and never interpreted.

Kernel names hold ``<float>``, ``|`` and backticks; with HTML enabled, as on every forge, the first
would vanish and the second split a row.
"""

import re
from collections.abc import Iterable
from urllib.parse import quote

from harness.ground.plain import plain
from harness.report import columns

_MARKS = (
    r"[&<|`*\[\]\\~$]"  # wherever it stands
    r"|^[#>=]|^\s+|^[-+](?=[-+\s]|$)|^\d{1,9}[.)](?=\s|$)"  # what makes a line a block
    r"|!$"  # before what follows, a picture
    r"|\s+$"  # before the end of a line, a break; before that of an emphasis, none
    r"|(?<![A-Za-z0-9_])_+|_+(?![A-Za-z0-9_])"  # emphasis, unless within a word
    r"|:(?=//)|(?i:(?<=www)\.|(?<=mailto):|(?<=xmpp):)"  # a bare address
    r"|@(?=\w)"  # a mention, or an address of mail
)
_SPECIAL = re.compile(_MARKS + r"|(?<!\))#(?=\d)")  # with references, but not those of lambdas
_IN_PROSE = re.compile(
    r"(?P<code>(?<!`)`[^`]+`(?!`))"
    r"|(?P<interval>\[[\d., \u2212-]+\](?=[^(\[:]))|" + _MARKS
)
_IN_PATH = "/+"
"""The characters of a link's path besides letters, digits and ``_.-~``."""


class Markdown(str):
    """Text that is Markdown already; everything else is escaped where it meets a template."""

    __slots__ = ()


def escape(text: str) -> Markdown:
    """Return ``text`` as Markdown that shows it.

    A character that would be interpreted where it stands becomes a numeric entity.
    """
    return Markdown(_SPECIAL.sub(_shown, plain(text)))


def prose(text: str) -> Markdown:
    """Return a manifest's or a template's sentence: only code between backticks is Markdown."""
    return Markdown(_IN_PROSE.sub(_shown, plain(" ".join(text.split()))))


def _shown(match: re.Match[str]) -> str:
    marked = match.groupdict()
    if marked.get("code"):
        return code(match[0][1:-1])
    if marked.get("interval"):
        return match[0]
    return "".join(f"&#{ord(character)};" for character in match[0])


def code(text: str) -> Markdown:
    """Return ``text`` as code within a line, also in a table."""
    shown = plain(text)
    if shown.strip() and not re.search(r"[`|\\]|^ | $", shown):
        return Markdown(f"`{shown}`")
    return Markdown(f"<code>{escape(shown)}</code>")


def listing(lines: Iterable[str], language: str) -> Markdown:
    """Return lines of code as a block, which nothing in them ends."""
    body = "\n".join(map(plain, lines))
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", body)), default=0))
    return Markdown(f"{fence}{language}\n{body}\n{fence}")


def attribute(text: str) -> Markdown:
    """Return ``text`` as the value of an HTML attribute, without its quotes, also in a table."""
    return Markdown(re.sub(r"[^\w./%+~-]", _shown, plain(text)))


def link(path: str, fragment: str = "") -> str:
    """Return a relative path, and the fragment of a page, as the target of a link."""
    target = quote(path, safe=_IN_PATH, errors="replace")
    return f"{target}#{quote(fragment, errors='replace')}" if fragment else target


def finalize(value: object) -> object:
    """Escape a template's output unless it is Markdown; for jinja2's ``finalize``."""
    return value if isinstance(value, Markdown) else escape(str(value))


def table(
    head: list[str], rows: list[list[str]], numeric_from: int = 1, *, whole: bool = False
) -> Markdown:
    """Return a Markdown table; columns from ``numeric_from`` on are right-aligned.

    A column of one value, or of none, is said in words instead, and more than six columns make two
    tables; ``whole`` keeps the columns as they are.
    """
    if whole:
        return _grid(head, rows, numeric_from)
    shown = columns.tidy(head, rows)
    parts = [
        _listed("In every row", [_pair(*each) for each in shown.same]),
        *(_grid(part.head, part.rows, numeric_from) for part in columns.fitting(shown.grid)),
        _listed("Columns without a value", shown.empty),
        f"*{columns.DASH}: {columns.NOT_MEASURED}.*" if shown.has_gaps else "",
    ]
    return Markdown("\n\n".join(part for part in parts if part))


def _pair(name: str, value: str) -> Markdown:
    return Markdown(f"{finalize(name)}: {finalize(value)}")


def _listed(start: str, parts: list[str]) -> str:
    return f"*{start}: {'; '.join(str(finalize(part)) for part in parts)}.*" if parts else ""


def _grid(head: list[str], rows: list[list[str]], numeric_from: int) -> Markdown:
    marks: list[str] = [
        Markdown("---" if index < numeric_from else "---:") for index in range(len(head))
    ]
    lines = [head, marks, *rows]
    return Markdown(
        "\n".join("| " + " | ".join(str(finalize(cell)) for cell in line) + " |" for line in lines)
    )
