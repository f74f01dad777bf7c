"""The lines of source or of generated code that a page shows, with where they stand."""

import ast
import re
from pathlib import Path
from textwrap import dedent

from harness.ground import files
from harness.ground.errors import ManifestError
from harness.report import kept_captures, source_text
from harness.report.arguments import CaseName, VariantName
from harness.report.escape import Markdown, escape, link, listing, prose
from harness.report.page import Page

_LANGUAGES = {
    ".py": "python",
    ".cu": "cuda",
    ".cuh": "cuda",
    ".cpp": "cpp",
    ".h": "cpp",
    ".yaml": "yaml",
    ".json": "json",
}
Lines = tuple[int, int]
"""The first and the last line, counted from 1."""


def source(
    page: Page,
    file: str,
    start: int | None = None,
    end: int | None = None,
    *,
    between: tuple[str, str] | None = None,
) -> Markdown:
    """Return lines of a file of the problem, or of its shared workloads, under a link to them.

    The lines are ``start`` to ``end``, or from the first that holds one text of ``between`` to the
    next that holds the other. ManifestError where the file or the lines are not there.
    """
    path = _path(page, file)
    text = source_text.read(path)
    if between:
        lines = _between(text, between)
    else:
        lines = (start or 1, end or text.count("\n"))
        lines = lines if 1 <= lines[0] <= lines[1] <= len(text.splitlines()) else None
    if lines is None:
        wanted = f"between {between[0]!r} and {between[1]!r}" if between else f"{start} to {end}"
        raise ManifestError(f"has no lines {wanted}", where=path, remedy="mend the w.source call")
    place = path.relative_to(page.problem.folder.parent.parent).as_posix()
    first, last = lines
    target = page.in_checkout(place, f"L{first}-L{last}")
    return _shown(f"{place}, lines {first} to {last}", target, text, lines, path.suffix)


def docstring(page: Page, file: str) -> Markdown:
    """Return the paragraphs of a Python file's docstring, a line that begins "Word: " as an item.

    ManifestError where the file is missing or has no docstring.
    """
    path = _path(page, file)
    try:
        text = ast.get_docstring(ast.parse(source_text.read(path)))
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise ManifestError(f"is no Python: {error}", where=path) from None
    if text is None:
        raise ManifestError("has no docstring", where=path, remedy="mend the w.docstring call")
    items = re.split(r"\n+(?=[A-Z][a-z ]+: )", text)
    first, *rest = (" ".join(item.split()) for item in items)
    labelled = (item.partition(": ") for item in rest)
    listed = (f"- **{label}**: {prose(said)}" for label, _, said in labelled)
    return Markdown("\n".join([f"{prose(first)}\n", *listed]))


def kept(
    page: Page, variant: VariantName, case: CaseName, artifact: str, between: tuple[str, str]
) -> Markdown:
    """Return lines of a text that a variant left and the report keeps, under a link to the file.

    They go from the first line that holds one text of ``between`` to the next that holds the other.
    Another version may generate other code; then a line says that there are none.
    """
    excerpt = kept_captures.text_of(page.folder, case, variant, files.safe_name(artifact))
    if excerpt is None:
        return Markdown(f"*{escape(artifact)} of {escape(variant)}: not kept by this report.*")
    name, text = excerpt
    lines = _between(text, between)
    if lines is None:
        wanted = escape(f"from “{between[0]}” to “{between[1]}”")
        return Markdown(f"*{escape(artifact)} of {escape(variant)} has no lines {wanted}.*")
    title = f"{artifact} of {variant}, lines {lines[0]} to {lines[1]}"
    return _shown(title, page.root + link(f"captures/{name}"), text, lines, Path(artifact).suffix)


def _path(page: Page, file: str) -> Path:
    problem = page.problem
    own = problem.folder / file
    path = problem.shared / file if file in problem.workloads else own
    if not path.is_file() or not path.resolve().is_relative_to(problem.folder.parent.resolve()):
        remedy = "name a file of the problem's folder, or of its `workloads`"
        raise ManifestError("no such source file", where=own, remedy=remedy)
    return path


def _between(text: str, between: tuple[str, str]) -> Lines | None:
    """Return the lines from one text to the other, both included, None where either is missing."""
    numbered = list(enumerate(text.splitlines(), start=1))
    first = next((number for number, line in numbered if between[0] in line), None)
    if first is None:
        return None
    last = next((number for number, line in numbered[first:] if between[1] in line), None)
    return None if last is None else (first, last)


def _shown(title: str, target: str, text: str, lines: Lines, suffix: str) -> Markdown:
    """Return the lines as a fenced block under a link; they lose the indentation of all."""
    first, last = lines
    excerpt = "\n".join(text.splitlines()[first - 1 : last]).expandtabs(4)
    shown = listing(dedent(excerpt).splitlines(), _LANGUAGES.get(suffix, ""))
    return Markdown(f"[{escape(title)}]({target}):\n\n{shown}")
