"""Names of the code that asked for memory, from the stack that torch recorded for it."""

import re
from pathlib import Path
from typing import Any

import msgspec

from harness.captures.memory import roles
from harness.captures.memory.snapshot import UNREADABLE
from harness.evidence.capture import NO_STACK
from harness.ground.errors import CaptureError

_PYTHON = re.compile(r"\.py$|^<(stdin|string|ipython-input)")
# einops hands on to torch what it is called with, so its caller is who asks.
_TORCH = re.compile(r"(^|/)(site-packages|dist-packages|pytorch|ao)/(torch|torchao|einops)/")
# Inductor names its generated files by a hash, which no other version of a file shares.
_GENERATED = re.compile(r"/(\w\w)/c\1\w{49}\.py$")
# In C++ a stack begins with how it was recorded, and with the allocator.
_ALLOCATOR = re.compile(
    r"^torch::(unwind|CapturedTraceback|cuda::.*gather)|CachingAllocator::|^c10::StorageImpl"
)
# What a program means by it: the backward pass of an operator, cuBLAS's workspace, an operator.
_BACKWARD = re.compile(r"^(torch::autograd::generated::\w+::apply|at::cuda::getNewWorkspace)\b")
_OPERATOR = re.compile(r"^at::_ops::\w+::call\b")
_MOST_FRAMES = 6
_MOST_CHARACTERS = 1000  # of a stack's text


class StackNames:
    """Names sites and stacks; each different stack is walked once.

    A stack's identity is its text in JSON. A pickle's stacks are lists, which may be shared, of
    frames, which are: there it is that of the frames.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._sites: dict[bytes | int, str] = {}
        self._stacks: dict[bytes | int, str] = {}
        self._roles: dict[bytes | int, str | None] = {}
        self._contents: dict[tuple[int, ...], int] = {}

    def site(self, frames: Any) -> str:
        """Return ``dir/file.py:line function`` of the innermost Python frame outside torch.

        Without one, as on the thread of a backward pass, the innermost backward function, operator
        or frame outside the allocator; without a stack, words that say so.
        ``frames`` has to outlive this object. Raises CaptureError for a stack that is no JSON.
        """
        key = self._key(frames)
        if key not in self._sites:
            self._sites[key] = _text(_outside(self._decoded(frames))[:1])
        return self._sites[key]

    def stack(self, frames: Any) -> str:
        """Return the site and the Python frames outside torch that led to it, six in all.

        They stand innermost first with `` < `` between them; a text over 1000 characters is cut.
        """
        key = self._key(frames)
        if key not in self._stacks:
            text = _text(_outside(self._decoded(frames)))
            cut = len(text) > _MOST_CHARACTERS
            self._stacks[key] = f"{text[: _MOST_CHARACTERS - 1]}…" if cut else text
        return self._stacks[key]

    def role(self, frames: Any) -> str | None:
        """Return what part of the program asked, as evidence/roles.py names it.

        None where no Python frame outside torch is recorded, as on the thread of a backward pass.
        """
        key = self._key(frames)
        if key not in self._roles:
            self._roles[key] = _role(self._decoded(frames))
        return self._roles[key]

    def _key(self, frames: Any) -> bytes | int:
        if isinstance(frames, msgspec.Raw):
            return bytes(frames)
        if not isinstance(frames, list):
            return -1  # no stack
        return self._contents.setdefault(tuple(map(id, frames)), len(self._contents))

    def _decoded(self, frames: Any) -> object:
        if not isinstance(frames, msgspec.Raw):
            return frames
        try:
            return msgspec.json.decode(frames)
        except UNREADABLE as error:
            raise CaptureError(f"a damaged stack: {error}", where=self._path) from error


def _outside(recorded: object) -> list[object]:
    """Return the first six Python frames outside torch, or of other frames if there are none."""
    stack = _members(recorded)
    outside: list[object] = []
    for frame in stack:
        file = _path(frame)
        if _PYTHON.search(file) and not _TORCH.search(file):
            outside.append(frame)
        if len(outside) == _MOST_FRAMES:
            break
    if outside:
        return outside
    names = [_part(frame, "name") for frame in stack]
    for wanted in (_BACKWARD.search, _OPERATOR.search, lambda name: not _ALLOCATOR.search(name)):
        if frames := [frame for frame, name in zip(stack, names, strict=True) if wanted(name)]:
            return frames[:_MOST_FRAMES]
    return stack[:_MOST_FRAMES]


def _role(stack: object) -> str | None:
    frames = [(_path(frame), _part(frame, "name")) for frame in _members(stack)]
    python = [frame for frame in frames if _PYTHON.search(frame[0])]
    own = next((at for at, (file, _) in enumerate(python) if not _TORCH.search(file)), None)
    return None if own is None else roles.role(python[:own], python[own:])


def _members(stack: object) -> list[object]:
    return stack if isinstance(stack, list) else []


def _text(frames: list[object]) -> str:
    return " < ".join(_named(frame) for frame in frames) or NO_STACK


def _named(frame: object) -> str:
    name = _part(frame, "name")
    if match := _BACKWARD.search(name) or _OPERATOR.search(name):
        return match[0]  # such a frame's file is torch's, if it is known at all
    path = _path(frame)
    generated = _GENERATED.search(path)
    file = "Inductor's code" if generated else "/".join(path.rsplit("/", 2)[-2:])
    text = f"{file}:{_part(frame, 'line')} {name}"
    return text.encode("utf-8", "replace").decode()


def _path(frame: object) -> str:
    """Return a frame's file with slashes, as Windows writes it, too."""
    return _part(frame, "filename").replace("\\", "/")


def _part(frame: object, key: str) -> str:
    """Return a frame's field as text; a frame of another shape has no fields."""
    value = frame.get(key) if isinstance(frame, dict) else None
    return str(value)[:500] if isinstance(value, str | int) and value is not None else "?"
