"""Plain data to models: every mistake in our own words, and what can be read in spite of them."""

import difflib
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from harness.problem import model
from harness.problem.located_yaml import Located, Mistakes, Place, shown
from harness.problem.model import Problem
from harness.problem.names import SECTIONS, Names

_MOST_ERRORS = 1000
_NO_SUCH_KEY = "extra_forbidden"


@dataclass(frozen=True)
class Understood:
    """A manifest as far as it can be read.

    ``problem`` lacks the entries with mistakes; None if not even the sections are there.
    ``claims``: where in the manifest each of its claims stands.
    """

    problem: Problem | None
    mistakes: Mistakes
    names: Names
    claims: tuple[int, ...] = ()

    def place(self, where: Place) -> Place:
        """Return the place in the manifest of a place in ``problem``."""
        if where[:1] == ("claims",) and len(where) > 1 and isinstance(where[1], int):
            return ("claims", self.claims[where[1]], *where[2:])
        return where


def understood(said: Located) -> Understood:
    """Return the problem that a manifest describes, and the manifest's mistakes."""
    mistakes = said.mistakes
    data = said.data
    if not isinstance(data, dict):
        what = f"is {_noun(data)} (a manifest is a mapping: title, summary, environments …)"
        mistakes.add((), what)
        return Understood(None, mistakes, Names())
    unknown: set[Place] = set()
    by_place: dict[Place, list[ErrorDetails]] = defaultdict(list)
    try:
        problem = Problem.model_validate(data)
    except ValidationError as error:
        problem = None
        for detail in error.errors(include_url=False)[:_MOST_ERRORS]:
            by_place[_place(detail, data)].append(detail)
        unknown = {place for place, errors in by_place.items() if errors[0]["type"] == _NO_SUCH_KEY}
        misspelt = {
            (*where[:-1], _near(str(where[-1]), _keys(where[:-1], data))) for where in unknown
        }
        for where, details in sorted(by_place.items(), key=lambda item: -len(item[0])):
            if where not in misspelt or details[0]["type"] != "missing":
                mistakes.add(where, _wording(where, details, data))
    names = Names.of(data)
    if not mistakes:
        return Understood(problem, mistakes, names, tuple(range(len(data["claims"]))))
    unread = {*mistakes.by_place, *by_place} - unknown
    rest, claims = _without(data, unread, unknown)
    try:
        problem = Problem.model_validate(rest)
    except ValidationError:
        return Understood(None, mistakes, names)
    return Understood(problem, mistakes, names, claims)


def _without(
    data: dict[str, Any], unread: Iterable[Place], unknown: Iterable[Place]
) -> tuple[dict[str, Any], tuple[int, ...]]:
    """Return the data without what cannot be read, and which claims it still holds.

    That is an ``unknown`` key by itself, else an entry of a section, a claim, or a whole section.
    """
    rest = {name: dict(part) if isinstance(part, dict) else part for name, part in data.items()}
    claims = dict(enumerate(data["claims"])) if isinstance(data.get("claims"), list) else {}
    for where in unknown:
        _cut(rest, claims, where)
    for where in unread:
        section = where[0]
        if section == "claims" and len(where) > 1:
            claims = {index: claim for index, claim in claims.items() if index != where[1]}
        elif section in SECTIONS and len(where) > 1 and isinstance(rest.get(section), dict):
            rest[str(section)].pop(where[1], None)
        else:
            rest.pop(str(section), None)
    sections: dict[str, Any] = {name: {} for name in SECTIONS}
    neutral = {"title": "?", "summary": "?", "baseline": "?", **sections}
    return {**neutral, **rest, "claims": list(claims.values())}, tuple(claims)


def _cut(rest: dict[str, Any], claims: dict[int, Any], where: Place) -> None:
    """Take one key out of the data, which is copied on the way to it."""
    at: Any = claims if where[0] == "claims" else rest
    for part in where[1:-1] if where[0] == "claims" else where[:-1]:
        at[part] = at[part].copy()
        at = at[part]
    del at[where[-1]]


def _place(error: ErrorDetails, data: Any) -> Place:
    """Return where an error is, in keys of the manifest.

    pydantic puts into its place which model or which kind of value it had tried.
    """
    where = error["loc"]
    if where[:1] == ("claims",):
        where = (*where[:2], *where[3:])  # the third part is the claim's kind
    place: list[str | int] = []
    for part in where:
        if _has(data, part):
            data = data[part]
        elif error["type"] != "missing" or part != where[-1]:
            continue
        place.append(part)
    if error["type"] == model.UNKNOWN_KIND:
        place.append("kind")
    return tuple(place)


