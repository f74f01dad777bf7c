"""Renders a problem's templates; the names that they ask for are looked up in the registry.

Nothing is computed in a template, and no number stands in it. It reaches data and sections by name
and nothing else (:mod:`harness.report.sandbox`), within :mod:`harness.report.limits`.
"""

import os
import re
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jinja2 import BaseLoader, TemplateError, TemplateNotFound, TemplateSyntaxError, Undefined
from jinja2.exceptions import SecurityError, UndefinedError
from jinja2.runtime import Macro

from harness.ground.errors import ManifestError, UsageError
from harness.report import arguments, limits, own_sections, source_text
from harness.report.page import Page
from harness.report.sandbox import MOST_CHARACTERS, Sandbox, TooLongError, Verbs, plain

MOST_CALLS = 3_000
"""Calls of sections that one page may make."""
MOST_CPU_S = 120
"""Seconds of CPU time that the sections of one page may take."""

MOST_DEEP = 20
"""Blocks of calls, one within another."""
_LONGEST = 500
"""Characters of an error's text."""

_FENCE = re.compile(r" {0,3}(```|~~~)")
_ON = re.compile(r" (?=\S)")
_APART = ("|", "<", "#")
"""How a line begins that ends what is above it: a table's row, HTML, a heading."""
_REMEDY = (
    "a template knows problem, w.on_gpu, what harness/report/sections/__init__.py lists, and its"
    " study's own sections"
)


class RefusedError(Exception):
    """A section refused its arguments, or a part is not to be read; with the remedy."""


def render(template: Path, page: Page) -> str:
    """Return the page that ``template`` makes of ``page``, whose figures it fills.

    ManifestError, with the template's line, for whatever is wrong with the template: syntax, a
    name, an argument, or too much time, memory or text.
    """
    rendering = _Rendering(template, page, source_text.read(template))
    try:
        return joined(rendering.text())
    except Exception as error:
        if error is rendering.fault:
            raise
        raise rendering.mistake(error) from None


class _Parts(BaseLoader):
    """Brings the page and the parts that it includes, of its folder; ``paths`` are theirs."""

    def __init__(self, template: Path, text: str) -> None:
        self._template = template
        self._text: str | None = text
        self.paths = {str(template)}

    def get_source(self, environment: object, template: str) -> tuple[str, str, Callable[[], bool]]:  # noqa: ARG002 - jinja's signature
        """Return text and path of a part; the first one asked for is the page."""
        path, text = self._template, self._text
        self._text = None
        if text is None:
            path = self._template.parent / template
            text = _part(template, path)
        self.paths.add(str(path))
        return text, str(path), lambda: True


def _part(name: str, path: Path) -> str:
    """Return the text of a file of a template's folder."""
    if "/" in name or "\0" in name or name in ("", ".", "..") or not os.path.lexists(path):
        raise TemplateNotFound(name)
    try:
        return source_text.read(path)
    except ManifestError as error:
        raise RefusedError(f"the part {name!r} {error.what}", error.remedy) from None


