"""What a script or a value means, as text and as a hash: words for readers make no difference."""

import ast
import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

_DIGESTS: dict[tuple[str, bytes], str] = {}
"""Of scripts, by suffix and sha256 of the content."""


def digest(value: object) -> str:
    """Return 16 hex digits of the sha256 of a value's JSON with sorted keys."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def of_script(path: Path) -> str:
    """Return 16 hex digits of the sha256 of what a script or a data file says.

    Python counts without comments, docstrings and layout, CUDA without comments and layout, JSON
    without layout and the order of keys. A file that cannot be read so counts as its bytes.
    """
    content = path.read_bytes()
    said = _SAID.get(path.suffix)
    key = (path.suffix if said else "", hashlib.sha256(content).digest())
    if key not in _DIGESTS:  # a page and a plan ask for all scripts of a study, each several times
        try:
            meant = said(content.decode()).encode() if said else content
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            meant = content
        _DIGESTS[key] = hashlib.sha256(meant).hexdigest()[:16]
    return _DIGESTS[key]


def of_lock(text: str) -> list[str]:
    """Return the lines of a lock without comments."""
    lines = (re.sub(r"(^|\s)#.*", "", line).strip() for line in text.splitlines())
    return [line for line in lines if line]


class _Mark(str):
    """A text between values that is no value itself."""

    __slots__ = ()


_IGNORED = {"ctx", "kind", "type_comment"}
"""Fields of a syntax tree that say nothing of what a program does."""


def _python(text: str) -> str:
    """Return a Python file's syntax tree as text, the same under every version of Python.

    ``ast.dump`` is not the same: it shows empty fields under some versions and not under others.
    """
    parts: list[str] = []
    left: list[object] = [ast.parse(text)]
    while left:  # no recursion: how deep it may go would depend on the caller
        item = left.pop()
        if isinstance(item, ast.AST):
            parts.append(f"{type(item).__name__}(")
            left.append(_Mark(")"))
            for name, value in reversed(list(_fields(item))):
                left += [value, _Mark(f"{name}=")]
        elif isinstance(item, list):
            parts.append("[")
            left.append(_Mark("]"))
            left += reversed(item)
        else:
            parts.append(item if isinstance(item, _Mark) else ascii(item))
    return "\n".join(parts)


def _fields(node: ast.AST) -> Iterator[tuple[str, object]]:
    """Yield the fields of a node that hold something; of a constant also None."""
    for name, value in ast.iter_fields(node):
        if isinstance(value, list):
            value = [each for each in value if not _is_idle(node, each)]
        is_empty = value in (None, []) and not isinstance(node, ast.Constant)
        if name not in _IGNORED and not is_empty:
            yield name, value


def _is_idle(around: ast.AST, node: object) -> bool:
    """Return whether a part of a list does nothing, as a docstring.

    Some versions of Python end a formatted text with an empty one.
    """
    match node:
        case ast.Pass() | ast.Expr(value=ast.Constant()):
            return True
        case ast.Constant(value=""):
            return isinstance(around, ast.JoinedStr)
    return False


_CUDA = re.compile(
    r"""
      (?P<blank> // (?:\\\r?\n|[^\n])* | /\*.*?\*/ | \\\r?\n | \s+ )
    | (?P<token>
          (?:u8|[uUL])? R"(?P<end>[^()\\\s]{0,16})\( .*? \)(?P=end)"
        | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])+'
        | \.?\d (?:[eEpP][+-]|'?\w|\.)*
        | \w+
        | <=>|<<=|>>=|->\*|\.\.\. | [-+*/%&|^=!<>]= | \+\+|--|&&|\|\||<<|>>|->|::|\.\*
        | .
      )
    """,
    re.VERBOSE | re.DOTALL,
)


def _cuda(text: str) -> str:
    """Return the tokens of a file in CUDA or C++, one a line.

    A directive of the preprocessor ends with its line. A macro with parameters has no space before
    them.
    """
    tokens: list[str] = []
    is_directive = False
    for found in _CUDA.finditer(f"{text}\n"):
        word = found[0]
        if not found["blank"]:
            is_directive = is_directive or word == "#"
            tokens.append(word)
        elif is_directive and "\n" in word and word[0] not in "/\\":
            is_directive = False
            if tokens[-1] == " ":
                tokens.pop()
            tokens.append("\n")
        elif is_directive and tokens[-2:-1] == ["define"]:
            tokens.append(" ")
    return "\n".join(tokens)


def _json(text: str) -> str:
    return json.dumps(json.loads(text), sort_keys=True)


_SAID = {".py": _python, ".cu": _cuda, ".cuh": _cuda, ".cpp": _cuda, ".json": _json}
