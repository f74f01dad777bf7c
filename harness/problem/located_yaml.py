"""Reads YAML into plain data, with the line of each key and every mistake on the way.

Only text, numbers, true, false, null, lists and mappings with text as keys are read. Size, depth
and what aliases expand to are bounded, so that no file holds up a command.
"""

import math
import re
import textwrap
import unicodedata
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from yaml.composer import Composer

from harness.ground import files
from harness.ground.errors import ManifestError, StoreError

Place = tuple[str | int, ...]
"""The keys and indices that lead to a value."""

Mistake = tuple[Place, str]
"""A place, and the mistake there with its remedy in parentheses."""

_MOST_BYTES = 256 * 1024
_MOST_NODES = 50_000
_DEEPEST = 20
_LONGEST_SHOWN = 80
_LONGEST_TEXT = 10_000
_MOST_DIGITS = 64
_LARGEST = 2**63

_TAG = "tag:yaml.org,2002:"
_BASE_60 = re.compile(r"[-+]?\d[\d_]*(:[0-5]?\d)+(\.[\d_]*)?")
_OCTAL = re.compile(r"[-+]?0[\d_]+")
_KEY = re.compile(r"[\s-]*([\w.-]{1,60}):")
_QUOTE = "put it in quotes"
_QUOTED = re.compile(r'"[^"\n]*"')
_DIFFERENT = re.compile(
    r"[^\n\x20-\x7E\xA0-\u2027\u202A-\uD7FF\uE000-\uFEFE\uFF00-\uFFFD]"
    r"|\?(?!\n)|:[,\]}]|(?<!\w)::|::(?!\w)|[|>][-+0-9]{0,9}#|[\s,\[{]!"
)
"""What libyaml and PyYAML read differently outside of quotes: other line ends, tabs and marks than
a manifest has, '?' and ':' in braces, comments at the head of a block, tags."""


class Mistakes:
    """Mistakes by place, each told once: not again for what lies in a place, or around it."""

    def __init__(self) -> None:
        self.by_place: dict[Place, str] = {}
        self._around: set[Place] = set()

    def __bool__(self) -> bool:
        return bool(self.by_place)

    def add(self, where: Place, what: str) -> None:
        """Note a mistake, unless one is known in this place."""
        inner = (where[:length] in self.by_place for length in range(1, len(where) + 1))
        if where not in self._around and not any(inner):
            self.by_place.setdefault(where, what)
            self._around.update(where[:length] for length in range(1, len(where) + 1))


@dataclass
class Located:
    """A file's contents: ``data``, the line and column of each place, and ``mistakes`` by place.

    A value with a mistake is None in ``data``. Places that an alias or a merge repeats have the
    line and column of what they repeat.
    """

    data: Any = None
    marks: dict[Place, tuple[int, int]] = field(default_factory=dict)
    mistakes: Mistakes = field(default_factory=Mistakes)

    def mark(self, where: Place) -> tuple[int, int]:
        """Return line and column of a place, or of the nearest place around it that has them."""
        while where and where not in self.marks:
            where = where[:-1]
        return self.marks.get(where, (1, 1))

    def note(self, where: Place, node: yaml.Node) -> None:
        """Note that a place is where ``node`` starts."""
        self.marks[where] = (node.start_mark.line + 1, node.start_mark.column + 1)


def read(path: Path) -> Located:
    """Read a file; ManifestError if it is no YAML at all, or more than a manifest may hold."""
    text = _text(path)
    try:
        loader, node = _composed(text)
        if node is None:
            raise _refused(path, 1, "empty", "CONTRIBUTING.md says what a manifest holds")
        return _Constructor(loader).of(node)
    except yaml.MarkedYAMLError as error:
        raise _no_yaml(path, text, error) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise _refused(path, line, f"the character {error.character:#x}", "remove it") from None


def shown(value: object) -> str:
    """Return a value as a message quotes it, shortened."""
    text = repr(value)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 4]} …{text[-1]}"


def _no_yaml(path: Path, text: str, error: yaml.MarkedYAMLError) -> ManifestError:
    """Return the error of a text that is no YAML, at its line and the key in this line."""
    what = f"{error.problem}"
    mark = error.problem_mark
    if error.context and not error.note:
        what = f"{error.context}, {what}"
        if "end" in what:  # of the file: what began has no end
            mark = error.context_mark
    line = mark.line if mark else 0
    key = next((_KEY.match(line_text) for line_text in text.splitlines()[line : line + 1]), None)
    what = textwrap.shorten(what, 200, placeholder=" …")
    remedy = error.note or "look for quotes, brackets, indentation and anchors there"
    return _refused(path, line + 1, f"{key[1]}: {what}" if key else what, remedy)


