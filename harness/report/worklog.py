"""Renders a problem's template; the names that it asks for are looked up in the registry.

Nothing is computed in a template, and no number stands in it.
"""

import inspect
import traceback
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

from harness.references import resolve
from harness.report.page import Page
from harness.report.sections import SECTIONS

_REMEDY = "a template knows problem, w.on_gpu and what harness/report/sections/__init__.py lists"


_FROM_TEXT = "<template>"
"""The file that a traceback names for a template which was given as text."""


class WrongCallError(Exception):
    """A template calls a section with arguments that it does not take."""


class Worklog:
    """What a template calls ``w``: every section by its name, made from one page."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self.on_gpu = page.target.device == "cuda"

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return the section called ``name``; AttributeError if the registry has none."""
        if name not in SECTIONS:
            raise AttributeError(f"a worklog has no section {name!r}")
        section = resolve(SECTIONS[name])

        @wraps(section)
        def call(*given: object, **named: object) -> Any:
            signature = inspect.signature(section)
            try:
                signature.bind(self._page, *given, **named)
            except TypeError as error:
                takes = ", ".join(list(signature.parameters)[1:])
                raise WrongCallError(f"w.{name}: {error}; it takes ({takes})") from None
            return section(self._page, *given, **named)

        return call


def render(template: Path, page: Page) -> str:
    """Return the worklog that ``template`` makes of ``page``, whose figures it fills.

    A name that the template misspells, arguments that a section does not take, and wrong syntax are
    a ManifestError with the template's line.
    """
    import jinja2

    from harness.errors import ManifestError
    from harness.report.escape import finalize

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(template.parent),  # of parts that pages include
        undefined=jinja2.StrictUndefined,
        finalize=finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - Markdown, not HTML: `finalize` escapes every value
    )
    try:
        text = template.read_text(encoding="utf-8")
        return environment.from_string(text).render(w=Worklog(page), problem=page.problem)
    except jinja2.TemplateSyntaxError as error:
        raise ManifestError(str(error.message), where=f"{template}, line {error.lineno}") from None
    except jinja2.TemplateNotFound as error:
        raise ManifestError(f"no part {error.name!r} beside it", where=template) from None
    except jinja2.UndefinedError as error:
        raise ManifestError(str(error), where=_place(error, template), remedy=_REMEDY) from None
    except WrongCallError as error:
        raise ManifestError(str(error), where=_place(error, template)) from None


def _place(error: Exception, template: Path) -> str:
    """Return the file and line of a template, or of a part that it includes, where it failed."""
    frames = traceback.extract_tb(error.__traceback__)
    inside = [frame for frame in frames if frame.filename.endswith((_FROM_TEXT, template.suffix))]
    file = inside[-1].filename
    return f"{template if file == _FROM_TEXT else file}, line {inside[-1].lineno}"