class _Rendering:
    """One page in the making; ``fault`` is an error of a section that no template is to blame for.

    An error within the block of a call passes the section that asked for the block as it is.
    """

    def __init__(self, template: Path, page: Page, text: str) -> None:
        self._template = template
        self._page = page
        self._parts = _Parts(template, text)
        self._sections = own_sections.known_to(page.problem.folder)
        self._limits = limits.RenderLimits()
        self._calls = 0
        self._depth = 0
        self._since = time.process_time()
        self._of_block: Exception | None = None
        self.fault: Exception | None = None

    def text(self) -> str:
        """Return the page's text."""
        problem, target = self._page.problem, self._page.target
        manifest = problem.model_dump(mode="json") | {"number": problem.number}
        report = f"reports/{problem.folder.name}/{target.slug}"
        facts = {"on_gpu": target.device == "cuda", "report": report}
        with self._limits:
            template = Sandbox(self._parts).get_template("the page")
            verbs = Verbs(self._sections, facts, self._answer)
            page = template.generate(w=verbs, problem=plain(manifest))
            blocks, length = [], 0
            for block in page:
                blocks.append(block)
                length += len(block)
                if length > MOST_CHARACTERS:
                    page.throw(TooLongError())  # type: ignore[attr-defined]  # a generator: it knows the line
        return "".join(blocks)

    def _answer(self, name: str, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Return a section's text for a call's arguments."""
        for value in (*given, *named.values()):
            if isinstance(value, Undefined):
                str(value)  # which says what is undefined
        block = named.pop("caller", None)
        given, named = tuple(map(plain, given)), plain(named)
        if block is not None:
            named["caller"] = lambda: self._block(block)
        with self._limits.pause():
            try:
                return plain(self._called(name, given, named))
            except (ManifestError, UsageError) as error:
                where = f" ({error.where})" if error.where else ""
                raise RefusedError(f"w.{name}: {error.what}{where}", error.remedy) from None
            except Exception as error:
                raise self._error_for_template(name, error) from None

    def _error_for_template(self, name: str, error: Exception) -> Exception:
        """Return what a section's error is to the template: a refusal, if its arguments make it."""
        if error is self._of_block:
            return error
        if isinstance(error, KeyError):
            return RefusedError(f"w.{name}: there is no {error.args[0]!r}", "")
        if isinstance(error, IndexError | ValueError | TypeError | ArithmeticError):
            kind = type(error).__name__
            return RefusedError(f"w.{name}: its arguments make no section ({kind}: {error})", "")
        self.fault = error
        return error

    def _called(self, name: str, given: tuple[Any, ...], named: dict[str, Any]) -> object:
        self._calls += 1
        if self._calls > MOST_CALLS:
            raise UsageError(f"the page calls more than {MOST_CALLS} sections")
        if time.process_time() - self._since > MOST_CPU_S:
            raise UsageError(f"the page's sections take more than {MOST_CPU_S} s of CPU time")
        section = self._sections[name]
        bound = arguments.bound(section, self._page, given, named)
        return section(*bound.args, **bound.kwargs)

    def _block(self, block: Macro) -> str:
        """Return the text of the block of the call that is being answered."""
        if self._depth == MOST_DEEP:
            raise UsageError(f"blocks nest more than {MOST_DEEP} deep")
        self._depth += 1
        try:
            with self._limits.resume():
                return str(block())
        except Exception as error:
            self._of_block = error
            raise
        finally:
            self._depth -= 1

    def mistake(self, error: Exception) -> ManifestError:
        """Return what went wrong, what to do, and where: path and line of the template."""
        what, remedy = _described(error)
        where = str(self._template)
        if isinstance(error, TemplateSyntaxError):
            where = f"{error.filename or where}, line {error.lineno}"
        else:
            for frame, line in traceback.walk_tb(error.__traceback__):
                if frame.f_code.co_filename in self._parts.paths:
                    where = f"{frame.f_code.co_filename}, line {line}"
        return ManifestError(" ".join(what.split())[:_LONGEST], where=where, remedy=remedy)


def _described(error: Exception) -> tuple[str, str]:
    """Return a mistake in words, and its remedy."""
    if isinstance(error, RefusedError):
        what, remedy = error.args
        return str(what), str(remedy)
    if isinstance(error, limits.LateError):
        return f"takes more than {limits.CPU_S:.0f} s of CPU time", "end its loops"
    if isinstance(error, TooLongError):
        return f"makes a page or a text of more than {MOST_CHARACTERS / 1e6:.0f} MB", "print less"
    if isinstance(error, MemoryError):
        return f"takes more than {limits.MEMORY >> 30} GB of memory", "make shorter texts"
    if isinstance(error, RecursionError):
        return "nests too deeply, or calls itself without end", "nest less"
    if isinstance(error, TemplateNotFound):
        return f"no part {error.name!r} beside it", "name a file of the template's folder"
    if isinstance(error, UndefinedError | SecurityError):
        return str(error), _REMEDY
    if isinstance(error, TemplateError):
        return str(error.message), ""
    return f"{type(error).__name__}: {error}", ""


def joined(page: str) -> str:
    """Return a page as pleasant to read as what it renders to.

    A sentence that comes from a block of its own begins a line with a space, and blocks that render
    to nothing leave blank lines. Markdown ignores both; here the sentence goes behind the one
    before it, and blank lines are single.
    """
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
