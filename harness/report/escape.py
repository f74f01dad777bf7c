"""Makes text from captures safe: a name is shown and never interpreted.

Kernel names hold ``<float>``, ``|`` and backticks; with HTML enabled, as on every forge, the first
would vanish and the second split a row.
"""

import re

from harness.report import columns

_SPECIAL = re.compile(
    r"[&<|`*\[\]\\~$]"  # wherever it stands
    r"|^[#>]"  # a heading or a quotation
    r"|!$"  # before what follows, a picture
    r"|(?<![A-Za-z0-9_])_+|_+(?![A-Za-z0-9_])"  # emphasis, unless within a word
)
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_INVISIBLE = re.compile(r"[\u200b-\u200f]")
"""Characters without a width: on a page, names that differ by one would look alike."""


class Markdown(str):
    """Text that is Markdown already; everything else is escaped where it meets a template."""

    __slots__ = ()


def printable(text: str) -> str:
    """Return ``text`` with control, direction-changing and unpaired characters replaced."""
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def escape(text: str) -> Markdown:
    """Return ``text`` as Markdown that shows it.

    A character that would be interpreted where it stands becomes a numeric entity.
    """
    visible = _INVISIBLE.sub("\N{REPLACEMENT CHARACTER}", printable(text))
    return Markdown(_SPECIAL.sub(_entities, visible))


def _entities(match: re.Match[str]) -> str:
    return "".join(f"&#{ord(character)};" for character in match[0])


def prose(text: str) -> Markdown:
    """Return a manifest's sentence, which is Markdown of our own, so that it stays in its cell."""
    return Markdown(printable(" ".join(text.split())).replace("|", "\\|"))


def finalize(value: object) -> object:
    """Escape what a template prints unless it is Markdown; for jinja2's ``finalize``."""
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
        _listed("In every row", [f"{name}: {finalize(value)}" for name, value in shown.same]),
        *(_grid(part.head, part.rows, numeric_from) for part in columns.fitting(shown.grid)),
        _listed("Without a value", shown.empty),
        f"*{columns.DASH}: {columns.NOT_MEASURED}.*" if shown.has_gaps else "",
    ]
    return Markdown("\n\n".join(part for part in parts if part))


def _listed(start: str, parts: list[str]) -> str:
    return f"*{start}: {'; '.join(map(str, parts))}.*" if parts else ""


def _grid(head: list[str], rows: list[list[str]], numeric_from: int) -> Markdown:
    marks = ["---" if index < numeric_from else "---:" for index in range(len(head))]
    lines = [head, marks, *rows]
    return Markdown(
        "\n".join("| " + " | ".join(str(finalize(cell)) for cell in line) + " |" for line in lines)
    )
