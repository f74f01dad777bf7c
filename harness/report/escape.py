"""Makes text from captures safe: a name is shown and never interpreted.

Kernel names hold ``<float>``, ``|`` and backticks; with HTML enabled, as on every forge, the first
would vanish and the second split a row.
"""

import re

_SPECIAL = re.compile(r"[&<>\"'|`*_\[\]!\\~#$]")
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
    """Return ``text`` as Markdown that shows it: special characters become numeric entities."""
    visible = _INVISIBLE.sub("\N{REPLACEMENT CHARACTER}", printable(text))
    return Markdown(_SPECIAL.sub(lambda match: f"&#{ord(match[0])};", visible))


def prose(text: str) -> Markdown:
    """Return a manifest's sentence, which is Markdown of our own, so that it stays in its cell."""
    return Markdown(printable(" ".join(text.split())).replace("|", "\\|"))


def finalize(value: object) -> object:
    """Escape what a template prints unless it is Markdown; for jinja2's ``finalize``."""
    return value if isinstance(value, Markdown) else escape(str(value))


def table(head: list[str], rows: list[list[str]], numeric_from: int = 1) -> Markdown:
    """Return a Markdown table; columns from ``numeric_from`` on are right-aligned."""
    marks = ["---" if index < numeric_from else "---:" for index in range(len(head))]
    lines = [head, marks, *rows]
    return Markdown(
        "\n".join("| " + " | ".join(str(finalize(cell)) for cell in line) + " |" for line in lines)
    )
