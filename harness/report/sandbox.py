"""The names that a template can reach: plain data, its verbs, and lists of filters and methods.

Whatever is not on a list is undefined. So a template has no way to a module, to a function's
globals or to a file.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import wraps
from typing import Any

from jinja2 import BaseLoader, StrictUndefined, TemplateSyntaxError, Undefined, nodes
from jinja2.environment import TemplateModule
from jinja2.runtime import Context, LoopContext, Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment, safe_range

from harness.report import escape
from harness.report.escape import Markdown

_FILTERS = (
    *("abs", "capitalize", "count", "d", "default", "dictsort", "first", "float", "int", "items"),
    *("join", "last", "length", "list", "lower", "map", "max", "min", "reject", "rejectattr"),
    *("replace", "reverse", "round", "select", "selectattr", "sort", "sum", "title", "trim"),
    *("unique", "upper"),
)
_OF_TEXT = frozenset(
    {
        *("capitalize", "count", "endswith", "lower", "lstrip", "partition", "removeprefix"),
        *("removesuffix", "replace", "rpartition", "rsplit", "rstrip", "split", "startswith"),
        *("strip", "title", "upper"),
    }
)
_OF_LOOP = frozenset(
    {
        *("index", "index0", "revindex", "revindex0", "first", "last", "length", "depth", "depth0"),
        *("cycle", "changed", "previtem", "nextitem"),
    }
)
_METHODS: Mapping[type, frozenset[str]] = {
    str: _OF_TEXT,
    Markdown: _OF_TEXT,
    dict: frozenset({"get", "items", "keys", "values"}),
    list: frozenset({"count", "index"}),
    tuple: frozenset({"count", "index"}),
    LoopContext: _OF_LOOP,
}
"""Attributes by type. Methods that format are none: they reach into what they format."""

MOST_CHARACTERS = 4_000_000
"""Characters of a page."""

_MOST_BITS = 1 << 16
"""Bits of a product or power of integers: nothing ends the operation on large ones."""

Ask = Callable[[str, tuple[Any, ...], dict[str, Any]], Any]
"""Returns a verb's answer to positional and named arguments."""


class Verb:
    """A section of a worklog, to call."""

    def __init__(self, name: str, ask: Ask) -> None:
        self._name = name
        self._ask = ask

    def __call__(self, *given: object, **named: object) -> Any:
        """Return the section's result for these arguments."""
        return self._ask(self._name, given, named)

    def __repr__(self) -> str:
        raise TypeError(f"w.{self._name} without parentheses: it is called")


class Method:
    """A function or method, to call; a template cannot print it, as it would print an address."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self._name = name
        self._function = function

    def __call__(self, *given: object, **named: object) -> Any:
        """Call it with these arguments; return its result."""
        return self._function(*given, **named)

    def __repr__(self) -> str:
        raise TypeError(f"{self._name} without parentheses: it is called")


class Verbs:
    """The object that a template calls ``w``: verbs by name, and facts."""

    def __init__(self, names: Iterable[str], facts: Mapping[str, object], ask: Ask) -> None:
        self.known = {**facts, **{name: Verb(name, ask) for name in names}}

    def __repr__(self) -> str:
        raise TypeError("w alone says nothing: call one of its sections")


class TooLongError(Exception):
    """A page, or a text that it prints, is longer than it may be."""


class Sandbox(ImmutableSandboxedEnvironment):
    """A template engine with these lists; ``loader`` brings the parts that templates include."""

    intercepted_binops = frozenset({"*", "**"})

    def __init__(self, loader: BaseLoader) -> None:
        super().__init__(
            loader=loader,
            undefined=StrictUndefined,
            finalize=_printed,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
            autoescape=False,  # Markdown, not HTML: `finalize` escapes every value
        )
        self.filters = {name: _listing(self.filters[name]) for name in _FILTERS}
        self.globals = {"range": Method("range", safe_range)}

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        """Parse a template; within a block ``super`` would be an object of the engine."""
        tree = super()._parse(source, name, filename)
        for node in tree.find_all((nodes.Extends, nodes.Block)):
            what = "extends and block are not offered: include or import a part"
            raise TemplateSyntaxError(what, node.lineno, name, filename)
        return tree

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Return what ``obj.attribute`` is in a template."""
        members = _reached(obj)
        if attribute in members:
            return members[attribute]
        if attribute in _METHODS.get(type(obj), ()):
            value = getattr(obj, attribute)
            return Method(attribute, value) if callable(value) else value
        if isinstance(obj, Undefined) or type(obj) is dict:
            return self._item(obj, attribute)
        if isinstance(obj, Verbs):
            return self.undefined(f"a worklog has no section {attribute!r}")
        return self.undefined(obj=obj, name=attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """Return what ``obj[argument]`` is in a template."""
        if isinstance(obj, Undefined | dict | list | tuple | str | range):
            item = self._item(obj, argument)
            if not isinstance(item, Undefined) or not isinstance(argument, str):
                return item
        return self.getattr(obj, str(argument))

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Return a product or a power; OverflowError for a large one of integers."""
        if isinstance(left, int) and isinstance(right, int):
            bits = left.bit_length(), right.bit_length()
            most = bits[0] * abs(right) if operator == "**" else sum(bits)
            if most > _MOST_BITS:
                raise OverflowError(f"an integer of more than {_MOST_BITS} bits")
        return super().call_binop(context, operator, left, right)

    def _item(self, obj: Any, argument: Any) -> Any:
        try:
            return obj[argument]
        except (TypeError, LookupError):
            return self.undefined(obj=obj, name=argument)

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:  # noqa: ARG002 - jinja's
        """Return whether an attribute is on a list."""
        return attr in _reached(obj) or attr in _METHODS.get(type(obj), ())

    def is_safe_callable(self, obj: Any) -> bool:
        """Return whether a template may call this: a verb, a macro, a loop, a listed method."""
        if isinstance(obj, Undefined):
            str(obj)  # which says what is undefined
        return isinstance(obj, Verb | Method | Macro | LoopContext)


def _listing(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a filter that returns a list in place of an iterator, which prints as its address."""

    @wraps(function)
    def listing(*given: Any, **named: Any) -> Any:
        value = function(*given, **named)
        return list(value) if isinstance(value, Iterator) else value

    return listing


def _reached(obj: Any) -> Mapping[str, Any]:
    """Return the attributes by name of an object that is more than data."""
    if isinstance(obj, Verbs):
        return obj.known
    if isinstance(obj, TemplateModule):
        return {name: value for name, value in vars(obj).items() if not name.startswith("_")}
    return {}


def _printed(value: object) -> object:
    """Return a value as Markdown; only text and numbers are printed."""
    if isinstance(value, Undefined):
        return str(value)  # which says what is undefined
    if not isinstance(value, str | int | float):
        raise TypeError(f"a value of type {type(value).__name__} cannot be printed")
    if isinstance(value, str) and len(value) > MOST_CHARACTERS:
        raise TooLongError
    return escape.finalize(value)


def plain(value: object) -> Any:
    """Return a copy of plain data, whose tuples are lists; TypeError if it is anything else.

    ValueError for a text that is longer than a page may be.
    """
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | range):
        return [plain(item) for item in value]
    if isinstance(value, str) and len(value) > MOST_CHARACTERS:
        raise ValueError(f"a text of more than {MOST_CHARACTERS / 1e6:.0f} MB")
    if value is None or isinstance(value, str | int | float):
        return value
    raise TypeError(f"a value of type {type(value).__name__} is no plain data")