def _text(path: Path) -> str:
    """Return the text of a regular file of at most so many bytes."""
    try:
        with files.regular(path) as file:
            content = file.read(_MOST_BYTES + 1)
    except StoreError as error:
        raise ManifestError(error.what, where=path, remedy="write the manifest there") from error
    if len(content) > _MOST_BYTES:
        lines = content.split(b"\n")
        longest = max(range(len(lines)), key=lambda number: len(lines[number]))
        key = _KEY.match(lines[longest][:100].decode("utf-8", errors="replace"))
        what = f"{key[1] if key else 'manifest'}: the file has {path.stat().st_size} bytes"
        remedy = f"at most {_MOST_BYTES}; data lies in a file of its own, which a script reads"
        raise _refused(path, longest + 1, what, remedy)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        what = f"the byte {content[error.start]:#x} is no UTF-8"
        raise _refused(path, line, what, "save the file as UTF-8") from None


def _refused(path: Path, line: int, what: str, remedy: str) -> ManifestError:
    return ManifestError(f"line {line}: {what}", where=path, remedy=remedy)


class _Refusal(yaml.MarkedYAMLError):
    """More than a manifest may hold, at a mark; ``note`` is the remedy."""

    def __init__(self, what: str, mark: yaml.Mark, remedy: str) -> None:
        super().__init__(problem=what, problem_mark=mark, note=remedy)


def _too_deep(mark: yaml.Mark) -> _Refusal:
    return _Refusal("nested too deeply", mark, f"at most {_DEEPEST} levels")


