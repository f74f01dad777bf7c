"""Checks what a template passes to a section: types, and names that the manifest must have.

A section annotates a parameter as :data:`VariantName`, :data:`CaseName` or :data:`MetricName`, also
within a list or a mapping.
"""

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from typing import Annotated, Any, get_type_hints

from pydantic import AfterValidator, TypeAdapter, ValidationError, ValidationInfo

from harness.ground.errors import UsageError
from harness.problem.model import Problem
from harness.report.page import Page

_MOST_NAMES = 12

_BLOCK = "caller"
"""The parameter that takes the block of a call."""


def _of(what: str, names: Callable[[Problem], Collection[str]]) -> AfterValidator:
    """Return the check that a text names a ``what`` of the problem."""

    def known(value: str, info: ValidationInfo) -> str:
        assert isinstance(info.context, Problem)  # noqa: S101 - for the type checker
        every = names(info.context)
        name = value.partition("@")[0] if what == "metric" else value  # a metric may have @REGION
        if name not in every:
            near = get_close_matches(name, every) or sorted(every)[:_MOST_NAMES]
            raise ValueError(f"no {what} {name!r} (such as {', '.join(near) or 'none'})")
        return value

    return AfterValidator(known)


VariantName = Annotated[str, _of("variant", lambda problem: problem.variants)]
CaseName = Annotated[str, _of("case", lambda problem: problem.cases)]
MetricName = Annotated[str, _of("metric", lambda problem: problem.metrics)]


def bound(
    section: Callable[..., Any], page: Page, given: Sequence[Any], named: Mapping[str, Any]
) -> inspect.BoundArguments:
    """Return the arguments of a section as its annotations ask for; UsageError if they differ."""
    signature = inspect.signature(section)
    try:
        arguments = signature.bind(page, *given, **named)
    except TypeError as error:
        takes = ", ".join(_passed(signature))
        raise UsageError(str(error), remedy=f"it takes ({takes})") from None
    for name in _passed(signature):
        if name not in arguments.arguments:
            continue
        value = arguments.arguments[name]
        kind = signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_POSITIONAL:
            checked: Any = tuple(_checked(section, name, item, page) for item in value)
        elif kind is inspect.Parameter.VAR_KEYWORD:
            checked = {key: _checked(section, name, item, page) for key, item in value.items()}
        else:
            checked = _checked(section, name, value, page)
        arguments.arguments[name] = checked
    return arguments


def _checked(section: Callable[..., Any], name: str, value: Any, page: Page) -> Any:
    try:
        return _adapters(section)[name].validate_python(value, context=page.problem)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = "".join(f"[{part!r}]" for part in first["loc"])
        raise UsageError(f"{name}{place}: {first['msg'].removeprefix('Value error, ')}") from None


@cache
def _adapters(section: Callable[..., Any]) -> dict[str, TypeAdapter[Any]]:
    """Return what checks each parameter of a section."""
    hints = get_type_hints(section, include_extras=True)
    return {name: TypeAdapter(hints.get(name, Any)) for name in _passed(inspect.signature(section))}


def _passed(signature: inspect.Signature) -> list[str]:
    """Return the parameters that a template passes; the first one is the page."""
    return [name for name in list(signature.parameters)[1:] if name != _BLOCK]
