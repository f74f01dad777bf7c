"""Renders a problem's template; the names that it asks for are looked up in the registry.

Nothing is computed in a template, and no number stands in it.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from harness.references import resolve
from harness.report.page import Page
from harness.report.sections import SECTIONS

_REMEDY = "a template knows problem, w.on_gpu and what harness/report/sections/__init__.py lists"


class Worklog:
    """What a template calls ``w``: every section by its name, made from one page."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self.on_gpu = page.target.device == "cuda"

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return the section called ``name``; AttributeError if the registry has none."""
        if name not in SECTIONS:
            raise AttributeError(f"a worklog has no section {name!r}")
        return partial(resolve(SECTIONS[name]), self._page)


def render(template: Path, page: Page) -> str:
    """Return the worklog that ``template`` makes of ``page``, whose figures it fills.

    A name that the template misspells, or its wrong syntax, is a ManifestError.
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
        raise ManifestError(str(error), where=template, remedy=_REMEDY) from None