class _Counting(Composer):
    """Counts nodes, those that aliases repeat included, while it composes."""

    peek_event: Any  # of the parser that it is joined with
    check_event: Any
    _depth = _nodes = 0

    def __init__(self) -> None:
        Composer.__init__(self)
        self._sizes: dict[int, int] = {}

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Compose one node, within the bounds of depth and number."""
        mark = self.peek_event().start_mark
        is_alias = self.check_event(yaml.AliasEvent)
        self._depth += 1
        if self._depth > _DEEPEST:
            raise _too_deep(mark)
        before = self._nodes
        node = super().compose_node(parent, index)
        if is_alias and id(node) not in self._sizes:
            raise _Refusal("an alias to what it is a part of", mark, "write out what is meant")
        self._nodes += self._sizes[id(node)] if is_alias else 1
        if self._nodes > _MOST_NODES:
            remedy = f"at most {_MOST_NODES}, those that aliases repeat included"
            raise _Refusal("too many values", mark, remedy)
        self._sizes[id(node)] = self._nodes - before
        self._depth -= 1
        return node


class _Loader(_Counting, yaml.SafeLoader):
    """Parses in Python, whose mistakes are those that messages quote."""

    def __init__(self, text: str) -> None:
        yaml.SafeLoader.__init__(self, text)
        _Counting.__init__(self)


@cache
def _libyaml() -> Any:
    """Return a loader that parses by libyaml, which PyYAML may have been built without."""

    class Fast(_Counting, yaml.CSafeLoader):
        def __init__(self, text: str) -> None:
            yaml.CSafeLoader.__init__(self, text)
            _Counting.__init__(self)

    return Fast


def _composed(text: str) -> tuple[Any, yaml.Node | None]:
    """Return a document's loader and node.

    Parsed by libyaml, in a fifth of the time; what it refuses, Python has to refuse in its words.
    """
    if yaml.__with_libyaml__ and not _DIFFERENT.search(_QUOTED.sub('""', text)):
        with suppress(yaml.YAMLError):
            loader = _libyaml()(text)
            return loader, loader.get_single_node()
    loader = _Loader(text)
    return loader, loader.get_single_node()


class _Constructor:
    """Turns composed nodes into data; each mistake is noted once and its value becomes None."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader
        self._found = Located()

    def of(self, node: yaml.Node) -> Located:
        """Return the document's data, places and mistakes."""
        self._found.data = self._value(node, (), depth=1)
        return self._found

    def _value(self, node: yaml.Node, where: Place, depth: int) -> Any:
        if depth > _DEEPEST:
            raise _too_deep(node.start_mark)
        if isinstance(node, yaml.MappingNode) and node.tag == f"{_TAG}map":
            return self._mapping(node, where, depth)
        if isinstance(node, yaml.SequenceNode) and node.tag == f"{_TAG}seq":
            for index, item in enumerate(node.value):
                self._found.note((*where, index), item)
            return [
                self._value(item, (*where, index), depth + 1)
                for index, item in enumerate(node.value)
            ]
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, where)
        return self._tagged(node, where)

    def _mapping(self, node: yaml.MappingNode, where: Place, depth: int) -> dict[str, Any]:
        """Return a mapping; what it merges stands before its own keys, which replace it."""
        merged: dict[str, Any] = {}
        for key, value in node.value:
            if key.tag == f"{_TAG}merge":
                sources = value.value if isinstance(value, yaml.SequenceNode) else [value]
                for source in reversed(sources):
                    merged |= self._merged(source, where, depth)
        own: dict[str, Any] = {}
        for key, value in node.value:
            name = self._key(key, where)
            if name is None:
                continue
            here = (*where, name)
            first = self._found.mark(here)[0]
            self._found.note(here, key)
            if name in own:
                self._wrong(here, f"duplicate name, first on line {first}", "rename one of them")
                continue
            own[name] = self._value(value, here, depth + 1)
        return merged | own

    def _merged(self, node: yaml.Node, where: Place, depth: int) -> dict[str, Any]:
        if isinstance(node, yaml.MappingNode) and depth < _DEEPEST:
            return self._mapping(node, where, depth + 1)
        here = (*where, "<<")
        self._found.note(here, node)
        self._wrong(here, "merges what is no mapping", "name a mapping's anchor")
        return {}

    def _key(self, node: yaml.Node, where: Place) -> str | None:
        """Return a key's text, None if it is a merge or, with a mistake noted, no text."""
        if node.tag == f"{_TAG}merge":
            return None
        if isinstance(node, yaml.ScalarNode) and node.tag == f"{_TAG}str":
            key: str = node.value
            if len(key) <= _LONGEST_TEXT // 10 and not _unprintable(key):
                return key
        text = node.value if isinstance(node, yaml.ScalarNode) else "[…]"
        here = (*where, text)
        self._found.note(here, node)
        name = node.tag.removeprefix(_TAG)
        if name == "str":
            self._wrong(here, "a key that is too long or unprintable", "choose a short name")
        elif isinstance(node, yaml.ScalarNode):
            self._wrong(here, f"a key that is no text but {_NOUNS.get(name, name)}", _QUOTE)
        else:
            self._wrong(here, "a list or mapping as a key", "a key is text")
        return None

    def _scalar(self, node: yaml.ScalarNode, where: Place) -> Any:
        kind, text = node.tag.removeprefix(_TAG), node.value
        if kind == "str":
            return self._string(text, where)
        if kind == "null" and text.lower() in ("", "~", "null"):
            return None
        if kind == "bool" and text.lower() in self._loader.bool_values:
            return self._loader.bool_values[text.lower()]
        if kind in ("int", "float"):
            return self._number(node, where)
        return self._tagged(node, where)

    def _string(self, text: str, where: Place) -> Any:
        if len(text) > _LONGEST_TEXT:
            what = f"{len(text)} letters"
            return self._wrong(where, what, f"at most {_LONGEST_TEXT}; longer text lies in a file")
        if character := _unprintable(text):
            return self._wrong(where, f"holds the character U+{ord(character):04X}", "remove it")
        return text

    def _number(self, node: yaml.ScalarNode, where: Place) -> Any:
        text = node.value
        number: int | float
        if len(text) > _MOST_DIGITS:
            what = f"a number of {len(text)} digits"
            return self._wrong(where, what, f"round it, or {_QUOTE}")
        if _BASE_60.fullmatch(text):
            return self._wrong(where, f"{text} reads as a number in base 60", _QUOTE)
        if _OCTAL.fullmatch(text):
            return self._wrong(
                where, f"{text} reads as an octal number", f"drop the 0, or {_QUOTE}"
            )
        try:
            is_whole = node.tag == f"{_TAG}int"
            made = (
                self._loader.construct_yaml_int if is_whole else self._loader.construct_yaml_float
            )
            number = made(node)
        except (ValueError, IndexError):
            return self._wrong(where, f"{shown(text)} is no number", "write one, without a tag")
        if not math.isfinite(number):
            return self._wrong(where, f"{text} is not a finite number", "write a finite one")
        if isinstance(number, int) and not -_LARGEST <= number < _LARGEST:
            return self._wrong(where, "a whole number over 64 bits", f"round it, or {_QUOTE}")
        return number

    def _tagged(self, node: yaml.Node, where: Place) -> Any:
        kind = node.tag.removeprefix(_TAG)
        if kind == "timestamp" and isinstance(node, yaml.ScalarNode):
            return self._wrong(where, f"{shown(node.value)} reads as a date", _QUOTE)
        what = f"the tag {shown(kind)} on {_SHAPES[type(node)]}"
        return self._wrong(
            where, what, "remove the tag: text, numbers, lists and mappings need none"
        )

    def _wrong(self, where: Place, what: str, remedy: str) -> Any:
        """Note a mistake and return None, which stands for the value."""
        self._found.mistakes.add(where, f"{what} ({remedy})")
        return None


_SHAPES = {
    yaml.ScalarNode: "a value",
    yaml.SequenceNode: "a list",
    yaml.MappingNode: "a mapping",
}
_NOUNS = {
    "int": "a number",
    "float": "a number",
    "bool": "true or false",
    "null": "empty",
    "timestamp": "a date",
}


def _unprintable(text: str) -> str:
    """Return the first control, formatting or unpaired character of a text, empty if none."""
    return next(
        (
            character
            for character in text
            if character not in "\n\t" and unicodedata.category(character) in ("Cc", "Cf", "Cs")
        ),
        "",
    )