def _has(data: Any, part: str | int) -> bool:
    """Return whether ``part`` is a key or an index of the data."""
    if isinstance(part, int):
        return isinstance(data, list) and part < len(data)
    return isinstance(data, dict) and part in data


def _wording(where: Place, errors: list[ErrorDetails], data: dict[str, Any]) -> str:
    """Return the words for the errors of one place: several are the kinds a value may be of."""
    first = errors[0]
    kind, context, value = first["type"], first.get("ctx", {}), first["input"]
    if kind == "missing":
        return "is missing (write it; `harness schema` describes it)"
    if kind == _NO_SUCH_KEY:
        keys = _keys(where[:-1], data)
        near = _near(str(where[-1]), keys)
        remedy = f"did you mean {near!r}?" if near else f"there are: {', '.join(keys)}"
        return f"no such key ({remedy})"
    if kind in _LIMITS:
        return _beyond(kind, value, context[_LIMITS[kind][0]])
    if nouns := list(dict.fromkeys(_wanted(error) for error in errors if _wanted(error))):
        if nouns == ["a whole number", "a number"]:
            nouns = nouns[1:]
        return f"is {_noun(value)} (write {' or '.join(nouns)}{_hint(value, nouns)})"
    text = first["msg"].removeprefix("Value error, ")
    return text if text.endswith(")") else f"{text} (see `harness schema`)"


_LIMITS = {
    "greater_than_equal": ("ge", "at least"),
    "greater_than": ("gt", "more than"),
    "less_than_equal": ("le", "at most"),
    "less_than": ("lt", "less than"),
    "too_short": ("min_length", "at least"),
    "too_long": ("max_length", "at most"),
    "string_too_short": ("min_length", "at least"),
    "string_too_long": ("max_length", "at most"),
}
"""The error of a limit to the limit's name and the words before it."""

_WANTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
}


def _beyond(kind: str, value: Any, limit: float) -> str:
    """Return the words for a value beyond a limit."""
    if not kind.endswith(("short", "long")):
        has = f"is {shown(value)}"
    elif not value:
        return "is empty (write it)"
    else:
        has = f"has {len(value)} {'letters' if isinstance(value, str) else 'values'}"
    return f"{has} ({_LIMITS[kind][1]} {limit:g})"


def _wanted(error: ErrorDetails) -> str:
    """Return the noun for the right kind of value, empty if an error is of another kind."""
    if error["type"] == "literal_error":
        return str(error["ctx"]["expected"])
    noun = _WANTED.get(error["type"], "")
    is_scalar = isinstance(error["input"], bool | int | float)
    return "text in quotes" if noun == "text" and is_scalar else noun


def _hint(value: object, nouns: list[str]) -> str:
    is_exponential = isinstance(value, str) and re.fullmatch(r"[-+]?[\d.]+[eE][-+]?\d+", value)
    if is_exponential and nouns[-1] == "a number":
        return ": YAML reads one with an exponent only with point and sign, as in 1.0e+5"
    return ""


def _noun(value: object) -> str:
    if value is None:
        return "empty"
    nouns = {str: "the text", bool: "the truth value", dict: "the mapping", list: "the list"}
    return f"{nouns.get(type(value), 'the number')} {shown(value)}"


_OF_SECTION: dict[str, type[BaseModel]] = {
    "environments": model.Environment,
    "variants": model.Variant,
    "cases": model.Case,
    "captures": model.Recipe,
    "metrics": model.Metric,
    "references": model.Reference,
    "short": model.Short,
    "card": model.Card,
}
_OF_CLAIM: dict[str | int, type[BaseModel]] = {
    "bound": model.Bound,
    "of": model.Selection,
    "over": model.Selection,
}


def _keys(where: Place, data: dict[str, Any]) -> list[str]:
    """Return the keys that the mapping at a place may have."""
    if not where:
        of: type[BaseModel] = Problem
    elif where[0] != "claims":
        of = _OF_SECTION[str(where[0])]
    elif len(where) > 2:
        of = _OF_CLAIM[where[2]]
    else:
        claim = data["claims"][where[1]]
        of = model.Advice if claim.get("kind") == "advice" else model.BoundClaim
    return [field.alias or name for name, field in of.model_fields.items()]


def _near(name: str, names: Iterable[str]) -> str:
    """Return the known name that is most like a name, empty if none is."""
    return next(iter(difflib.get_close_matches(name, list(names), n=1)), "")
