"""Plain data to models: every mistake in our own words, and what can be read in spite of them."""

import difflib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from harness.problem import model
from harness.problem.located_yaml import Located, Place, shown
from harness.problem.model import Problem
from harness.problem.names import SECTIONS, Names

_NO_SUCH_KEY = "extra_forbidden"


@dataclass(frozen=True)
class Understood:
    """A manifest as far as it can be read.

    ``problem`` lacks the entries with mistakes; None if not even the sections are there.
    ``claims``: where in the manifest each of its claims stands.
    """

    problem: Problem | None
    mistakes: dict[Place, str]
    names: Names
    claims: tuple[int, ...] = ()

    def place(self, where: Place) -> Place:
        """Return the place in the manifest of a place in ``problem``."""
        if where[:1] == ("claims",) and len(where) > 1 and isinstance(where[1], int):
            return ("claims", self.claims[where[1]], *where[2:])
        return where


def understood(said: Located) -> Understood:
    """Return the problem that a manifest describes, and what is wrong with it."""
    mistakes = dict(said.mistakes)
    data = said.data
    if not isinstance(data, dict):
        what = f"is {_noun(data)} (a manifest is a mapping: title, summary, environments …)"
        return Understood(None, mistakes or {(): what}, Names())
    unknown: list[Place] = []
    try:
        problem = Problem.model_validate(data)
    except ValidationError as error:
        problem = None
        by_place: dict[Place, list[ErrorDetails]] = defaultdict(list)
        for detail in error.errors(include_url=False):
            by_place[_place(detail, data)].append(detail)
        for where, details in sorted(by_place.items(), key=lambda item: -len(item[0])):
            if details[0]["type"] == _NO_SUCH_KEY:
                unknown.append(where)
            if not any(overlap(where, known) for known in mistakes):
                mistakes[where] = _told(where, details)
    names = Names.of(data)
    if not mistakes:
        return Understood(problem, mistakes, names, tuple(range(len(data["claims"]))))
    rest, claims = _without(data, mistakes, unknown)
    try:
        problem = Problem.model_validate(rest)
    except ValidationError:
        return Understood(None, mistakes, names)
    return Understood(problem, mistakes, names, claims)


def overlap(one: Place, other: Place) -> bool:
    """Return whether one of two places lies in the other."""
    shorter = min(len(one), len(other))
    return one[:shorter] == other[:shorter] and bool(shorter)


def _without(
    data: dict[str, Any], mistakes: Iterable[Place], unknown: list[Place]
) -> tuple[dict[str, Any], tuple[int, ...]]:
    """Return the data without what has mistakes, and which claims it still holds.

    That is an unknown key by itself, an entry of a section, a claim, or a whole section.
    """
    rest = {name: dict(part) if isinstance(part, dict) else part for name, part in data.items()}
    claims = dict(enumerate(data["claims"])) if isinstance(data.get("claims"), list) else {}
    for where in mistakes:
        section = where[0]
        if where in unknown:
            _cut(rest, claims, where)
        elif section == "claims" and len(where) > 1:
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


def _told(where: Place, errors: list[ErrorDetails]) -> str:
    """Return the words for the errors of one place: several are the kinds a value may be of."""
    first = errors[0]
    kind, context, value = first["type"], first.get("ctx", {}), first["input"]
    if kind == "missing":
        return "is missing (write it; `harness schema` describes it)"
    if kind == _NO_SUCH_KEY:
        near = difflib.get_close_matches(str(where[-1]), list(_keys()), n=1)
        return f"no such key ({f'did you mean {near[0]!r}?' if near else 'see `harness schema`'})"
    if kind in _LIMITS:
        name, words = _LIMITS[kind]
        return f"is {_size(kind, value)} ({words} {context[name]})"
    if nouns := list(dict.fromkeys(_wanted(error) for error in errors if _wanted(error))):
        if nouns == ["a whole number", "a number"]:
            nouns = nouns[1:]
        return f"is {_noun(value)} {shown(value)} (write {' or '.join(nouns)}{_hint(value, nouns)})"
    text = first["msg"].removeprefix("Value error, ")
    return text if text.endswith(")") else f"{text} (see `harness schema`)"


_LIMITS = {
    "greater_than_equal": ("ge", "at least"),
    "greater_than": ("gt", "more than"),
    "less_than_equal": ("le", "at most"),
    "less_than": ("lt", "less than"),
    "too_short": ("min_length", "at least so many:"),
    "too_long": ("max_length", "at most so many:"),
    "string_too_short": ("min_length", "at least so many letters:"),
    "string_too_long": ("max_length", "at most so many letters:"),
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


def _wanted(error: ErrorDetails) -> str:
    """Return what a value should have been, empty if an error is of another kind."""
    if error["type"] == "literal_error":
        return str(error["ctx"]["expected"])
    return _WANTED.get(error["type"], "")


def _hint(value: object, nouns: list[str]) -> str:
    if "text" in nouns and isinstance(value, bool | int | float):
        return ", in quotes"
    if isinstance(value, str) and nouns[-1].endswith("number") and "e" in value.lower():
        return "; with an exponent it needs point and sign, as in 1.0e+5"
    return ""


def _noun(value: object) -> str:
    nouns = {str: "the text", bool: "the truth value", dict: "the mapping", list: "the list"}
    return nouns.get(type(value), "empty:" if value is None else "the number")


def _size(kind: str, value: Any) -> str:
    if kind in ("too_short", "too_long"):
        return f"{len(value)} values" if value else "empty"
    if kind.startswith("string"):
        return f"{len(value)} letters" if value else "empty"
    return shown(value)


def _keys() -> Iterator[str]:
    """Return every key that some model of a manifest has."""
    for each in vars(model).values():
        if isinstance(each, type) and issubclass(each, BaseModel):
            yield from (known.alias or name for name, known in each.model_fields.items())
